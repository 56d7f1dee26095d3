//! Byte strings, kept in pieces that never move, so lists may share them.

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, Reservation, ReservedVec};

/// Bytes of a piece: at first, and at most unless a row is longer.
const PIECE_MIN: usize = 1 << 10;
const PIECE_MAX: usize = 1 << 17;

#[derive(Debug)]
pub(crate) struct EncodedRows {
    sealed: Vec<Arc<Piece>>,
    open: Piece,
    bytes: usize,
    places: ReservedVec<Place>,
    pool: Option<Arc<MemoryPool>>,
}

#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    piece: u32,
    start: u32,
    len: u32,
}

impl EncodedRows {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            sealed: Vec::new(),
            open: Piece::none(),
            bytes: 0,
            places: ReservedVec::new(pool),
            pool: pool.cloned(),
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
        let piece = match self.sealed.get(piece as usize) {
            Some(piece) => &piece.bytes,
            None => &self.open.bytes,
        };
        &piece[start as usize..][..len as usize]
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|at| self.row(at))
    }

    /// # Panics
    ///
    /// If the row has 4 GiB.
    pub(crate) fn push(&mut self, row: &[u8]) -> Result<(), MemoryExceeded> {
        if self.open.bytes.capacity() - self.open.bytes.len() < row.len() {
            self.open_piece(row.len())?;
        }
        self.places.push(Place {
            piece: self.sealed.len() as u32,
            start: self.open.bytes.len() as u32,
            len: u32::try_from(row.len()).expect("a row of less than 4 GiB"),
        })?;
        self.open.bytes.extend_from_slice(row);
        self.bytes += row.len();
        Ok(())
    }

    /// Gives the last piece its final place, so that another list may [share](Self::share) it.
    pub(crate) fn seal(&mut self) {
        if !self.open.bytes.is_empty() {
            let piece = std::mem::replace(&mut self.open, Piece::none());
            self.sealed.push(Arc::new(piece));
        }
    }

    /// Returns the number of the first piece of `from`, which is sealed, for
    /// [`push_shared`](Self::push_shared).
    pub(crate) fn share(&mut self, from: &Self) -> usize {
        self.seal();
        let first = self.sealed.len();
        self.sealed.extend(from.sealed.iter().cloned());
        first
    }

    /// Adds row `at` of `from`, without a copy.
    pub(crate) fn push_shared(&mut self, first: usize, from: &Self, at: usize) -> Result<(), MemoryExceeded> {
        let place = from.places[at];
        self.bytes += place.len as usize;
        self.places.push(Place {
            piece: first as u32 + place.piece,
            ..place
        })
    }

    /// Makes room for the places of `more` rows.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), MemoryExceeded> {
        self.places.reserve(more)
    }

    /// `order[i]`, each once, becomes row `i`.
    pub(crate) fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.places.arrange(order)
    }

    /// Row `i` moves to `places[i]`, each place once.
    pub(crate) fn scatter(&mut self, places: &[u32]) -> Result<(), MemoryExceeded> {
        self.places.scatter(places)
    }

    #[cold]
    fn open_piece(&mut self, row: usize) -> Result<(), MemoryExceeded> {
        let bytes = self.bytes.clamp(PIECE_MIN, PIECE_MAX).max(row);
        let mut reservation = Reservation::of(self.pool.clone());
        reservation.grow(bytes + size_of::<Piece>())?;
        self.seal();
        self.open = Piece {
            bytes: Vec::with_capacity(bytes),
            _reservation: reservation,
        };
        Ok(())
    }
}

impl Piece {
    fn none() -> Self {
        Self {
            bytes: Vec::new(),
            _reservation: Reservation::none(),
        }
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
        let sealed = rows.sealed.iter().map(|piece| piece.bytes.capacity());
        let held: usize = sealed.chain([rows.open.bytes.capacity()]).sum();
        assert!(
            pool.used() >= held && pool.used() < held + held / 8,
            "{} of {held}",
            pool.used()
        );
        assert!(held < rows.size() + rows.size() / 2);
        rows.seal();
        let mut more = EncodedRows::new(None);
        more.push(b"own").unwrap();
        let first = more.share(&rows);
        more.push(b"own again").unwrap();
        more.push_shared(first, &rows, 7).unwrap();
        let used = pool.used();
        drop(rows);
        assert!(more.iter().eq([b"own".to_vec(), b"own again".to_vec(), row(7)]));
        assert!(pool.used() > used / 2, "shared pieces are charged");
        drop(more);
        assert_eq!(pool.used(), 0);
        let mut small = EncodedRows::new(Some(&Arc::new(MemoryPool::new("small", 4 * PIECE_MIN))));
        assert!(small.push(&[1; 8 * PIECE_MIN]).is_err());
        assert_eq!((small.len(), small.size()), (0, 0));
    }
}
