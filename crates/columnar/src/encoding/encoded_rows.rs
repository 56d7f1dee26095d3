//! Byte strings by their number.

use std::sync::Arc;

use super::byte_pieces::{BytePieces, BytePlace};
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

#[derive(Debug)]
pub(crate) struct EncodedRows {
    pieces: BytePieces,
    places: ReservedVec<BytePlace>,
}

impl EncodedRows {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            pieces: BytePieces::new(pool),
            places: ReservedVec::new(pool),
        }
    }

    #[inline]
    pub(crate) fn row(&self, at: usize) -> &[u8] {
        self.pieces.at(self.places[at])
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.places.iter().map(|&place| self.pieces.at(place))
    }

    /// # Panics
    ///
    /// If the row has 4 GiB.
    pub(crate) fn push(&mut self, row: &[u8]) -> Result<(), MemoryExceeded> {
        let place = self.pieces.push(row)?;
        self.places.push(place)
    }

    /// Row `i` moves to `places[i]`, each place once.
    pub(crate) fn scatter(&mut self, places: &[u32]) -> Result<(), MemoryExceeded> {
        self.places.scatter(places)
    }
}
