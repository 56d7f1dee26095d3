//! Which content of a file a statement reads.

use std::fs::Metadata;
use std::hash::{BuildHasher as _, Hash, Hasher as _, RandomState};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use rustix::fs::Stat;

/// Identifies a file's content. A write that keeps the length, within the clock's tick of the last
/// one, is not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Version {
    len: u64,
    number: u64,
    modified_s: i64,
    modified_ns: u32,
}

impl Version {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn modified(&self) -> SystemTime {
        let whole = Duration::from_secs(self.modified_s.unsigned_abs());
        let fraction = Duration::from_nanos(self.modified_ns.into());
        let epoch = SystemTime::UNIX_EPOCH;
        let whole = if self.modified_s < 0 {
            epoch.checked_sub(whole)
        } else {
            epoch.checked_add(whole)
        };
        whole.and_then(|time| time.checked_add(fraction)).unwrap_or(epoch)
    }
}

impl From<&Metadata> for Version {
    fn from(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            number: metadata.ino(),
            modified_s: metadata.mtime(),
            modified_ns: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
        }
    }
}

impl From<&Stat> for Version {
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the fields' types differ between systems"
    )]
    fn from(stat: &Stat) -> Self {
        Self {
            len: u64::try_from(stat.st_size).unwrap_or(0),
            number: stat.st_ino as u64,
            modified_s: stat.st_mtime as i64,
            modified_ns: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        }
    }
}

/// Appends versions to files' paths, `data/t.parquet/@…`, and checks them.
///
/// A plan has only a file's path and length, so the path carries the version: if the file changes
/// while the statement runs, the statement fails. No real path ends like this, since a file
/// contains no files. Another process may have a copy with other times, so there only lengths are
/// checked.
#[derive(Debug)]
pub(crate) struct Versions {
    process: u32,
}

impl Versions {
    pub(crate) fn new() -> Self {
        // The standard library's only source of random numbers.
        let process = RandomState::new().build_hasher().finish();
        Self {
            process: (process >> 32) as u32,
        }
    }

    pub(crate) fn name(&self, version: &Version) -> String {
        format!("@{:08x}.{:x}.{:016x}", self.process, version.len, hash(version))
    }

    /// A name may come from another process.
    pub(crate) fn parse(&self, name: &str) -> Option<Expected> {
        let mut numbers = name.strip_prefix('@')?.split('.');
        let mut number = || u64::from_str_radix(numbers.next()?, 16).ok();
        let (process, len, hash) = (number()?, number()?, number()?);
        let hash = (process == u64::from(self.process)).then_some(hash);
        numbers.next().is_none().then_some(Expected { len, hash })
    }
}

/// The version that a file must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    len: u64,
    hash: Option<u64>,
}

impl Expected {
    pub(crate) fn is(&self, version: &Version) -> bool {
        self.len == version.len && self.hash.is_none_or(|expected| expected == hash(version))
    }
}

fn hash(version: &Version) -> u64 {
    // Any fixed function will do: both hashes are this process's.
    let mut hasher = std::hash::DefaultHasher::new();
    version.hash(&mut hasher);
    hasher.finish()
}
