//! A folder or a file that the command line named, and what lies below it.
//!
//! A path below a root is walked one name at a time: each folder is opened in the one before, never
//! through a symbolic link (`openat` with `O_NOFOLLOW`). So what was checked is what is opened.
//! Names are never `.`, `..` or empty, and hold no `/`.
//!
//! The root is opened by its path, links included: the operator may name a link, and let it lead
//! elsewhere later. Folders above it are resolved once, at the start.
//!
//! Files are opened without blocking, and must be regular: a FIFO without a writer would block its
//! reader for ever.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, statat};
use rustix::io::Errno;

use super::version::Version;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// A folder or a file.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    is_file: bool,
}

impl Root {
    /// Fails unless it is a folder or a regular file.
    pub(crate) fn new(named: &Path) -> io::Result<Self> {
        let path = absolute(named)?;
        let metadata = path.metadata()?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(no_regular_file());
        }
        Ok(Self {
            path,
            is_file: metadata.is_file(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_file(&self) -> bool {
        self.is_file
    }

    /// `below` is empty for the root itself.
    pub(crate) fn join(&self, below: &str) -> PathBuf {
        if below.is_empty() {
            self.path.clone()
        } else {
            self.path.join(below)
        }
    }

    /// `None` if `path` lies elsewhere.
    pub(crate) fn below<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.path).ok()
    }

    /// `below` is empty for a root that is a file.
    pub(crate) fn open(&self, below: &Path) -> io::Result<OpenFile> {
        if self.is_file {
            if !below.as_os_str().is_empty() {
                return Err(Errno::NOTDIR.into());
            }
            return OpenFile::new(open(&self.path, FILE, Mode::empty())?);
        }
        let (Some(folder), Some(name)) = (below.parent(), below.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        self.folder(folder)?.file(name)
    }

    pub(crate) fn folder(&self, below: &Path) -> io::Result<Folder> {
        let mut folder = Folder(open(&self.path, FOLDER, Mode::empty())?);
        for name in below {
            folder = folder.folder(name)?;
        }
        Ok(folder)
    }

    /// For a root that is a file. `None` without a regular file.
    pub(crate) fn version(&self) -> io::Result<Option<Version>> {
        match self.open(Path::new("")) {
            Ok(file) => Ok(Some(file.version()?)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    File,
}

impl Folder {
    /// Folders and regular files; links and special files are left out.
    pub(crate) fn entries(&self) -> io::Result<Vec<(OsString, Kind)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not give the type with the name.
                FileType::Unknown => match self.stat(name)? {
                    Some(stat) => FileType::from_raw_mode(stat.st_mode),
                    None => continue,
                },
                kind => kind,
            };
            match kind {
                FileType::Directory => entries.push((name.to_owned(), Kind::Folder)),
                FileType::RegularFile => entries.push((name.to_owned(), Kind::File)),
                _ => {}
            }
        }
        Ok(entries)
    }

    /// Fails on a link.
    pub(crate) fn folder(&self, name: &OsStr) -> io::Result<Self> {
        let flags = FOLDER.union(OFlags::NOFOLLOW);
        Ok(Self(openat(&self.0, plain(name)?, flags, Mode::empty())?))
    }

    /// Fails on a link.
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<OpenFile> {
        let flags = FILE.union(OFlags::NOFOLLOW);
        OpenFile::new(openat(&self.0, plain(name)?, flags, Mode::empty())?)
    }

    /// Does not open the file. `None` without a regular file.
    pub(crate) fn version(&self, name: &OsStr) -> io::Result<Option<Version>> {
        Ok(self
            .stat(name)?
            .filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
            .map(|stat| Version::from(&stat)))
    }

    fn stat(&self, name: &OsStr) -> io::Result<Option<rustix::fs::Stat>> {
        match statat(&self.0, plain(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct OpenFile(File);

impl OpenFile {
    fn new(file: OwnedFd) -> io::Result<Self> {
        let file = File::from(file);
        if file.metadata()?.is_file() {
            Ok(Self(file))
        } else {
            Err(no_regular_file())
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }

    pub(crate) fn version(&self) -> io::Result<Version> {
        Ok(Version::from(&self.0.metadata()?))
    }
}

/// Neither a regular file nor a folder: nothing, a link, or a special file.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || is_link(error)
        || Errno::from_io_error(error) == Some(Errno::NOTDIR)
        || Errno::from_io_error(error) == Some(Errno::NXIO)
        || error.get_ref().is_some_and(|error| error.is::<NoRegularFile>())
}

/// A symbolic link was not followed.
pub(crate) fn is_link(error: &io::Error) -> bool {
    // Some BSDs say EMLINK or EFTYPE; a folder that is a link is ENOTDIR everywhere.
    Errno::from_io_error(error) == Some(Errno::LOOP) || Errno::from_io_error(error) == Some(Errno::MLINK)
}

/// Resolves the folders above, and keeps the path's own name.
fn absolute(named: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(named)?;
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
        // Ends in `..`, or is `/`.
        _ => path.canonicalize(),
    }
}

fn plain(name: &OsStr) -> io::Result<&OsStr> {
    let is_plain = !name.is_empty() && name != "." && name != ".." && !name.as_bytes().contains(&b'/');
    if is_plain {
        Ok(name)
    } else {
        Err(Errno::INVAL.into())
    }
}

#[derive(Debug)]
struct NoRegularFile;

impl std::fmt::Display for NoRegularFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it is no regular file")
    }
}

impl std::error::Error for NoRegularFile {}

fn no_regular_file() -> io::Error {
    io::Error::other(NoRegularFile)
}

#[cfg(test)]
mod tests;
