//! What becomes of findings: an output turns each file's into bytes, in order, and a sink takes
//! them.

use std::io;
use std::time::Duration;

use crate::engine::Found;
use crate::object::Object;

/// Turns what was found in a file into bytes. It sees a file's pieces in order, each once, one
/// worker at a time.
pub trait Output: Send + Sync {
    /// What is kept of a file between its pieces.
    type File: Send;

    /// What the first bytes of an object may begin with. The very first bytes of a scan go out
    /// without it: so it stands between objects, and an object is printed without knowing whether
    /// anything was before it.
    fn separator(&self) -> &[u8] {
        &[]
    }

    /// Whether [`Self::piece`] and [`Self::end`] read the file again. If not, what came from a pipe
    /// need not be kept.
    fn reads_again(&self) -> bool {
        true
    }

    /// A file's first piece is about to come.
    fn begin(&self, object: &Object) -> Self::File;

    /// Adds what `found` looks like to `out`. `source` reads the file again, for lines around.
    ///
    /// # Errors
    ///
    /// Those of `source`.
    fn piece(
        &self,
        file: &mut Self::File,
        object: &Object,
        found: &Found,
        source: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<More>;

    /// The file is searched as far as was wanted.
    ///
    /// # Errors
    ///
    /// Those of `source`.
    fn end(
        &self,
        file: Self::File,
        object: &Object,
        source: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<Findings>;
}

/// Whether an output wants more of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// It does.
    Wanted,
    /// The file's end is known: nothing further is read or searched.
    Enough,
}

/// What was found in a file, for its report and for sums over files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Whether the file counts as one with findings. Without, it is clean, though it may have been
    /// searched only up to its first NUL.
    pub found: bool,
    /// Lines, or ranges of lines.
    pub lines: u64,
    /// Matches in them, if they were counted.
    pub matches: u64,
    /// Bytes searched.
    pub bytes: u64,
    /// Bytes printed.
    pub printed: u64,
    /// Offset of the first NUL, if it was looked for.
    pub nul: Option<u64>,
    /// Time from the file's beginning to its end, if it was measured.
    pub elapsed: Duration,
}

/// A file's bytes at any place.
pub trait ReadAt {
    /// Fills `into` from `offset` on. Returns the number of bytes, fewer only at the file's end.
    ///
    /// # Errors
    ///
    /// The file system's.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
}

/// A file that is held in memory.
impl ReadAt for &[u8] {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.get(offset..))
            .unwrap_or(&[]);
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}
