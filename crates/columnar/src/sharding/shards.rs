//! What one stage leaves for the next: a value per partition.

use std::fmt;
use std::iter::{Flatten, FusedIterator};
use std::sync::{Arc, Mutex};
use std::vec;

use pipeline_exec::{StepError, lock};

use crate::chunked::ChunkedVec;
use crate::memory::{MemoryExceeded, MemoryPool, Reservation};

/// A value for each partition, written by one stage's slots and taken by the next one's. Clones are
/// cheap and share the values.
pub struct Shards<T> {
    cells: Arc<[Mutex<Option<T>>]>,
    pool: Option<Arc<MemoryPool>>,
}

impl<T> Shards<T> {
    /// Shards of existing values, one per partition.
    pub fn new(values: impl IntoIterator<Item = T>) -> Self {
        Self {
            cells: values.into_iter().map(|value| Mutex::new(Some(value))).collect(),
            pool: None,
        }
    }

    /// Sets the pool for what stages write that read these values, and for later stages. The values
    /// themselves are not reserved.
    #[must_use]
    pub fn with_pool(mut self, pool: Arc<MemoryPool>) -> Self {
        self.pool = Some(pool);
        self
    }

    pub(super) fn to_come(partitions: usize, pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            cells: (0..partitions).map(|_| Mutex::new(None)).collect(),
            pool: pool.cloned(),
        }
    }

    /// The number of partitions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// True if there are no partitions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All values in the order of the partitions, best used as the job's
    /// [output](pipeline_exec::JobBuilder::output).
    ///
    /// # Errors
    ///
    /// When a value was taken already, or its slot has not run.
    pub fn take_all(&self) -> Result<Vec<T>, StepError> {
        (0..self.len()).map(|partition| self.take(partition)).collect()
    }

    /// The value of one partition.
    ///
    /// # Errors
    ///
    /// When the value was taken already, or its slot has not run.
    ///
    /// # Panics
    ///
    /// If there is no such partition.
    pub fn take(&self, partition: usize) -> Result<T, StepError> {
        let value = lock(&self.cells[partition]).take();
        value.ok_or_else(|| {
            format!("the value of partition {partition} was taken, or its slot has not run").into()
        })
    }

    pub(super) fn pool(&self) -> Option<&Arc<MemoryPool>> {
        self.pool.as_ref()
    }

    pub(super) fn put(&self, partition: usize, value: T) {
        *lock(&self.cells[partition]) = Some(value);
    }
}

impl<T> Clone for Shards<T> {
    fn clone(&self) -> Self {
        Self {
            cells: Arc::clone(&self.cells),
            pool: self.pool.clone(),
        }
    }
}

impl<T> fmt::Debug for Shards<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shards")
            .field("partitions", &self.len())
            .finish_non_exhaustive()
    }
}

/// The records of a partition: a list per slot that wrote some, in slot order.
#[derive(Debug)]
pub struct Lists<T> {
    lists: Vec<ChunkedVec<T>>,
    /// Counts the lists' heads; each list reserves its own records.
    reservation: Reservation,
}

impl<T> Lists<T> {
    pub(super) fn with_room(count: usize, pool: Option<&Arc<MemoryPool>>) -> Result<Self, MemoryExceeded> {
        let mut reservation = Reservation::of(pool.cloned());
        reservation.grow(count.saturating_mul(size_of::<ChunkedVec<T>>()))?;
        Ok(Self {
            lists: Vec::with_capacity(count),
            reservation,
        })
    }

    /// There must be room for it.
    pub(super) fn add(&mut self, list: ChunkedVec<T>) {
        self.lists.push(list);
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lists.iter().map(ChunkedVec::len).sum()
    }

    /// True if there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lists.iter().all(ChunkedVec::is_empty)
    }

    /// The records, in the order in which slots wrote them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.lists.iter().flatten()
    }
}

impl<T> IntoIterator for Lists<T> {
    type Item = T;
    type IntoIter = Records<T>;

    fn into_iter(self) -> Records<T> {
        Records {
            records: self.lists.into_iter().flatten(),
            reservation: self.reservation,
        }
    }
}

/// The records of a partition, by value. A list is freed when its last record is taken.
pub struct Records<T> {
    // Dropped first: memory is freed before its reservation is given back.
    records: Flatten<vec::IntoIter<ChunkedVec<T>>>,
    reservation: Reservation,
}

impl<T> Iterator for Records<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.records.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.records.size_hint()
    }

    #[inline]
    fn fold<A, F: FnMut(A, T) -> A>(self, start: A, f: F) -> A {
        // Held until the records are consumed.
        let _reservation = self.reservation;
        self.records.fold(start, f)
    }
}

impl<T> FusedIterator for Records<T> {}

impl<T> fmt::Debug for Records<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").finish_non_exhaustive()
    }
}
