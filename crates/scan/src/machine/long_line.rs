//! A worker's buffer for a line that is longer than the head of its [block](super::block).
//!
//! ```text
//!   ░░░░░░[ the line so far │ read here ]░░░░
//!         └ begin           └ page-aligned
//! ```

use std::ops::Range;

use crate::files::PAGE;

/// Bytes that a worker keeps from file to file.
const KEPT: usize = 2 << 20;

/// Room for the beginning of a line, or for a file that is searched whole.
#[derive(Debug, Default)]
pub(crate) struct LongLine(Vec<u8>);

impl LongLine {
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// Copies the beginning of a line here, with room for `wanted` bytes behind it. Returns where
    /// it begins.
    pub(crate) fn take_over(&mut self, line: &[u8], wanted: usize) -> usize {
        self.grow(line.len() + wanted);
        let begin = self.begin(line.len());
        self.0[begin..begin + line.len()].copy_from_slice(line);
        begin
    }

    /// Makes room for `wanted` bytes behind a line. Returns where it begins then.
    pub(crate) fn make_room(&mut self, line: Range<usize>, wanted: usize) -> usize {
        if line.end + wanted <= self.0.len() {
            return line.start;
        }
        self.grow(line.len() + wanted);
        let begin = self.begin(line.len());
        self.0.copy_within(line, begin);
        begin
    }

    /// The memory alone, for a file that is searched whole.
    pub(crate) fn into_whole(mut self) -> Vec<u8> {
        self.0.clear();
        self.0
    }

    /// This memory, as much of it as is kept.
    pub(crate) fn kept(whole: Vec<u8>) -> Self {
        let mut long = Self(whole);
        long.trim();
        long
    }

    /// Gives back what a worker does not keep.
    pub(crate) fn trim(&mut self) {
        self.0.truncate(KEPT);
        self.0.shrink_to(KEPT);
    }

    /// Makes room for `len` bytes wherever a page begins. Twice the room each time, so that a line
    /// is moved and zeros are written no more than twice a byte.
    fn grow(&mut self, len: usize) {
        let needed = len + PAGE;
        if needed > self.0.len() {
            self.0.resize(needed.max(2 * self.0.len()), 0);
        }
    }

    /// The first place from which on `len` bytes end where a page does.
    fn begin(&self, len: usize) -> usize {
        self.0[len..].as_ptr().align_offset(PAGE).min(PAGE)
    }
}
