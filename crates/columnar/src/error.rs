//! What goes wrong with an expression: its types do not fit, or a row of it cannot be computed.

use std::error::Error;
use std::fmt;

use arrow::error::ArrowError;

use crate::memory::MemoryExceeded;
use crate::table::ReadError;

/// A query failed while it ran. The job fails with it, and no partial result is given out.
#[derive(Debug)]
pub enum ExecError {
    /// A value left the range of its type. Results never wrap.
    Overflow {
        /// The expression that was evaluated.
        expression: String,
    },
    /// A row's divisor was zero.
    DivisionByZero {
        /// The expression that was evaluated.
        expression: String,
    },
    /// An operation could not be applied to a value, for example a conversion of text that is not a
    /// number.
    Kernel {
        /// The expression that was evaluated.
        expression: String,
        /// What the operation reported.
        source: ArrowError,
    },
    /// The table could not be read.
    Read(ReadError),
    /// What the query has to keep is more than its pool allows.
    Memory(MemoryExceeded),
}

impl ExecError {
    /// What a kernel reported while it evaluated `expression`.
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

/// On its way through code whose errors are arrow's; `ExecError::of` takes it out again.
impl From<MemoryExceeded> for ArrowError {
    fn from(error: MemoryExceeded) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

/// An operator was given values of types it does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// The expression.
    pub expression: String,
    /// Which types met and what would have been accepted.
    pub message: String,
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.expression, self.message)
    }
}

impl Error for TypeError {}
