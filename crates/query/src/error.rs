//! Errors of queries: the fault, and its place in the text.

use std::error::Error;
use std::fmt;

use columnar::{ExecError, MemoryExceeded, ReadError};
use pipeline_exec::{JobError, JobErrorKind, SubmitError};
use pools::{CpuError, MixedError};

use crate::position::Position;

/// A query failed and returns no rows.
#[derive(Debug)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is not SQL.
    Parse {
        /// What the parser expected.
        message: String,
        /// Where the parser stopped.
        position: Option<Position>,
    },
    /// The text is SQL, but outside the supported subset.
    Unsupported {
        /// The construct, as the language calls it.
        construct: String,
        /// Where it stands.
        position: Option<Position>,
    },
    /// No table has this name.
    UnknownTable {
        /// The name as written.
        name: String,
        /// The registered tables.
        candidates: Vec<String>,
        /// Where it stands.
        position: Option<Position>,
    },
    /// The table has no such column.
    UnknownColumn {
        /// The name as written.
        name: String,
        /// The table's columns, most similar first.
        candidates: Vec<String>,
        /// Where it stands.
        position: Option<Position>,
    },
    /// There is no such function.
    UnknownFunction {
        /// The name as written.
        name: String,
        /// The known functions.
        candidates: Vec<String>,
        /// Where it stands.
        position: Option<Position>,
    },
    /// Two tables have one name.
    DuplicateTable {
        /// The name.
        name: String,
    },
    /// An operator or function does not take values of these types.
    TypeMismatch {
        /// The expression.
        expression: String,
        /// Which types met, and where.
        message: String,
        /// Where it stands.
        position: Option<Position>,
    },
    /// The query contradicts itself, as by an aggregate in WHERE.
    Invalid {
        /// What is wrong.
        message: String,
        /// Where it stands.
        position: Option<Position>,
    },
    /// A value left the range of its type.
    Overflow {
        /// The expression.
        expression: String,
    },
    /// A row was divided by zero.
    DivisionByZero {
        /// The expression.
        expression: String,
    },
    /// A value does not fit its new type, or an operation failed on it.
    Evaluation {
        /// The expression.
        expression: String,
        /// What was wrong with the value.
        message: String,
    },
    /// A table could not be read.
    Read(ReadError),
    /// The query needs more memory than its limit allows.
    Quota(MemoryExceeded),
    /// The query's token was cancelled, or its executor was shut down while a job ran.
    Cancelled,
    /// The query's deadline passed before its answer was ready.
    DeadlineExceeded,
    /// The executor has as many jobs as it admits. Queries wait for room instead.
    ExecutorFull,
    /// The executor was shut down, or drains, before the job began.
    ExecutorClosed,
    /// A pool has ended or cannot start, or the calling thread must not block.
    Unavailable {
        /// Which pool, and why.
        message: String,
    },
    /// A fault of this program, not of the query.
    Internal {
        /// What happened.
        message: String,
    },
}

impl QueryError {
    /// The place in the query's text, if known.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Parse { position, .. }
            | Self::Unsupported { position, .. }
            | Self::UnknownTable { position, .. }
            | Self::UnknownColumn { position, .. }
            | Self::UnknownFunction { position, .. }
            | Self::TypeMismatch { position, .. }
            | Self::Invalid { position, .. } => *position,
            Self::DuplicateTable { .. }
            | Self::Overflow { .. }
            | Self::DivisionByZero { .. }
            | Self::Evaluation { .. }
            | Self::Read(_)
            | Self::Quota(_)
            | Self::Cancelled
            | Self::DeadlineExceeded
            | Self::ExecutorFull
            | Self::ExecutorClosed
            | Self::Unavailable { .. }
            | Self::Internal { .. } => None,
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at =
            |position: &Option<Position>| position.map(|place| format!(" at {place}")).unwrap_or_default();
        match self {
            Self::Parse { message, position } => {
                write!(f, "cannot parse the query{}: {message}", at(position))
            }
            Self::Unsupported { construct, position } => {
                write!(f, "{construct} is not supported{}", at(position))
            }
            Self::UnknownTable {
                name,
                candidates,
                position,
            } => {
                write!(f, "unknown table {name}{}", at(position))?;
                list(f, "the tables are", candidates)
            }
            Self::UnknownColumn {
                name,
                candidates,
                position,
            } => {
                write!(f, "unknown column {name}{}", at(position))?;
                list(f, "the columns are", candidates)
            }
            Self::UnknownFunction {
                name,
                candidates,
                position,
            } => {
                write!(f, "unknown function {name}{}", at(position))?;
                list(f, "the functions are", candidates)
            }
            Self::DuplicateTable { name } => write!(f, "two tables are named {name}"),
            Self::TypeMismatch {
                expression,
                message,
                position,
            } => {
                write!(f, "type mismatch in {expression}{}: {message}", at(position))
            }
            Self::Invalid { message, position } => write!(f, "{message}{}", at(position)),
            Self::Overflow { expression } => write!(f, "overflow in {expression}"),
            Self::DivisionByZero { expression } => write!(f, "division by zero in {expression}"),
            Self::Evaluation { expression, message } => write!(f, "cannot evaluate {expression}: {message}"),
            Self::Read(error) => error.fmt(f),
            Self::Quota(error) => error.fmt(f),
            Self::Cancelled => f.write_str("the query was cancelled"),
            Self::DeadlineExceeded => f.write_str("the query did not finish before its deadline"),
            Self::ExecutorFull => {
                f.write_str("the executor has as many jobs as it admits; try again when some have ended")
            }
            Self::ExecutorClosed => f.write_str("the executor was shut down and takes no query any more"),
            Self::Unavailable { message } => f.write_str(message),
            Self::Internal { message } => write!(f, "internal error: {message}"),
        }
    }
}

impl Error for QueryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ReadError> for QueryError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<ExecError> for QueryError {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Overflow { expression } => Self::Overflow { expression },
            ExecError::DivisionByZero { expression } => Self::DivisionByZero { expression },
            ExecError::Kernel { expression, source } => Self::Evaluation {
                expression,
                message: source.to_string(),
            },
            ExecError::Read(error) => Self::Read(error),
            ExecError::Memory(error) => Self::Quota(error),
        }
    }
}

impl From<JobError> for QueryError {
    fn from(error: JobError) -> Self {
        match error.kind {
            JobErrorKind::Cancelled => return Self::Cancelled,
            JobErrorKind::DeadlineExceeded => return Self::DeadlineExceeded,
            // A job is handed back only if none of it ran.
            JobErrorKind::HandedBack => return Self::ExecutorClosed,
            _ => {}
        }
        let message = error.to_string();
        match error.source.map(|source| source.downcast::<ExecError>()) {
            Some(Ok(exec)) => Self::from(*exec),
            Some(Err(source)) => Self::Internal {
                message: format!("{message}: {source}"),
            },
            None => Self::Internal { message },
        }
    }
}

impl<T> From<SubmitError<T>> for QueryError {
    fn from(error: SubmitError<T>) -> Self {
        match error {
            SubmitError::Full(_) => Self::ExecutorFull,
            SubmitError::Closed(_) => Self::ExecutorClosed,
        }
    }
}

impl From<MixedError> for QueryError {
    fn from(error: MixedError) -> Self {
        Self::Unavailable {
            message: error.to_string(),
        }
    }
}

impl From<CpuError> for QueryError {
    fn from(error: CpuError) -> Self {
        match error {
            CpuError::Closed => Self::ExecutorClosed,
            other => Self::Unavailable {
                message: other.to_string(),
            },
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, intro: &str, names: &[String]) -> fmt::Result {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return Ok(());
    }
    write!(
        f,
        "; {intro} {}",
        names
            .iter()
            .take(SHOWN)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    )?;
    if names.len() > SHOWN {
        write!(f, " and {} more", names.len() - SHOWN)?;
    }
    Ok(())
}
