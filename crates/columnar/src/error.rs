//! Errors of expressions: types that do not fit, or a row that cannot be computed.

use std::error::Error;
use std::fmt;

use arrow::error::ArrowError;

use crate::memory::MemoryExceeded;
use crate::table::ReadError;

/// A query failed while it ran. The job fails with it, without a partial result.
#[derive(Debug)]
pub enum ExecError {
    /// A value left the range of its type. Results never wrap.
    Overflow {
        /// The evaluated expression.
        expression: String,
    },
    /// A row's divisor was zero.
    DivisionByZero {
        /// The evaluated expression.
        expression: String,
    },
    /// An operation rejected a value, for example text that is not a number.
    Kernel {
        /// The evaluated expression.
        expression: String,
        /// The operation's error.
        source: ArrowError,
    },
    /// The table could not be read.
    Read(ReadError),
    /// The query needs more memory than its pool allows.
    Memory(MemoryExceeded),
}

impl ExecError {
    pub(crate) fn of(expression: impl fmt::Display, source: ArrowError) -> Self {
        let expression = expression.to_string();
        match source {
            ArrowError::ArithmeticOverflow(_) => Self::Overflow { expression },
            ArrowError::DivideByZero => Self::DivisionByZero { expression },
            ArrowError::ExternalError(error) => match error.downcast() {
                Ok(refused) => Self::Memory(*refused),
                Err(error) => Self::Kernel {
                    expression,
                    source: ArrowError::ExternalError(error),
                },
            },
            source => Self::Kernel { expression, source },
        }
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow { expression } => write!(f, "overflow in {expression}"),
            Self::DivisionByZero { expression } => write!(f, "division by zero in {expression}"),
            Self::Kernel { expression, source } => write!(f, "cannot evaluate {expression}: {source}"),
            Self::Read(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
        }
    }
}

impl Error for ExecError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Kernel { source, .. } => Some(source),
            Self::Read(error) => error.source(),
            Self::Overflow { .. } | Self::DivisionByZero { .. } | Self::Memory(_) => None,
        }
    }
}

impl From<ReadError> for ExecError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<MemoryExceeded> for ExecError {
    fn from(error: MemoryExceeded) -> Self {
        Self::Memory(error)
    }
}

/// For code whose errors are arrow's; `ExecError::of` unwraps it.
impl From<MemoryExceeded> for ArrowError {
    fn from(error: MemoryExceeded) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

/// An operator rejects the types of its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// The expression.
    pub expression: String,
    /// The types found, and those accepted.
    pub message: String,
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.expression, self.message)
    }
}

impl Error for TypeError {}
