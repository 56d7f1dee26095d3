//! Tables whose morsels are bytes somewhere else: reading those bytes waits, and decoding them computes.
//!
//! ```text
//!   fetch(morsel, projection) ──► Fetched: ranges of bytes ──► open_fetched(morsel, projection, fetched) ──► reader
//!         waits: never in a slot                                       computes: in a slot
//! ```
//!
//! Where reading can be awaited, `fetch_async` does it without a thread that waits, so that much can be under way at the same time.
//!
//! Who fetches, where and how far ahead is not known here: a query's reading is told apart from its computing, so that somebody can do the
//! two side by side.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;

use super::{MorselReader, ReadError, TableSource};
use crate::quota::Charge;

/// Reading that is awaited. Nothing of it is done before it is polled first, and dropping it ends it.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Fetched, ReadError>> + Send + 'a>>;

/// A table whose morsels have to be read before they can be opened without waiting.
///
/// [`TableSource::open`] of such a table does both, one after the other.
pub trait StoredTable: TableSource {
    /// The bytes that [`fetch`](Self::fetch) reads of `morsel` for these columns; known beforehand, so that they can be charged.
    fn bytes_to_fetch(&self, morsel: usize, projection: &[usize]) -> usize;

    /// The most bytes that [`open_fetched`](Self::open_fetched) allocates beyond what was fetched, for it to be charged beforehand. What the reader keeps of
    /// them it [says](MorselReader::bytes). 0 for readers that wait until they are asked for a column.
    fn bytes_to_open(&self, morsel: usize, projection: &[usize]) -> usize {
        let _ = (morsel, projection);
        0
    }

    /// Reads what opening `morsel` for the columns named by `projection` takes, and waits for it.
    ///
    /// # Errors
    ///
    /// A [`ReadError`] that names the file and the part of it.
    fn fetch(&self, morsel: usize, projection: &[usize]) -> Result<Fetched, ReadError>;

    /// The same for who can await; `None` where reading holds a thread up, as unless the table says otherwise. For a morsel and all
    /// projections it is one or the other.
    fn fetch_async<'a>(&'a self, morsel: usize, projection: &'a [usize]) -> Option<Fetching<'a>> {
        let _ = (morsel, projection);
        None
    }

    /// About how many requests fetching `morsel` makes at the same time, so that they can be bounded: one unless the table says otherwise.
    fn requests(&self, morsel: usize, projection: &[usize]) -> usize {
        let _ = (morsel, projection);
        1
    }

    /// Opens `morsel` for the columns that it was fetched for, without waiting for anything.
    ///
    /// # Errors
    ///
    /// As [`TableSource::open`].
    fn open_fetched(
        &self,
        morsel: usize,
        projection: &[usize],
        fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError>;
}

/// Ranges of a file's bytes that were read, by where they lie in it.
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
    /// By where they begin.
    ranges: Vec<(u64, Bytes)>,
    charge: SharedCharge,
}

/// What several hold together. It is given back when the last of them is gone, or when it is taken out.
type SharedCharge = Arc<Mutex<Charge>>;

impl Fetched {
    /// Of ranges, each with where it begins. None overlaps another.
    pub fn new(ranges: impl IntoIterator<Item = (u64, Bytes)>) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_by_key(|(start, _)| *start);
        Self {
            ranges,
            charge: SharedCharge::default(),
        }
    }

    /// The same, with what it holds of a quota. That is given back when the last of the bytes is freed: strings that are decoded without a copy may
    /// outlive the morsel.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use columnar::{Charge, Fetched, Quota};
    ///
    /// let quota = Arc::new(Quota::new("q17", 1_000));
    /// let mut charge = Charge::of(Some(Arc::clone(&quota)));
    /// charge.grow(9)?;
    /// let fetched = Fetched::new([(100, "abcdef".into()), (200, "xyz".into())]).charged(charge);
    /// let part = fetched.range(102, 3);
    /// drop(fetched);
    /// assert_eq!(quota.used(), 9, "somebody has a part of it");
    /// drop(part);
    /// assert_eq!(quota.used(), 0);
    /// # Ok::<(), columnar::QuotaExceeded>(())
    /// ```
    #[must_use]
    pub fn charged(mut self, charge: Charge) -> Self {
        self.charge = Arc::new(Mutex::new(charge));
        for (_, bytes) in &mut self.ranges {
            let charged = Charged {
                bytes: std::mem::take(bytes),
                _charge: Arc::clone(&self.charge),
            };
            *bytes = Bytes::from_owner(charged);
        }
        self
    }

    /// The charge, for whoever gives out a result that has some of the bytes.
    pub(crate) fn charge(&self) -> Weak<Mutex<Charge>> {
        Arc::downgrade(&self.charge)
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = &Bytes> {
        self.ranges.iter().map(|(_, bytes)| bytes)
    }

    /// The bytes that are held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.ranges.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// So many bytes from `start` on, without a copy; `None` if they are not all in one range.
    #[must_use]
    pub fn range(&self, start: u64, len: usize) -> Option<Bytes> {
        let bytes = self.from(start)?;
        (bytes.len() >= len).then(|| bytes.slice(..len))
    }

    /// The bytes from `start` to the end of the range that it lies in, without a copy.
    #[must_use]
    pub fn from(&self, start: u64) -> Option<Bytes> {
        let at = self.ranges.partition_point(|(first, _)| *first <= start);
        let (first, bytes) = &self.ranges[at.checked_sub(1)?];
        let skipped = usize::try_from(start - first).ok()?;
        (skipped <= bytes.len()).then(|| bytes.slice(skipped..))
    }
}

/// Bytes, and what is charged for them and for others.
struct Charged {
    // Freed before the charge is given back.
    bytes: Bytes,
    _charge: SharedCharge,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
