//! Names of a directory, one after another in one allocation.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Names that were read from a directory.
///
/// ```
/// use scan::files::{Kind, Names};
///
/// let mut names = Names::default();
/// names.push(b"src", Kind::Dir);
/// names.push(b"Cargo.toml", Kind::File);
/// names.sort();
/// assert_eq!((names.len(), names.name(0)), (2, "Cargo.toml".as_ref()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Names {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// A name and what it names.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    start: u32,
    len: u16,
    /// What the directory says it is.
    pub kind: Kind,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Other,
    /// The directory does not say.
    Unknown,
}

impl Names {
    /// Number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a name of at most 65,535 bytes. Names beyond 4 GiB in all are left out.
    pub fn push(&mut self, name: &[u8], kind: Kind) {
        let (Ok(start), Ok(len)) = (u32::try_from(self.bytes.len()), u16::try_from(name.len())) else {
            return;
        };
        self.bytes.extend_from_slice(name);
        self.entries.push(Entry { start, len, kind });
    }

    /// The name at `index`.
    ///
    /// # Panics
    ///
    /// When `index` is the number of names or more.
    #[must_use]
    pub fn name(&self, index: usize) -> &OsStr {
        OsStr::from_bytes(self.bytes_of(self.entries[index]))
    }

    /// What the directory says of the name at `index`.
    ///
    /// # Panics
    ///
    /// When `index` is the number of names or more.
    #[must_use]
    pub fn kind(&self, index: usize) -> Kind {
        self.entries[index].kind
    }

    /// Whether `name` is among them.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| self.bytes_of(*entry) == name.as_bytes())
    }

    /// Sorts by bytes.
    pub fn sort(&mut self) {
        let Self { bytes, entries } = self;
        let name = |entry: &Entry| {
            let start = entry.start as usize;
            &bytes[start..start + usize::from(entry.len)]
        };
        entries.sort_unstable_by(|one, other| name(one).cmp(name(other)));
    }

    /// Forgets the names but not the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    /// Copies without spare memory.
    #[must_use]
    pub fn compact(&self) -> Self {
        self.clone()
    }

    fn bytes_of(&self, entry: Entry) -> &[u8] {
        let start = entry.start as usize;
        &self.bytes[start..start + usize::from(entry.len)]
    }
}
