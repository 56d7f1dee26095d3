//! Byte strings, kept in pieces that never move.

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, Reservation, ReservedVec};

/// Bytes of a piece: at first, and at most unless a row is longer.
const PIECE_MIN: usize = 1 << 10;
const PIECE_MAX: usize = 1 << 17;

#[derive(Debug)]
pub(crate) struct EncodedRows {
    pieces: Vec<Vec<u8>>,
    bytes: usize,
    places: ReservedVec<Place>,
    /// For the pieces.
    reservation: Reservation,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    piece: u32,
    start: u32,
    len: u32,
}

impl EncodedRows {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            pieces: Vec::new(),
            bytes: 0,
            places: ReservedVec::new(pool),
            reservation: Reservation::of(pool.cloned()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of all rows and their places.
    pub(crate) fn size(&self) -> usize {
        self.bytes + self.len() * size_of::<Place>()
    }

    #[inline]
    pub(crate) fn row(&self, at: usize) -> &[u8] {
        let Place { piece, start, len } = self.places[at];
        &self.pieces[piece as usize][start as usize..][..len as usize]
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|at| self.row(at))
    }

    /// # Panics
    ///
    /// If the row has 4 GiB.
    pub(crate) fn push(&mut self, row: &[u8]) -> Result<(), MemoryExceeded> {
        let has_room = |piece: &&mut Vec<u8>| piece.capacity() - piece.len() >= row.len();
        if self.pieces.last_mut().filter(has_room).is_none() {
            self.add_piece(row.len())?;
        }
        let piece = self.pieces.len() - 1;
        self.places.push(Place {
            piece: piece as u32,
            start: self.pieces[piece].len() as u32,
            len: u32::try_from(row.len()).expect("a row of less than 4 GiB"),
        })?;
        self.pieces[piece].extend_from_slice(row);
        self.bytes += row.len();
        Ok(())
    }

    #[cold]
    fn add_piece(&mut self, row: usize) -> Result<(), MemoryExceeded> {
        let bytes = self.bytes.clamp(PIECE_MIN, PIECE_MAX).max(row);
        self.reservation.grow(bytes + size_of::<Vec<u8>>())?;
        self.pieces.push(Vec::with_capacity(bytes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_lengths_stay_where_they_are_and_are_charged() {
        let pool = Arc::new(MemoryPool::new("test", usize::MAX));
        let mut rows = EncodedRows::new(Some(&pool));
        let row = |at: usize| vec![at as u8; [0, 3, 70, 5_000, 2 * PIECE_MAX][at % 5]];
        for at in 0..200 {
            rows.push(&row(at)).unwrap();
        }
        assert!(rows.iter().eq((0..200).map(row)));
        let held: usize = rows.pieces.iter().map(Vec::capacity).sum();
        assert!(
            pool.used() >= held && pool.used() < held + held / 8,
            "{} of {held}",
            pool.used()
        );
        assert!(held < rows.size() + rows.size() / 2);
        drop(rows);
        assert_eq!(pool.used(), 0);
        let mut small = EncodedRows::new(Some(&Arc::new(MemoryPool::new("small", 4 * PIECE_MIN))));
        assert!(small.push(&[1; 8 * PIECE_MIN]).is_err());
        assert_eq!((small.len(), small.size()), (0, 0));
    }
}
