//! Lists that grow in chunks: an empty list allocates nothing, growth copies no value, and memory
//! is proportional to the values.
//!
//! ```text
//!   values      0 .. 128   128 .. 384   384 .. 896
//!   chunks     │  head   │     256     │           512           │    each twice the one before
//!                                                        ▲ the last one is being filled
//!   index 400: 400 + 128 = 528 = 0b10_0001_0000 ─► highest bit 9 ─► chunk 9 - 7 = 2, place 528 - 512 = 16
//! ```
//!
//! A `Vec` copies its values when it grows, and ends up to twice as large as needed. That is dear
//! for many short lists, such as one per partition and slot.
//!
//! Random access needs one `leading_zeros` and one load more than a `Vec`. Loops run best over
//! [`chunks`](ChunkedVec::chunks), or in `for_each`, `fold` and `sum` of the iterators.

mod growth;
mod iter;

pub use growth::{Growth, HEAD};
pub use iter::{IntoIter, Iter, IterMut, Values};

use std::fmt;
use std::mem;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, Reservation};
use growth::Layout;

/// Full chunks that the first directory has room for.
const DIRECTORY: usize = 8;

/// A list that grows in chunks.
///
/// ```
/// use std::sync::Arc;
/// use columnar::MemoryPool;
/// use columnar::chunked::ChunkedVec;
///
/// let pool = Arc::new(MemoryPool::new("q17", 3_000));
/// let mut rows: ChunkedVec<u32> = ChunkedVec::with_pool(Arc::clone(&pool));
/// assert_eq!(pool.used(), 0, "nothing until the first write");
/// rows.push(7)?;
/// assert_eq!(pool.used(), 128 * 4);
///
/// rows.extend(0..300)?;
/// assert_eq!(rows.len(), 301);
/// assert_eq!(rows[300], 299);
/// assert_eq!(rows.chunks().map(<[u32]>::len).collect::<Vec<_>>(), [128, 173]);
///
/// let refused = rows.extend(0..1_000).unwrap_err();
/// assert_eq!(refused.requested, 512 * 4);
/// assert_eq!(rows.len(), 128 + 256, "what had its place is in it");
/// drop(rows);
/// assert_eq!(pool.used(), 0);
/// # Ok::<(), columnar::MemoryExceeded>(())
/// ```
pub struct ChunkedVec<T> {
    layout: Layout,
    full: Vec<Vec<T>>,
    /// Values in full chunks.
    full_len: usize,
    last: Vec<T>,
    /// Values that the last chunk is to hold. Its capacity may be larger.
    last_size: usize,
    reservation: Reservation,
}

impl<T> ChunkedVec<T> {
    /// An empty list without a memory pool.
    pub const fn new() -> Self {
        Self::with(Layout::Doubling, Reservation::none())
    }

    /// An empty list that reserves its bytes from `pool` before it allocates them.
    pub fn with_pool(pool: Arc<MemoryPool>) -> Self {
        Self::with_growth(Growth::Doubling, Some(pool))
    }

    /// An empty list that grows by `growth`, and reserves its bytes from `pool` if there is one.
    pub fn with_growth(growth: Growth, pool: Option<Arc<MemoryPool>>) -> Self {
        Self::with(Layout::new(growth), Reservation::of(pool))
    }

    const fn with(layout: Layout, reservation: Reservation) -> Self {
        Self {
            layout,
            full: Vec::new(),
            full_len: 0,
            last: Vec::new(),
            last_size: 0,
            reservation,
        }
    }

    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.full_len + self.last.len()
    }

    /// True if there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes allocated, which are also the bytes reserved.
    pub fn bytes(&self) -> usize {
        self.reservation.bytes()
    }

    /// Appends `value`.
    ///
    /// # Errors
    ///
    /// When the list needs a new chunk and the pool has no room for it. The list stays as it is,
    /// and the value is dropped.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), MemoryExceeded> {
        if self.last.len() < self.last_size {
            self.last.push(value);
            Ok(())
        } else {
            self.push_to_new_chunk(value)
        }
    }

    /// Appends `values`.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push). Values appended before stay in the list.
    pub fn extend(&mut self, values: impl IntoIterator<Item = T>) -> Result<(), MemoryExceeded> {
        let mut values = values.into_iter();
        loop {
            // Within the capacity, so the chunk never grows.
            let room = self.last_size - self.last.len();
            self.last.extend(values.by_ref().take(room));
            if self.last.len() < self.last_size {
                return Ok(());
            }
            let Some(value) = values.next() else {
                return Ok(());
            };
            self.push_to_new_chunk(value)?;
        }
    }

    /// Appends clones of `values`.
    ///
    /// # Errors
    ///
    /// As [`extend`](Self::extend).
    pub fn extend_from_slice(&mut self, mut values: &[T]) -> Result<(), MemoryExceeded>
    where
        T: Clone,
    {
        while !values.is_empty() {
            if self.last.len() == self.last_size {
                self.add_chunk()?;
            }
            let room = self.last_size - self.last.len();
            let (fitting, others) = values.split_at(room.min(values.len()));
            self.last.extend_from_slice(fitting);
            values = others;
        }
        Ok(())
    }

    /// The value at `index`, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (chunk, place) = self.layout.locate(index);
        // Half of all values can be in the last chunk, so a branch would often be mispredicted.
        // This selects between two addresses.
        let values = self.full.get(chunk).unwrap_or(&self.last);
        // No chunk follows the last one.
        if chunk > self.full.len() {
            return None;
        }
        values.get(place)
    }

    /// The value at `index`, if there is one.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let (chunk, place) = self.layout.locate(index);
        if chunk > self.full.len() {
            return None;
        }
        self.full.get_mut(chunk).unwrap_or(&mut self.last).get_mut(place)
    }

    /// The values in order, as slices that are not empty.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = &[T]> + Clone {
        let last = Some(self.last.as_slice()).filter(|last| !last.is_empty());
        self.full.iter().map(Vec::as_slice).chain(last)
    }

    /// The values in order.
    pub fn iter(&self) -> Iter<'_, T> {
        Values::new(self.full.iter(), self.full_len, self.last.iter())
    }

    /// The values in order.
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        Values::new(self.full.iter_mut(), self.full_len, self.last.iter_mut())
    }

    /// Drops all values, and frees and gives back all memory.
    pub fn clear(&mut self) {
        let pool = self.reservation.pool().cloned();
        *self = Self::with(self.layout, Reservation::of(pool));
    }

    #[cold]
    #[inline(never)]
    fn push_to_new_chunk(&mut self, value: T) -> Result<(), MemoryExceeded> {
        self.add_chunk()?;
        self.last.push(value);
        Ok(())
    }

    /// The last chunk must be full, if there is one.
    fn add_chunk(&mut self) -> Result<(), MemoryExceeded> {
        let is_first = self.last_size == 0;
        if !is_first && self.full.len() == self.full.capacity() {
            self.grow_directory()?;
        }
        let size = self.layout.size(self.full.len() + usize::from(!is_first));
        self.reservation.grow(size.saturating_mul(size_of::<T>()))?;
        let filled = mem::replace(&mut self.last, Vec::with_capacity(size));
        self.last_size = size;
        if !is_first {
            self.full_len += filled.len();
            self.full.push(filled);
        }
        Ok(())
    }

    fn grow_directory(&mut self) -> Result<(), MemoryExceeded> {
        let bytes = |chunks: usize| chunks * size_of::<Vec<T>>();
        let old = self.full.capacity();
        let new = (2 * old).max(DIRECTORY);
        self.reservation.grow(bytes(new))?;
        self.full.reserve_exact(new - self.full.len());
        // The old directory was allocated until now.
        self.reservation.shrink(bytes(old));
        Ok(())
    }
}

impl<T> Default for ChunkedVec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for ChunkedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T> Index<usize> for ChunkedVec<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        match self.get(index) {
            Some(value) => value,
            None => no_such_index(index, self.len()),
        }
    }
}

impl<T> IndexMut<usize> for ChunkedVec<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let len = self.len();
        match self.get_mut(index) {
            Some(value) => value,
            None => no_such_index(index, len),
        }
    }
}

impl<'a, T> IntoIterator for &'a ChunkedVec<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut ChunkedVec<T> {
    type Item = &'a mut T;
    type IntoIter = IterMut<'a, T>;

    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}

impl<T> IntoIterator for ChunkedVec<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        let values = Values::new(self.full.into_iter(), self.full_len, self.last.into_iter());
        IntoIter::new(values, self.reservation)
    }
}

#[cold]
#[inline(never)]
fn no_such_index(index: usize, len: usize) -> ! {
    panic!("index {index} of a list of {len} values")
}
