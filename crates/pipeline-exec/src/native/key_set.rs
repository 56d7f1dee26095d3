//! A set of jobs' keys: crossbeam's skip list, and a count that shows quickly that it is empty.
//!
//! Most looks find most orders empty, and searching even an empty skip list pins an epoch. The
//! count rises before a key goes in and falls after it has come out, so 0 means empty.

use std::cell::Cell;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam::utils::CachePadded;
use crossbeam_skiplist::SkipMap;

use crate::policy::JobHandle;

#[derive(Default)]
pub(crate) struct KeySet {
    keys: SkipMap<JobHandle, ()>,
    count: CachePadded<AtomicUsize>,
}

impl KeySet {
    pub(crate) fn insert(&self, key: JobHandle) -> bool {
        // Ordering: Relaxed. The inserting party, and a reader that must miss no key, have both
        // passed a fence; then the reader sees the count with the key.
        self.count.fetch_add(1, Ordering::Relaxed);
        let was_there = Cell::new(false);
        self.keys.compare_insert(key, (), |()| {
            was_there.set(true);
            false
        });
        if was_there.get() {
            // Ordering: Relaxed. As above.
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
        !was_there.get()
    }

    pub(crate) fn remove(&self, key: &JobHandle) -> bool {
        let was_there = self.keys.remove(key).is_some();
        if was_there {
            // Ordering: Relaxed. It comes after the addition for this key, which the skip list has
            // published.
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
        was_there
    }

    pub(crate) fn last(&self, below: Option<&JobHandle>) -> Option<JobHandle> {
        // Ordering: Relaxed. As in `insert`.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let entry = match below {
            None => self.keys.back(),
            Some(key) => self.keys.upper_bound(Bound::Excluded(key)),
        };
        entry.map(|entry| *entry.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(rank: u64) -> JobHandle {
        JobHandle {
            rank,
            seq: 0,
            index: 0,
        }
    }

    #[test]
    fn it_is_a_set_in_order_and_knows_when_it_is_empty() {
        let set = KeySet::default();
        assert_eq!(set.last(None), None);
        assert_eq!([2, 3, 2].map(|cost| set.insert(key(cost))), [true, true, false]);
        assert_eq!(set.last(None), Some(key(3)));
        assert_eq!(set.last(Some(&key(3))), Some(key(2)));
        assert_eq!(set.last(Some(&key(2))), None);
        assert_eq!([3, 3, 2].map(|cost| set.remove(&key(cost))), [true, false, true]);
        assert_eq!(set.last(None), None);
        assert_eq!(set.count.load(Ordering::Relaxed), 0);
    }
}
