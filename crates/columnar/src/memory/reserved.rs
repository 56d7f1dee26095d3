//! A list that reserves its memory before it grows.
//!
//! It is one piece of memory that doubles, for random access and few values; a
//! [`ChunkedVec`](crate::chunked::ChunkedVec) is for sequential access. While it grows, old and
//! new memory exist at once, and both are reserved.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

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

    #[inline]
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
        list.extend(values)?;
        Ok(list)
    }

    pub(crate) fn extend(&mut self, values: impl ExactSizeIterator<Item = T>) -> Result<(), MemoryExceeded> {
        self.reserve(values.len())?;
        self.values.extend(values);
        Ok(())
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

    /// Value `i` moves to `places[i]`, each place once.
    pub(crate) fn scatter(&mut self, places: &[u32]) -> Result<(), MemoryExceeded>
    where
        T: Copy + Default,
    {
        let mut moved = Self::new(self.pool());
        moved.resize(places.len(), T::default())?;
        for (value, place) in self.values.iter().zip(places) {
            moved[*place as usize] = *value;
        }
        *self = moved;
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

    pub(crate) fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
    }

    /// How many values it has memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.values.capacity()
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
        assert_eq!(*list, [1, 2, 3]);
        list.scatter(&[1, 2, 0]).unwrap();
        assert_eq!(*list, [3, 1, 2]);
        assert_eq!((pool.used(), pool.peak()), (3 * 8, 2 * 3 * 8));
        list.scatter(&[2, 0, 1]).unwrap();
        let (values, reservation) = list.into_parts();
        assert_eq!(
            (values, reservation.bytes(), pool.used()),
            (vec![1, 2, 3], 3 * 8, 3 * 8)
        );
    }
}
