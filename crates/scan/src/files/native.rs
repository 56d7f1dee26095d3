//! The file system of Linux, by positioned reads and paths below open directories.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Advice, AtFlags, CWD, FileType, Mode, OFlags, RawDir, SeekFrom, fadvise, fstat, openat, seek, statat,
    tell,
};

use super::mounts;
use super::stream::Stream;
use super::{At, FileSystem, Kind, Names, PAGE, Status};

/// Bytes of directory entries per call: a directory of 400 short names comes at once.
const ENTRIES: usize = 16 << 10;

/// Bytes up to which a file is what its directory says, if its end can be found.
const SMALL: u64 = 1 << 20;

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native {
    _private: (),
}

/// An open file, or the standard input.
#[derive(Debug)]
pub struct NativeFile(Opened);

#[derive(Debug)]
enum Opened {
    /// A read of a plain file that brings less than was asked for has reached its end.
    File {
        file: OwnedFd,
        is_plain: bool,
    },
    Stream(Stream),
}

/// An open directory.
#[derive(Debug)]
pub struct NativeDir {
    dir: OwnedFd,
    /// Whether the files in it are plain.
    is_plain: bool,
}

impl Native {
    fn open_at(at: At<'_, NativeDir>, flags: OFlags) -> io::Result<OwnedFd> {
        let mut flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        flags.set(OFlags::NOFOLLOW, !at.follow);
        let opened = match at.dir {
            Some(NativeDir { dir, .. }) => openat(dir, at.path, flags, Mode::empty()),
            None => openat(CWD, at.path, flags, Mode::empty()),
        };
        Ok(opened?)
    }
}

impl FileSystem for Native {
    type File = NativeFile;
    type Dir = NativeDir;

    fn open(&self, at: At<'_, NativeDir>) -> io::Result<NativeFile> {
        let is_plain = at.dir.is_some_and(|dir| dir.is_plain) && !at.follow;
        let file = Self::open_at(at, OFlags::NONBLOCK)?;
        Ok(NativeFile(Opened::File { file, is_plain }))
    }

    fn open_stdin(&self, again: Option<&Path>) -> io::Result<NativeFile> {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(NativeFile(match status(&fstat(&stdin)?).kind {
            Kind::Dir => return Err(io::ErrorKind::IsADirectory.into()),
            // Another process may have read the beginning.
            Kind::File if tell(&stdin)? == 0 => Opened::File {
                file: stdin,
                is_plain: false,
            },
            _ => Opened::Stream(Stream::new(stdin, again)?),
        }))
    }

    fn open_dir(&self, at: At<'_, NativeDir>) -> io::Result<NativeDir> {
        let is_plain = match (at.dir, at.follow) {
            (Some(above), false) => above.is_plain,
            (None, true) => mounts::is_plain(at.path),
            _ => false,
        };
        let dir = Self::open_at(at, OFlags::DIRECTORY)?;
        Ok(NativeDir { dir, is_plain })
    }

    fn read_dir(&self, NativeDir { dir, .. }: &NativeDir, names: &mut Names) -> io::Result<bool> {
        let mut buffer = Vec::with_capacity(ENTRIES);
        let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name, kind(entry.file_type()));
            }
            if entries.is_buffer_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read_at(&self, file: &NativeFile, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match &file.0 {
            Opened::File { file, .. } => Ok(rustix::io::pread(file, into, offset)?),
            Opened::Stream(stream) => stream.read_at(offset, into),
        }
    }

    fn read_on(&self, file: &NativeFile, offset: u64, into: &mut [u8]) -> io::Result<(usize, bool)> {
        let got = self.read_at(file, offset, into)?;
        let is_plain = matches!(file.0, Opened::File { is_plain: true, .. });
        let is_short = got < into.len() && !(offset + got as u64).is_multiple_of(PAGE as u64);
        Ok((got, is_plain && is_short))
    }

    /// A plain file that its directory lists as one is not looked at. One that is not plain is asked
    /// where it ends, which costs a third of a look. It is looked at if the answer is not that of a
    /// small file: a FIFO or terminal that took its place has no end, a device ends at 0, a disk
    /// far away, and a directory cannot be read.
    fn file_status(&self, file: &NativeFile, listed: Kind) -> io::Result<Status> {
        if let (Opened::File { file, is_plain }, Kind::File) = (&file.0, listed) {
            let len = match is_plain {
                true => Some(0),
                false => seek(file, SeekFrom::End(0))
                    .ok()
                    .filter(|len| (1..=SMALL).contains(len)),
            };
            if let Some(len) = len {
                return Ok(Status {
                    kind: Kind::File,
                    len,
                    id: (0, 0),
                });
            }
        }
        match &file.0 {
            Opened::File { file, .. } => Ok(status(&fstat(file)?)),
            Opened::Stream(_) => Ok(Status {
                kind: Kind::File,
                len: 0,
                id: (0, 0),
            }),
        }
    }

    fn dir_status(&self, NativeDir { dir, .. }: &NativeDir) -> io::Result<Status> {
        Ok(status(&fstat(dir)?))
    }

    fn status(&self, at: At<'_, NativeDir>) -> io::Result<Status> {
        let mut flags = AtFlags::empty();
        flags.set(AtFlags::SYMLINK_NOFOLLOW, !at.follow);
        let found = match at.dir {
            Some(NativeDir { dir, .. }) => statat(dir, at.path, flags),
            None => statat(CWD, at.path, flags),
        };
        Ok(status(&found?))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn will_read(&self, file: &NativeFile, offset: u64, bytes: u64) {
        if let Opened::File { file, .. } = &file.0 {
            // Advice: a file system that does not take it reads all the same.
            let _ = fadvise(file, offset, NonZeroU64::new(bytes), Advice::WillNeed);
        }
    }
}

fn status(stat: &rustix::fs::Stat) -> Status {
    Status {
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        len: u64::try_from(stat.st_size).unwrap_or(0),
        id: (stat.st_dev, stat.st_ino),
    }
}

fn kind(of: FileType) -> Kind {
    match of {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Link,
        FileType::Unknown => Kind::Unknown,
        _ => Kind::Other,
    }
}

/// Whether a name begins with a dot.
pub(crate) fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_bytes().first() == Some(&b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_a_listed_files_place_is_not_called_a_file() {
        let folder = tempfile::tempdir().expect("there is a folder for such");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("small"), [b'a'; 200]).expect("it can be written");
        std::fs::write(path("empty"), "").expect("it can be written");
        std::fs::write(path("large"), vec![b'a'; SMALL as usize + 1]).expect("it can be written");
        rustix::fs::mkfifoat(CWD, path("fifo"), Mode::RUSR | Mode::WUSR).expect("it can be made");
        let files = Native::default();
        let listed_as_file = |path: &Path| {
            let file = files.open(At::named(path)).expect("it can be opened");
            let status = files.file_status(&file, Kind::File).expect("it can be looked at");
            (status.kind, status.len)
        };
        assert_eq!(listed_as_file(&path("small")), (Kind::File, 200));
        assert_eq!(listed_as_file(&path("empty")), (Kind::File, 0));
        assert_eq!(listed_as_file(&path("large")), (Kind::File, SMALL + 1));
        assert_eq!(listed_as_file(&path("fifo")).0, Kind::Other);
        assert_eq!(listed_as_file(Path::new("/dev/zero")).0, Kind::Other);
        // This one says how long it is only when it is read.
        assert_eq!(listed_as_file(Path::new("/proc/cpuinfo")), (Kind::File, 0));
        let place = files.open(At::named(folder.path())).expect("it can be opened");
        let is_file = files
            .file_status(&place, Kind::File)
            .is_ok_and(|status| status.kind == Kind::File);
        assert!(!is_file || files.read_at(&place, 0, &mut [0; 10]).is_err());
    }

    #[test]
    fn a_short_read_is_the_end_of_a_plain_file_unless_it_ends_with_a_page() {
        let folder = tempfile::tempdir().expect("there is a folder for such");
        let is_plain = mounts::is_plain(folder.path());
        let files = Native::default();
        let dir = files
            .open_dir(At::named(folder.path()))
            .expect("it can be opened");
        let mut block = [0; 10_000];
        for (len, is_end) in [
            (200, true),
            (8_192, false),
            (9_000, true),
            (10_000, false),
            (12_000, false),
        ] {
            let path = folder.path().join("text");
            std::fs::write(&path, vec![b'a'; len]).expect("it can be written");
            let at = |follow| At {
                dir: Some(&dir),
                path: Path::new("text"),
                follow,
            };
            let mut read = |at| {
                let file = files.open(at).expect("it can be opened");
                files.read_on(&file, 0, &mut block).expect("it can be read")
            };
            assert_eq!(read(at(false)), (len.min(10_000), is_end && is_plain), "{len}");
            // A link may lead anywhere, and so may a name.
            assert!(!read(at(true)).1 && !read(At::named(&path)).1);
        }
    }
}
