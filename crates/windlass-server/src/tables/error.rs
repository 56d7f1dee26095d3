//! Why a table cannot be served.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use datafusion::error::DataFusionError;

/// Why a source of tables, or one table of it, cannot be served. Each names the file that is to
/// blame.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TablesError {
    /// A table's name or path was given in a form that is not read.
    Argument {
        /// What was given.
        given: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file or a folder cannot be opened. It may be at the next try.
    Unopened {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        reason: String,
    },
    /// What is in a file or a folder is no table.
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Two files or folders would be tables of the same name; neither is.
    SameName {
        /// The name of the table.
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
        /// In what they differ: names the column, if it is one.
        reason: String,
    },
    /// The columns of a table are no longer those with which the statement was planned.
    ColumnsChanged {
        /// The name of the table.
        table: String,
    },
    /// The table's files are gone since the statement was planned.
    Gone {
        /// The name of the table.
        table: String,
    },
    /// The scale of TPC-H is not one that is generated.
    Scale {
        /// The scale that was asked for.
        scale: f64,
    },
    /// The tables of TPC-H would not fit in the memory that is available.
    Memory {
        /// The scale that was asked for.
        scale: f64,
        /// Bytes that the tables take, estimated.
        needed: u64,
        /// Bytes that are available.
        available: u64,
    },
    /// The generator of TPC-H failed.
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
        Self::External(Box::new(error))
    }
}
