//! The one type of task.

use std::fmt;
use std::sync::Arc;

use super::batch::Discovered;
use super::chunked::Chunked;
use super::directory::Cursor;
use super::source::SourceCursor;
use crate::files::{FileSystem, Kind};
use crate::output::Output;

/// What a worker does in one turn: 24 bytes.
pub enum Task<F: FileSystem, O: Output> {
    /// A file or directory that was discovered.
    Object(Discovered<F>),
    /// The rest of a directory.
    Cursor(Box<Cursor<F>>),
    /// Unclaimed chunks of a large file.
    Chunks(Arc<Chunked<F, O>>),
    /// The rest of a caller's own files.
    Source(Arc<SourceCursor>),
    /// Those that wait in the order of paths.
    InOrder,
}

impl<F: FileSystem, O: Output> Task<F, O> {
    /// Whether both are files of one batch, as far as their directory knows.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(one), Self::Object(other)) => {
                Arc::ptr_eq(&one.batch, &other.batch)
                    && one.kind() == Kind::File
                    && other.kind() == Kind::File
            }
            _ => false,
        }
    }
}

impl<F: FileSystem, O: Output> fmt::Debug for Task<F, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Object(_) => "Object",
            Self::Cursor(_) => "Cursor",
            Self::Chunks(_) => "Chunks",
            Self::Source(_) => "Source",
            Self::InOrder => "InOrder",
        })
    }
}
