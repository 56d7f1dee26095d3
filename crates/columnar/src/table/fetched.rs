//! Bytes of a morsel, read before it is opened.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;

use super::read_error::ReadError;
use crate::memory::Reservation;

/// A fetch as a future. Dropping it ends it.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Fetched, ReadError>> + Send + 'a>>;

/// Ranges of a file's bytes, by their place in it.
///
/// ```
/// use columnar::Fetched;
///
/// let fetched = Fetched::new([(100, "abcdef".into()), (200, "xyz".into())]);
/// assert_eq!(fetched.bytes(), 9);
/// assert_eq!(fetched.range(102, 3).as_deref(), Some(&b"cde"[..]));
/// assert_eq!(fetched.range(104, 3), None, "only half of it is there");
/// assert_eq!(fetched.from(201).as_deref(), Some(&b"yz"[..]));
/// ```
#[derive(Debug, Default)]
pub struct Fetched {
    /// Sorted by their start.
    ranges: Vec<(u64, Bytes)>,
    reservation: SharedReservation,
}

/// Given back when the last owner drops it, or when it is taken out.
type SharedReservation = Arc<Mutex<Reservation>>;

impl Fetched {
    /// Takes ranges with their starts. No range may overlap another.
    pub fn new(ranges: impl IntoIterator<Item = (u64, Bytes)>) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_by_key(|(start, _)| *start);
        Self {
            ranges,
            reservation: SharedReservation::default(),
        }
    }

    /// Adds a reservation for the bytes, given back when the last byte is freed: strings decoded
    /// without a copy may outlive the morsel.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use columnar::{Reservation, Fetched, MemoryPool};
    ///
    /// let pool = Arc::new(MemoryPool::new("q17", 1_000));
    /// let mut reservation = Reservation::of(Some(Arc::clone(&pool)));
    /// reservation.grow(9)?;
    /// let fetched = Fetched::new([(100, "abcdef".into()), (200, "xyz".into())]).reserved(reservation);
    /// let part = fetched.range(102, 3);
    /// drop(fetched);
    /// assert_eq!(pool.used(), 9, "a part of it is held");
    /// drop(part);
    /// assert_eq!(pool.used(), 0);
    /// # Ok::<(), columnar::MemoryExceeded>(())
    /// ```
    #[must_use]
    pub fn reserved(mut self, reservation: Reservation) -> Self {
        self.reservation = Arc::new(Mutex::new(reservation));
        for (_, bytes) in &mut self.ranges {
            let reserved = ReservedBytes {
                bytes: std::mem::take(bytes),
                _reservation: Arc::clone(&self.reservation),
            };
            *bytes = Bytes::from_owner(reserved);
        }
        self
    }

    /// Ended when a result that holds some of the bytes is returned.
    pub(crate) fn reservation(&self) -> Weak<Mutex<Reservation>> {
        Arc::downgrade(&self.reservation)
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = &Bytes> {
        self.ranges.iter().map(|(_, bytes)| bytes)
    }

    /// The number of bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.ranges.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// `len` bytes from `start` on, without a copy. `None` if no single range has them all.
    #[must_use]
    pub fn range(&self, start: u64, len: usize) -> Option<Bytes> {
        let bytes = self.from(start)?;
        (bytes.len() >= len).then(|| bytes.slice(..len))
    }

    /// The bytes from `start` to the end of its range, without a copy.
    #[must_use]
    pub fn from(&self, start: u64) -> Option<Bytes> {
        let at = self.ranges.partition_point(|(first, _)| *first <= start);
        let (first, bytes) = &self.ranges[at.checked_sub(1)?];
        let skipped = usize::try_from(start - first).ok()?;
        (skipped <= bytes.len()).then(|| bytes.slice(skipped..))
    }
}

struct ReservedBytes {
    // Freed before the reservation is given back.
    bytes: Bytes,
    _reservation: SharedReservation,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
