//! Sources of a table's bytes: files, objects, memory.
//!
//! Reads wait, so no CPU worker reads, unless the system has the bytes at hand.

use std::fmt::Debug;
use std::fs::{File, Metadata};
use std::future::Future;
#[cfg(target_os = "linux")]
use std::io::IoSliceMut;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use columnar::{Fetched, ReadError};
#[cfg(target_os = "linux")]
use rustix::io::{ReadWriteFlags, preadv2};

/// Bytes of a fixed length, read by ranges.
pub trait ByteSource: Debug + Send + Sync {
    /// The path or URL that errors name.
    fn origin(&self) -> &str;

    /// The length at opening.
    fn bytes(&self) -> u64;

    /// Reads `ranges`, each below the length, and waits.
    ///
    /// # Errors
    ///
    /// When a range cannot be read whole, or the source changed after opening.
    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError>;

    /// Whether [`read`](Self::read) of `ranges` would return without waiting, as far as a quick look
    /// tells. A slot then reads what it needs by itself. The default says no.
    fn is_at_hand(&self, ranges: &[Range<u64>]) -> bool {
        let _ = ranges;
        false
    }

    /// The source for async code; `None` if reading blocks a thread.
    fn as_awaited(&self) -> Option<&dyn AwaitedSource> {
        None
    }
}

/// An awaited read; dropping it ends it.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<Vec<Bytes>, ReadError>> + Send + 'a>>;

/// A source that reads without blocking a thread.
pub trait AwaitedSource: ByteSource {
    /// As [`read`](ByteSource::read), polled on the mixed pool.
    fn read_async<'a>(&'a self, ranges: &'a [Range<u64>]) -> Reading<'a>;

    /// The requests made at once for `ranges`, which ascend.
    fn requests(&self, ranges: &[Range<u64>]) -> usize;
}

pub(crate) fn fetch(source: &dyn ByteSource, ranges: &[Range<u64>]) -> Result<Fetched, ReadError> {
    let read = source.read(ranges)?;
    let starts = ranges.iter().map(|range| range.start);
    Ok(Fetched::new(starts.zip(read)))
}

pub(crate) async fn fetch_async(
    source: &dyn AwaitedSource,
    ranges: &[Range<u64>],
) -> Result<Fetched, ReadError> {
    let read = source.read_async(ranges).await?;
    let starts = ranges.iter().map(|range| range.start);
    Ok(Fetched::new(starts.zip(read)))
}

/// Bytes of a file between two looks into the page cache. The system fills it by more at once.
const LOOK_BYTES: usize = 128 << 10;

/// A local file, reopened for each read.
#[derive(Debug)]
pub struct LocalFile {
    origin: String,
    path: Box<Path>,
    version: Version,
}

/// Length and last write time, which show a change.
#[derive(Debug, PartialEq, Eq)]
struct Version(u64, Option<SystemTime>);

impl Version {
    fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), metadata.modified().ok())
    }
}

impl LocalFile {
    /// The file at `path`.
    ///
    /// # Errors
    ///
    /// When `path` is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let origin = path.display().to_string();
        let metadata = std::fs::metadata(path).map_err(|error| ReadError::new(&origin, error))?;
        if !metadata.is_file() {
            let message = "not a regular file; a table is read more than once and in parts";
            return Err(ReadError::new(origin, message));
        }
        Ok(Self {
            origin,
            path: path.into(),
            version: Version::of(&metadata),
        })
    }

    pub(crate) fn shared(path: &Path) -> Result<SharedSource, ReadError> {
        Ok(Arc::new(Self::open(path)?))
    }

    fn changed(&self) -> ReadError {
        ReadError::new(&self.origin, "the file was written to while it was being queried")
    }
}

impl ByteSource for LocalFile {
    fn origin(&self) -> &str {
        &self.origin
    }

    fn bytes(&self) -> u64 {
        self.version.0
    }

    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => self.changed(),
            _ => ReadError::new(&self.origin, error),
        };
        let mut file = File::open(&self.path).map_err(failed)?;
        if Version::of(&file.metadata().map_err(failed)?) != self.version {
            return Err(self.changed());
        }
        let mut read = Vec::with_capacity(ranges.len());
        for range in ranges {
            let len = range.end.saturating_sub(range.start);
            let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
            file.seek(SeekFrom::Start(range.start)).map_err(failed)?;
            let got = (&mut file).take(len).read_to_end(&mut bytes).map_err(failed)?;
            if got as u64 != len {
                return Err(self.changed());
            }
            read.push(Bytes::from(bytes));
        }
        Ok(read)
    }

    fn is_at_hand(&self, ranges: &[Range<u64>]) -> bool {
        let Ok(file) = File::open(&self.path) else {
            return false;
        };
        let looks = ranges.iter().flat_map(|range| {
            let last = range.end.checked_sub(1).filter(|last| range.contains(last));
            range.clone().step_by(LOOK_BYTES).chain(last)
        });
        looks.into_iter().all(|at| is_cached(&file, at))
    }
}

/// A read that would wait fails instead, also in file systems that cannot tell.
#[cfg(target_os = "linux")]
fn is_cached(file: &File, at: u64) -> bool {
    let mut byte = [0];
    let buffers = &mut [IoSliceMut::new(&mut byte)];
    matches!(preadv2(file, buffers, at, ReadWriteFlags::NOWAIT), Ok(1))
}

#[cfg(not(target_os = "linux"))]
fn is_cached(_file: &File, _at: u64) -> bool {
    false
}

/// Bytes in memory.
#[derive(Debug)]
pub struct MemoryBytes {
    origin: String,
    bytes: Bytes,
}

impl MemoryBytes {
    /// `bytes`, which errors name `origin`.
    pub fn new(origin: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self {
            origin: origin.into(),
            bytes: bytes.into(),
        }
    }
}

impl ByteSource for MemoryBytes {
    fn origin(&self) -> &str {
        &self.origin
    }

    fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        let part = |range: &Range<u64>| {
            let start = usize::try_from(range.start).ok()?;
            let end = usize::try_from(range.end).ok()?;
            (start <= end && end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
        };
        let parts: Option<Vec<Bytes>> = ranges.iter().map(part).collect();
        parts.ok_or_else(|| ReadError::new(&self.origin, "there are not as many bytes"))
    }
}

pub(crate) type SharedSource = Arc<dyn ByteSource>;
