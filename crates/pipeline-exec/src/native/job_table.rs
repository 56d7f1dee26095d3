//! A bounded table of places, each behind its own lock. Memory grows in blocks.
//!
//! Emptied places wait in a lock-free queue. A place is queued before the gate releases its count,
//! so a submitter that finds the queue empty finds a fresh place.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crossbeam::queue::SegQueue;

const BLOCK: usize = 1024;

pub(crate) struct JobTable<V> {
    blocks: Box<[OnceLock<Block<V>>]>,
    emptied: SegQueue<usize>,
    fresh: AtomicUsize,
    capacity: usize,
}

type Block<V> = Box<[Mutex<Option<V>>]>;

impl<V> JobTable<V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            blocks: (0..capacity.div_ceil(BLOCK)).map(|_| OnceLock::new()).collect(),
            emptied: SegQueue::new(),
            fresh: AtomicUsize::new(0),
            capacity,
        }
    }

    pub(crate) fn put(&self, value: V) -> Result<usize, V> {
        let Some(index) = self.emptied.pop().or_else(|| self.take_fresh()) else {
            return Err(value);
        };
        let block = self.blocks[index / BLOCK].get_or_init(|| (0..BLOCK).map(|_| Mutex::new(None)).collect());
        *block[index % BLOCK]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(value);
        Ok(index)
    }

    pub(crate) fn used(&self) -> usize {
        // Ordering: Relaxed. A place's value is behind its lock; a party that must miss none has
        // passed a fence.
        self.fresh.load(Ordering::Relaxed)
    }

    fn take_fresh(&self) -> Option<usize> {
        let more = |fresh| (fresh < self.capacity).then_some(fresh + 1);
        // Ordering: Relaxed, both. The number is unique; the block comes by its `OnceLock`.
        self.fresh
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()
    }

    pub(crate) fn get(&self, index: usize) -> Option<V>
    where
        V: Clone,
    {
        self.place(index)?
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn clear(&self, index: usize) -> Option<V> {
        let value = self
            .place(index)?
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if value.is_some() {
            self.emptied.push(index);
        }
        value
    }

    fn place(&self, index: usize) -> Option<&Mutex<Option<V>>> {
        Some(&self.blocks.get(index / BLOCK)?.get()?[index % BLOCK])
    }
}

impl<V> std::fmt::Debug for JobTable<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobTable")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_gives_the_value_back_and_an_emptied_place_is_used_again() {
        let table = JobTable::new(2);
        assert_eq!([table.put('a'), table.put('b')], [Ok(0), Ok(1)]);
        assert_eq!(table.put('c'), Err('c'));
        assert_eq!((table.clear(0), table.clear(0)), (Some('a'), None));
        assert_eq!(table.used(), 2, "emptied or not");
        assert_eq!(table.put('c'), Ok(0));
        assert_eq!(
            (table.get(0), table.get(1), table.get(2), table.get(5_000)),
            (Some('c'), Some('b'), None, None)
        );
    }
    #[test]
    fn places_of_all_blocks_are_apart_and_as_many_as_the_capacity() {
        let capacity = 2 * BLOCK + 5;
        let table = JobTable::new(capacity);
        for value in 0..capacity {
            assert_eq!(
                table.put(value),
                Ok(value),
                "never used before, one after the other"
            );
        }
        assert_eq!(table.put(0), Err(0));
        assert!((0..capacity).all(|index| table.get(index) == Some(index)));
        assert_eq!(table.clear(BLOCK + 1), Some(BLOCK + 1));
        assert_eq!((table.get(BLOCK), table.get(BLOCK + 1)), (Some(BLOCK), None));
        assert_eq!(table.put(9), Ok(BLOCK + 1));
    }

    #[test]
    fn its_debug_form_shows_no_value() {
        let table = JobTable::new(3);
        assert_eq!(table.put("secret"), Ok(0));
        assert_eq!(format!("{table:?}"), "JobTable { capacity: 3, .. }");
    }
}
