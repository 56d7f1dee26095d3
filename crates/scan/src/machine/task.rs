//! The one type of task.

use std::fmt;
use std::sync::Arc;

use super::batch::Discovered;
use super::chunked::Chunked;
use super::directory::Cursor;
use super::source::SourceCursor;
use crate::files::FileSystem;
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
}

impl<F: FileSystem, O: Output> fmt::Debug for Task<F, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Object(_) => "Object",
            Self::Cursor(_) => "Cursor",
            Self::Chunks(_) => "Chunks",
            Self::Source(_) => "Source",
        })
    }
}
