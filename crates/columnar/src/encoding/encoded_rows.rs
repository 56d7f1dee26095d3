//! Byte strings one after another.

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

#[derive(Debug)]
pub(crate) struct EncodedRows {
    bytes: ReservedVec<u8>,
    /// The end of each row.
    ends: ReservedVec<usize>,
}

impl EncodedRows {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            bytes: ReservedVec::new(pool),
            ends: ReservedVec::new(pool),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all rows and their ends.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.len() * size_of::<usize>()
    }

    #[inline]
    pub(crate) fn row(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|at| self.row(at))
    }

    pub(crate) fn push(&mut self, row: &[u8]) -> Result<(), MemoryExceeded> {
        self.bytes.extend_from_slice(row)?;
        self.ends.push(self.bytes.len())
    }

    pub(crate) fn reserve(&mut self, rows: usize, bytes: usize) -> Result<(), MemoryExceeded> {
        self.bytes.reserve(bytes)?;
        self.ends.reserve(rows)
    }

    /// Appends to the row that [`end`](Self::end) ends.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), MemoryExceeded> {
        self.bytes.extend_from_slice(bytes)
    }

    pub(super) fn end(&mut self) -> Result<(), MemoryExceeded> {
        self.ends.push(self.bytes.len())
    }
}
