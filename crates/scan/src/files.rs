//! Where files come from: a port, so that threads and simulator run the same lines over it.
//!
//! Every method is one system call, or two. None waits for another process, except for the disk.

use std::io;
use std::path::{Path, PathBuf};

mod mounts;
mod nameless;
mod names;
mod native;
mod stream;

pub(crate) use nameless::nameless;
pub use names::{Entry, Kind, Names};
pub(crate) use native::is_hidden;
pub use native::{Native, NativeDir, NativeFile};

/// Bytes of a page: what is read lies in memory by pages, and a read that fails behind its first
/// page ends with one.
pub(crate) const PAGE: usize = 4 << 10;

/// A file system.
///
/// ```
/// use std::path::Path;
/// use scan::files::{At, FileSystem, Native};
///
/// let files = Native::default();
/// let manifest = files.open(At::named(Path::new("Cargo.toml")))?;
/// let mut beginning = [0; 9];
/// assert_eq!(files.read_at(&manifest, 0, &mut beginning)?, 9);
/// assert_eq!(&beginning, b"[package]");
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait FileSystem: Send + Sync + 'static {
    /// An open file.
    type File: Send + Sync + 'static;
    /// An open directory, with the place up to which it has been read.
    type Dir: Send + Sync + 'static;

    /// Opens a file for reading. A FIFO without a writer is opened as well.
    ///
    /// # Errors
    ///
    /// The system's.
    fn open(&self, at: At<'_, Self::Dir>) -> io::Result<Self::File>;

    /// Opens the standard input: a file of unknown length if it is a pipe. It can be read once,
    /// in order; `again` is a folder for what must be kept so that all can be read again, and
    /// without one the last 2 MiB can. A read without bytes for now is
    /// [`io::ErrorKind::Interrupted`].
    ///
    /// # Errors
    ///
    /// The system's; [`io::ErrorKind::Unsupported`] where there is none.
    fn open_stdin(&self, again: Option<&Path>) -> io::Result<Self::File> {
        let _ = again;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Opens a directory.
    ///
    /// # Errors
    ///
    /// The system's.
    fn open_dir(&self, at: At<'_, Self::Dir>) -> io::Result<Self::Dir>;

    /// Adds the directory's next names, some tens to hundreds. Returns whether there may be more.
    ///
    /// # Errors
    ///
    /// The system's.
    fn read_dir(&self, dir: &Self::Dir, names: &mut Names) -> io::Result<bool>;

    /// Reads at `offset`. Returns the number of bytes, 0 at the file's end.
    ///
    /// # Errors
    ///
    /// The system's; [`io::ErrorKind::Interrupted`] if it may be tried again.
    fn read_at(&self, file: &Self::File, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Like [`read_at`](Self::read_at), and says whether the file is known to end behind these
    /// bytes. `false` is never wrong.
    ///
    /// # Errors
    ///
    /// As of [`read_at`](Self::read_at).
    fn read_on(&self, file: &Self::File, offset: u64, into: &mut [u8]) -> io::Result<(usize, bool)> {
        Ok((self.read_at(file, offset, into)?, false))
    }

    /// What an open file is. Its directory says that it is `listed`, which may spare a look: then
    /// the identity is 0, and the length is 0 if [`read_on`](Self::read_on) tells the end.
    ///
    /// # Errors
    ///
    /// The system's.
    fn file_status(&self, file: &Self::File, listed: Kind) -> io::Result<Status>;

    /// What an open directory is.
    ///
    /// # Errors
    ///
    /// The system's.
    fn dir_status(&self, dir: &Self::Dir) -> io::Result<Status>;

    /// What is at a place.
    ///
    /// # Errors
    ///
    /// The system's.
    fn status(&self, at: At<'_, Self::Dir>) -> io::Result<Status>;

    /// The absolute path without links.
    ///
    /// # Errors
    ///
    /// The system's.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;

    /// The file will be read from `offset` on, in order.
    fn will_read(&self, file: &Self::File, offset: u64, bytes: u64);
}

/// A place: a name in an open directory, or a path.
#[derive(Debug)]
pub struct At<'a, D> {
    /// The directory that `path` begins in.
    pub dir: Option<&'a D>,
    /// A name in `dir`, or a path from the working directory.
    pub path: &'a Path,
    /// Whether a link at the end of `path` stands for what it points to.
    pub follow: bool,
}

impl<'a, D> At<'a, D> {
    /// A path that a user named: a link stands for what it points to.
    #[must_use]
    pub fn named(path: &'a Path) -> Self {
        Self {
            dir: None,
            path,
            follow: true,
        }
    }
}

impl<D> Clone for At<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for At<'_, D> {}

/// What is known of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// File, directory, link or another.
    pub kind: Kind,
    /// Bytes of a file.
    pub len: u64,
    /// Device and number on it: the same for two names of one thing.
    pub id: (u64, u64),
}
