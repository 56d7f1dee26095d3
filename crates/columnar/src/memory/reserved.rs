//! Containers that reserve their memory before they grow.
//!
//! Each is one piece of memory that doubles, for random access and few values; a
//! [`ChunkedVec`](crate::chunked::ChunkedVec) is for sequential access. While one grows, old and
//! new memory exist at once, and both are reserved.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::pool::{MemoryExceeded, MemoryPool};
use super::reservation::Reservation;

#[derive(Debug)]
pub(crate) struct ReservedVec<T> {
    // Freed before the reservation is given back.
    values: Vec<T>,
    reservation: Reservation,
}

impl<T> ReservedVec<T> {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            values: Vec::new(),
            reservation: Reservation::of(pool.cloned()),
        }
    }

    pub(crate) fn push(&mut self, value: T) -> Result<(), MemoryExceeded> {
        self.reserve(1)?;
        self.values.push(value);
        Ok(())
    }

    pub(crate) fn resize(&mut self, len: usize, value: T) -> Result<(), MemoryExceeded>
    where
        T: Clone,
    {
        self.reserve(len.saturating_sub(self.values.len()))?;
        self.values.resize(len, value);
        Ok(())
    }

    /// Takes memory of exactly their size.
    pub(crate) fn collect(
        pool: Option<&Arc<MemoryPool>>,
        values: impl ExactSizeIterator<Item = T>,
    ) -> Result<Self, MemoryExceeded> {
        let mut list = Self::new(pool);
        list.reserve(values.len())?;
        list.values.extend(values);
        Ok(list)
    }

    /// `order[i]`, each once, becomes value `i`.
    pub(crate) fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded>
    where
        T: Copy,
    {
        let values = order.iter().map(|&at| self.values[at as usize]);
        *self = Self::collect(self.reservation.pool(), values)?;
        Ok(())
    }

    /// [`arrange`](Self::arrange) for values that own memory.
    pub(crate) fn arrange_owned(&mut self, order: &[u32]) -> Result<(), MemoryExceeded>
    where
        T: Default,
    {
        let values = &mut self.values;
        let values = order.iter().map(|&at| mem::take(&mut values[at as usize]));
        let arranged = Self::collect(self.reservation.pool(), values)?;
        *self = arranged;
        Ok(())
    }

    pub(crate) fn into_parts(self) -> (Vec<T>, Reservation) {
        (self.values, self.reservation)
    }

    pub(crate) fn pool(&self) -> Option<&Arc<MemoryPool>> {
        self.reservation.pool()
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }

    #[inline]
    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), MemoryExceeded> {
        if more <= self.values.capacity() - self.values.len() {
            return Ok(());
        }
        self.grow(more)
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), MemoryExceeded> {
        let len = self.values.len();
        let capacity = len.saturating_add(more).max(2 * self.values.capacity());
        let old = self.reservation.bytes();
        self.reservation.grow(capacity.saturating_mul(size_of::<T>()))?;
        self.values.reserve_exact(capacity - len);
        self.reservation.shrink(old);
        Ok(())
    }
}

impl<T> Deref for ReservedVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> DerefMut for ReservedVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// Places for each value from which a table that starts over is replaced.
const TOO_LARGE: usize = 16;

/// Numbers of groups, or other small values, by hash. They are never removed one by one.
#[derive(Debug)]
pub(crate) struct ReservedTable<T = u32> {
    table: HashTable<T>,
    reservation: Reservation,
}

impl<T: Copy> ReservedTable<T> {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            table: HashTable::new(),
            reservation: Reservation::of(pool.cloned()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(T) -> bool) -> Option<T> {
        self.table.find(hash, |&number| is_it(number)).copied()
    }

    /// `hash_of` returns the hashes of the others.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        number: T,
        hash_of: impl Fn(T) -> u64,
    ) -> Result<(), MemoryExceeded> {
        if self.table.len() == self.table.capacity() {
            self.grow(1, &hash_of)?;
        }
        self.table.insert_unique(hash, number, |&number| hash_of(number));
        Ok(())
    }

    #[inline]
    pub(crate) fn entry(
        &mut self,
        hash: u64,
        is_it: impl Fn(T) -> bool,
        hash_of: impl Fn(T) -> u64,
    ) -> Result<Entry<'_, T>, MemoryExceeded> {
        if self.table.len() == self.table.capacity() && self.find(hash, &is_it).is_none() {
            self.grow(1, &hash_of)?;
        }
        let is_it = |number: &T| is_it(*number);
        Ok(self.table.entry(hash, is_it, |&number| hash_of(number)))
    }

    pub(crate) fn reserve(
        &mut self,
        numbers: usize,
        hash_of: impl Fn(T) -> u64,
    ) -> Result<(), MemoryExceeded> {
        if numbers <= self.table.capacity() {
            return Ok(());
        }
        self.grow(numbers - self.table.len(), &hash_of)
    }

    /// Forgets all values, and makes a new table if this one is far too large for `values`: each
    /// start clears a table's control bytes.
    pub(crate) fn start_over(&mut self, values: usize) -> Result<(), MemoryExceeded> {
        if self.table.capacity() <= TOO_LARGE * values.max(16) {
            self.table.clear();
            return Ok(());
        }
        self.table = HashTable::new();
        self.reservation.resize(0)
    }

    #[cold]
    fn grow(&mut self, more: usize, hash_of: &impl Fn(T) -> u64) -> Result<(), MemoryExceeded> {
        /// Bytes above the size of the smallest table.
        const SMALLEST: usize = 64;
        // Places are a power of two, at most seven eighths of them taken. Each is a value and a
        // control byte.
        let places = (self.table.len() + more).saturating_mul(8).div_ceil(7);
        let bytes = places.next_power_of_two() * (size_of::<T>() + 1) + SMALLEST;
        let twice = (2 * self.table.allocation_size()).max(SMALLEST);
        self.reservation
            .grow(if more == 1 { twice } else { bytes.max(twice) })?;
        self.table.reserve(more, |&number| hash_of(number));
        // The old table is freed.
        self.reservation.resize(self.table.allocation_size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(limit: usize) -> Arc<MemoryPool> {
        Arc::new(MemoryPool::new("test", limit))
    }

    #[test]
    fn a_vec_charges_old_and_new_while_it_grows() {
        let pool = pool(12 * 8);
        let mut list = ReservedVec::new(Some(&pool));
        list.resize(4, 7u64).unwrap();
        assert_eq!(pool.used(), 4 * 8);
        list.push(8).unwrap();
        assert_eq!((pool.used(), pool.peak()), (8 * 8, 12 * 8));
        assert_eq!(*list, [7, 7, 7, 7, 8]);
        let refused = list.resize(9, 0).unwrap_err();
        assert_eq!((refused.requested, refused.used), (16 * 8, 8 * 8));
        assert_eq!(list.len(), 5, "it stays as it was");
        drop(list);
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn a_vec_is_arranged_with_old_and_new_charged() {
        let pool = pool(2 * 3 * 8);
        let mut list = ReservedVec::collect(Some(&pool), [1u64, 2, 3].into_iter()).unwrap();
        list.arrange(&[2, 0, 1]).unwrap();
        assert_eq!(*list, [3, 1, 2]);
        assert_eq!((pool.used(), pool.peak()), (3 * 8, 2 * 3 * 8));
        list.push(4).unwrap_err();
        list.arrange(&[1, 2, 0]).unwrap();
        let (values, reservation) = list.into_parts();
        assert_eq!(
            (values, reservation.bytes(), pool.used()),
            (vec![1, 2, 3], 3 * 8, 3 * 8)
        );
    }

    #[test]
    fn a_table_charges_what_it_allocates_and_finds_what_it_holds() {
        let pool = pool(usize::MAX);
        let mut table = ReservedTable::new(Some(&pool));
        let hash = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for number in 0..10_000 {
            table.insert(hash(number), number, hash).unwrap();
            assert_eq!(pool.used(), table.table.allocation_size());
        }
        assert!((0..10_000).all(|number| table.find(hash(number), |found| found == number) == Some(number)));
        assert_eq!(table.find(hash(10_000), |found| found == 10_000), None);
        let full = Arc::new(MemoryPool::new("small", pool.used()));
        let mut refused = ReservedTable::new(Some(&full));
        let inserted = (0..10_000)
            .take_while(|&number| refused.insert(hash(number), number, hash).is_ok())
            .count();
        assert!(inserted < 10_000 && refused.table.len() == inserted);
        assert!(full.peak() <= full.limit());
    }
}
