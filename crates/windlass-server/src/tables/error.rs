//! Why a table cannot be served.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use datafusion::error::DataFusionError;

use crate::wire::SqlError;

/// Why tables cannot be served.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TablesError {
    /// A table's name or path has a form that is not read.
    Argument {
        /// What was given.
        given: String,
        /// What is wrong.
        reason: String,
    },
    /// A file or a folder cannot be opened, for now.
    Unopened {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        reason: String,
    },
    /// A URL cannot be read, for now.
    Url {
        /// The request, what the server said, and what helps.
        reason: String,
    },
    /// The certificates by which `https` servers are checked cannot be used.
    Certificates {
        /// What is wrong.
        reason: String,
    },
    /// The content of a file or folder is no table.
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Two files or folders would have one table's name; neither is a table.
    SameName {
        /// The table's name.
        table: String,
        /// One of the two.
        first: String,
        /// The other.
        second: String,
    },
    /// Two files of a folder cannot be parts of one table.
    PartsDiffer {
        /// One of the two.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// The difference, with the column.
        reason: String,
    },
    /// The table's columns changed since the statement was planned.
    ColumnsChanged {
        /// The table's name.
        table: String,
    },
    /// The table's files are gone since the statement was planned.
    Gone {
        /// The table's name.
        table: String,
    },
    /// TPC-H has no such scale here.
    Scale {
        /// The given scale.
        scale: f64,
    },
    /// TPC-H's tables would not fit into the available memory.
    Memory {
        /// The given scale.
        scale: f64,
        /// Estimated bytes of the tables.
        needed: u64,
        /// Available bytes.
        available: u64,
    },
    /// TPC-H's generator failed.
    Generate {
        /// What it said.
        reason: String,
    },
}

impl TablesError {
    pub(crate) fn argument(given: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Argument {
            given: given.into(),
            reason: reason.into(),
        }
    }

    pub(crate) fn unreadable(path: impl AsRef<Path>, reason: impl fmt::Display) -> Self {
        Self::Unreadable {
            path: path.as_ref().to_owned(),
            reason: reason.to_string(),
        }
    }

    pub(crate) fn io(path: impl AsRef<Path>, error: &io::Error) -> Self {
        Self::Unopened {
            path: path.as_ref().to_owned(),
            reason: error.to_string(),
        }
    }
}

impl fmt::Display for TablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { given, reason } => write!(f, "\"{given}\": {reason}"),
            Self::Unopened { path, reason } => write!(f, "{} cannot be opened: {reason}", path.display()),
            Self::Url { reason } => f.write_str(reason),
            Self::Certificates { reason } => write!(f, "tables by https: {reason}"),
            Self::Unreadable { path, reason } => {
                write!(f, "{} cannot be read as a table: {reason}", path.display())
            }
            Self::SameName { table, first, second } => {
                write!(f, "{first} and {second} would both be the table {table}")
            }
            Self::PartsDiffer {
                first,
                second,
                reason,
            } => write!(
                f,
                "{} and {} cannot be parts of one table: {reason}",
                first.display(),
                second.display()
            ),
            Self::ColumnsChanged { table } => write!(
                f,
                "the columns of {table} have changed since the statement was prepared: prepare it again"
            ),
            Self::Gone { table } => {
                write!(
                    f,
                    "the files of {table} are gone since the statement was prepared"
                )
            }
            Self::Scale { scale } => {
                write!(
                    f,
                    "TPC-H is generated at scales from 0.001 to 100, not at {scale}"
                )
            }
            Self::Memory {
                scale,
                needed,
                available,
            } => write!(
                f,
                "TPC-H at scale {scale} takes about {} MiB of memory, of which {} MiB are available",
                needed >> 20,
                available >> 20
            ),
            Self::Generate { reason } => write!(f, "TPC-H cannot be generated: {reason}"),
        }
    }
}

impl Error for TablesError {}

impl From<TablesError> for DataFusionError {
    fn from(error: TablesError) -> Self {
        match error {
            TablesError::Url { reason } => Self::External(Box::new(SqlError::new("58030", reason))),
            error => Self::External(Box::new(error)),
        }
    }
}
