//! Byte strings in pieces that never move, so that several owners may share them.

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, Reservation};

/// Bytes of a piece: at first, and at most unless a row is longer.
const PIECE_MIN: usize = 1 << 10;
const PIECE_MAX: usize = 1 << 17;

#[derive(Debug)]
pub(crate) struct BytePieces {
    sealed: Vec<Arc<Piece>>,
    open: Piece,
    bytes: usize,
    pool: Option<Arc<MemoryPool>>,
}

#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

/// Where a byte string lies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BytePlace {
    piece: u32,
    start: u32,
    len: u32,
}

impl BytePieces {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            sealed: Vec::new(),
            open: Piece::none(),
            bytes: 0,
            pool: pool.cloned(),
        }
    }

    /// Bytes of all strings.
    pub(crate) fn size(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub(crate) fn at(&self, place: BytePlace) -> &[u8] {
        let BytePlace { piece, start, len } = place;
        let piece = match self.sealed.get(piece as usize) {
            Some(piece) => &piece.bytes,
            None => &self.open.bytes,
        };
        &piece[start as usize..][..len as usize]
    }

    /// # Panics
    ///
    /// If the string has 4 GiB.
    pub(crate) fn push(&mut self, string: &[u8]) -> Result<BytePlace, MemoryExceeded> {
        if self.open.bytes.capacity() - self.open.bytes.len() < string.len() {
            self.open_piece(string.len())?;
        }
        let place = BytePlace {
            piece: self.sealed.len() as u32,
            start: self.open.bytes.len() as u32,
            len: u32::try_from(string.len()).expect("a string of less than 4 GiB"),
        };
        self.open.bytes.extend_from_slice(string);
        self.bytes += string.len();
        Ok(place)
    }

    /// Gives the last piece its final place, so that another owner may [share](Self::share) it.
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

    /// Adds the string at `place` of the pieces from `first` on, without a copy.
    pub(crate) fn push_shared(&mut self, first: usize, place: BytePlace) -> BytePlace {
        self.bytes += place.len as usize;
        BytePlace {
            piece: first as u32 + place.piece,
            ..place
        }
    }

    #[cold]
    fn open_piece(&mut self, string: usize) -> Result<(), MemoryExceeded> {
        let bytes = self.bytes.clamp(PIECE_MIN, PIECE_MAX).max(string);
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
    fn strings_of_all_lengths_stay_where_they_are_and_are_charged() {
        let pool = Arc::new(MemoryPool::new("test", usize::MAX));
        let mut pieces = BytePieces::new(Some(&pool));
        let string = |at: usize| vec![at as u8; [0, 3, 70, 5_000, 2 * PIECE_MAX][at % 5]];
        let places: Vec<BytePlace> = (0..200).map(|at| pieces.push(&string(at)).unwrap()).collect();
        assert!((0..200).all(|at| pieces.at(places[at]) == string(at)));
        let sealed = pieces.sealed.iter().map(|piece| piece.bytes.capacity());
        let held: usize = sealed.chain([pieces.open.bytes.capacity()]).sum();
        assert!(
            pool.used() >= held && pool.used() < held + held / 8,
            "{} of {held}",
            pool.used()
        );
        assert!(held < pieces.size() + pieces.size() / 2);
        pieces.seal();
        let mut more = BytePieces::new(None);
        let own = more.push(b"own").unwrap();
        let first = more.share(&pieces);
        let again = more.push(b"own again").unwrap();
        let shared = more.push_shared(first, places[7]);
        let used = pool.used();
        drop(pieces);
        let expected = [
            (own, b"own".to_vec()),
            (again, b"own again".to_vec()),
            (shared, string(7)),
        ];
        assert!(expected.iter().all(|(place, string)| more.at(*place) == string));
        assert_eq!(more.size(), 3 + 9 + string(7).len());
        assert!(pool.used() > used / 2, "shared pieces are charged");
        drop(more);
        assert_eq!(pool.used(), 0);
        let mut small = BytePieces::new(Some(&Arc::new(MemoryPool::new("small", 4 * PIECE_MIN))));
        assert!(small.push(&[1; 8 * PIECE_MIN]).is_err());
        assert_eq!(small.size(), 0);
    }
}
