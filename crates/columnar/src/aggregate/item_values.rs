//! A value of each item of [`Members`].

use std::sync::Arc;

use super::members::Members;
use crate::chunked::{ChunkedVec, Growth};
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// Growth copies no value: a slot may have millions of items.
#[derive(Debug)]
pub(super) struct ItemValues<T> {
    /// Those of the first items, in one piece since the items were arranged.
    arranged: ReservedVec<T>,
    added: ChunkedVec<T>,
}

impl<T: Copy + Default> ItemValues<T> {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            arranged: ReservedVec::new(pool),
            added: ChunkedVec::with_growth(Growth::Doubling, pool.cloned()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.arranged.len() + self.added.len()
    }

    #[inline]
    pub(super) fn get(&self, item: usize) -> T {
        match self.arranged.get(item) {
            Some(value) => *value,
            None => self.added[item - self.arranged.len()],
        }
    }

    pub(super) fn push(&mut self, value: T) -> Result<(), MemoryExceeded> {
        self.added.push(value)
    }

    pub(super) fn extend(&mut self, values: &[T]) -> Result<(), MemoryExceeded> {
        self.added.extend_from_slice(values)
    }

    /// Reorders the groups of `members`, and these values as their items.
    pub(super) fn arrange(&mut self, members: &mut Members, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.arranged = self.moved(members, order)?;
        self.added.clear();
        Ok(())
    }

    fn moved(&self, members: &mut Members, order: &[u32]) -> Result<ReservedVec<T>, MemoryExceeded> {
        let mut moved = ReservedVec::new(self.arranged.pool());
        moved.resize(self.len(), T::default())?;
        let mut values = self.arranged.iter().chain(&self.added);
        members.arrange(order, |place| {
            moved[place as usize] = *values.next().expect("each item has a value");
        })?;
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(members: &mut Members, values: &mut ItemValues<u64>, items: &[(u32, u64)]) {
        for &(group, value) in items {
            members.push(group as usize).unwrap();
            values.push(value).unwrap();
        }
    }

    fn by_group(members: &Members, values: &ItemValues<u64>, group: usize) -> Vec<u64> {
        let mut found = Vec::new();
        let found_one = |item, _| {
            found.push(values.get(item));
            Ok(())
        };
        members.of_groups(group, 1, found_one).unwrap();
        found
    }

    #[test]
    fn values_follow_their_items_also_when_items_come_after_an_order() {
        let (mut members, mut values) = (Members::new(None), ItemValues::new(None));
        members.resize(3);
        add(&mut members, &mut values, &[(0, 10), (2, 20), (0, 11), (1, 30)]);
        // The last group becomes the first.
        values.arrange(&mut members, &[2, 0, 1]).unwrap();
        let of_each = |members: &_, values: &_| [0, 1, 2].map(|group| by_group(members, values, group));
        assert_eq!(of_each(&members, &values), [vec![20], vec![10, 11], vec![30]]);
        add(&mut members, &mut values, &[(2, 31), (0, 21)]);
        assert_eq!(
            of_each(&members, &values),
            [vec![20, 21], vec![10, 11], vec![30, 31]]
        );
        values.arrange(&mut members, &[1, 2, 0]).unwrap();
        assert_eq!(
            of_each(&members, &values),
            [vec![10, 11], vec![30, 31], vec![20, 21]]
        );
        assert_eq!(values.len(), 6);
    }
}
