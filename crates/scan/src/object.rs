//! What is searched: an object, for now always a file.

use std::path::{Path, PathBuf};

/// A file that was named or discovered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Number in the order of discovery.
    pub id: u64,
    /// As it is printed: what the caller named, and the way below it.
    pub path: PathBuf,
    /// Whether the caller named the file itself.
    pub named: bool,
}

impl Object {
    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
