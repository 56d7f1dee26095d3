//! A worker's buffer: page-aligned, with room in front for the beginning of a line.

use std::fmt;
use std::sync::Arc;

use super::counters::Counters;
use crate::files::PAGE;

/// Room before the page-aligned part.
const HEAD: usize = 64 << 10;

/// Bytes that are read beyond a chunk at once, as its last line mostly ends there.
pub(crate) const TAIL: usize = PAGE;

/// A buffer for a number of chunks. Its share of the pool is given back when it is dropped.
pub struct Block {
    bytes: Vec<u8>,
    start: usize,
    size: usize,
    units: usize,
    counters: Arc<Counters>,
}

impl Block {
    /// A worker's own buffer, which the pool has reserved.
    pub(crate) fn reserved(counters: &Arc<Counters>, chunk: usize) -> Self {
        Self::of(counters, chunk, 1)
    }

    /// Makes room for `units` chunks, or for as many as the pool has left.
    pub(crate) fn grow(&mut self, chunk: usize, units: usize) {
        if units > self.units {
            let more = self.counters.buffers.take(units - self.units);
            if more > 0 {
                let units = std::mem::take(&mut self.units) + more;
                *self = Self::of(&Arc::clone(&self.counters), chunk, units);
            }
        }
    }

    fn of(counters: &Arc<Counters>, chunk: usize, units: usize) -> Self {
        let size = chunk * units + TAIL.min(chunk);
        let bytes = vec![0; HEAD + PAGE + size];
        let start = HEAD + bytes[HEAD..].as_ptr().align_offset(PAGE).min(PAGE);
        Self {
            bytes,
            start,
            size,
            units,
            counters: Arc::clone(counters),
        }
    }

    /// Bytes of the page-aligned part.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Where the page-aligned part begins in [`Self::bytes`].
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.counters.buffers.give_back(self.units);
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
