//! A caller's own files, instead of a directory's.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A file to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTask {
    /// The caller's number for it.
    pub file_id: u64,
    /// Where it is.
    pub path: PathBuf,
}

/// Names files to search, one after another.
///
/// It is asked by one worker at a time, for some tens of files, as workers get on. It should not
/// wait for long, since the worker waits with it.
pub trait FileSource: Send {
    /// The next file, or `None` at the end.
    fn next_file(&mut self) -> Option<FileTask>;
}

impl<I: Iterator<Item = FileTask> + Send> FileSource for I {
    fn next_file(&mut self) -> Option<FileTask> {
        self.next()
    }
}

/// The rest of a caller's files.
pub struct SourceCursor(Mutex<State>);

struct State {
    source: Box<dyn FileSource>,
    taken: usize,
}

/// Some files, and how many were before them. `ended`: there is none after them.
pub(crate) struct Taken {
    pub(crate) files: Vec<FileTask>,
    pub(crate) first_index: usize,
    pub(crate) ended: bool,
}

impl SourceCursor {
    /// Begins with the source's first file.
    #[must_use]
    pub fn new(source: Box<dyn FileSource>) -> Self {
        Self(Mutex::new(State { source, taken: 0 }))
    }

    pub(crate) fn take(&self, max: usize) -> Taken {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first_index = state.taken;
        let mut files = Vec::with_capacity(max);
        let mut ended = false;
        while files.len() < max && !ended {
            match state.source.next_file() {
                Some(file) => files.push(file),
                None => ended = true,
            }
        }
        state.taken += files.len();
        Taken {
            files,
            first_index,
            ended,
        }
    }
}

impl fmt::Debug for SourceCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceCursor").finish_non_exhaustive()
    }
}
