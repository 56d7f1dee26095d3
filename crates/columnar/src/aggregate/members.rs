//! The items of each group, for states that keep each value.
//!
//! Items come in any order. Once arranged, the items of a run of groups follow one another.

use std::sync::Arc;

use arrow::error::ArrowError;

use super::state::StateError;
use crate::chunked::{ChunkedVec, Growth};
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// Items of a list at most: item numbers have 32 bits.
const ITEMS_MAX: usize = u32::MAX as usize;

#[derive(Debug)]
pub(super) struct Members {
    groups: usize,
    group_of: ChunkedVec<u32>,
    /// The start of each group's items, then their number; empty unless arranged after the last
    /// item.
    starts: ReservedVec<u32>,
    pool: Option<Arc<MemoryPool>>,
    items_max: usize,
}

impl Members {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            groups: 0,
            group_of: ChunkedVec::with_growth(Growth::Doubling, pool.cloned()),
            starts: ReservedVec::new(pool),
            pool: pool.cloned(),
            items_max: ITEMS_MAX,
        }
    }

    pub(super) fn resize(&mut self, groups: usize) {
        if groups != self.groups {
            self.starts.clear();
        }
        self.groups = groups;
    }

    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    pub(super) fn len(&self) -> usize {
        self.group_of.len()
    }

    pub(super) fn group_of(&self) -> &ChunkedVec<u32> {
        &self.group_of
    }

    pub(super) fn push(&mut self, group: usize) -> Result<(), StateError> {
        if self.len() >= self.items_max {
            let message = format!("more than {} values would have to be kept", self.items_max);
            return Err(ArrowError::ComputeError(message).into());
        }
        self.starts.clear();
        Ok(self.group_of.push(group as u32)?)
    }

    /// Reorders the groups, and their items by group. Returns the place to which each item moves.
    pub(super) fn arrange(&mut self, order: &[u32]) -> Result<ReservedVec<u32>, MemoryExceeded> {
        let pool = self.pool.as_ref();
        let place = places_of(order, pool)?;
        let (mut places, mut starts) = (ReservedVec::new(pool), ReservedVec::new(pool));
        places.resize(self.group_of.len(), 0u32)?;
        starts.resize(order.len() + 1, 0u32)?;
        for group in self.group_of.iter_mut() {
            *group = place[*group as usize];
        }
        self.groups = order.len();
        self.sort(&mut starts, |item, place| places[item] = place);
        let of_group = |group: u32| starts[group as usize + 1] - starts[group as usize];
        let groups = (0..order.len() as u32).flat_map(|group| (0..of_group(group)).map(move |_| group));
        for (was, group) in self.group_of.iter_mut().zip(groups) {
            *was = group;
        }
        self.starts = starts;
        Ok(places)
    }

    /// How many items a run of groups has, or at most has: unless arranged, it may have all.
    pub(super) fn items(&self, first: usize, groups: usize) -> usize {
        match self.starts() {
            Some(starts) => (starts[first + groups] - starts[first]) as usize,
            None => self.len(),
        }
    }

    /// Once arranged, the first item of each group, then their number.
    pub(super) fn starts(&self) -> Option<&[u32]> {
        (!self.starts.is_empty()).then_some(&*self.starts)
    }

    /// Groups are counted from `first`.
    pub(super) fn of_groups(
        &self,
        first: usize,
        groups: usize,
        mut visit: impl FnMut(usize, usize) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let range = first..first + groups;
        if self.starts.is_empty() {
            for (item, group) in self.group_of.iter().map(|&group| group as usize).enumerate() {
                if range.contains(&group) {
                    visit(item, group - first)?;
                }
            }
            return Ok(());
        }
        for group in range {
            for item in self.starts[group] as usize..self.starts[group + 1] as usize {
                visit(item, group - first)?;
            }
        }
        Ok(())
    }

    pub(super) fn by_group_bytes(&self) -> usize {
        (self.len() + self.groups + 1) * size_of::<u32>()
    }

    pub(super) fn by_group(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut items, mut starts) = (vec![0; self.len()], vec![0; self.groups + 1]);
        self.sort(&mut starts, |item, place| items[place as usize] = item as u32);
        (items, starts)
    }

    /// Stable; `starts` comes with zeros. `note` takes each item and its place, the last one first.
    fn sort(&self, starts: &mut [u32], mut note: impl FnMut(usize, u32)) {
        for &group in self.group_of.iter() {
            starts[group as usize] += 1;
        }
        let mut end = 0;
        for start in starts.iter_mut() {
            end += *start;
            *start = end;
        }
        for (item, &group) in self.group_of.iter().enumerate().rev() {
            let place = &mut starts[group as usize];
            *place -= 1;
            note(item, *place);
        }
    }
}

/// The place in `order` of each group.
pub(super) fn places_of(
    order: &[u32],
    pool: Option<&Arc<MemoryPool>>,
) -> Result<ReservedVec<u32>, MemoryExceeded> {
    let mut places = ReservedVec::new(pool);
    places.resize(order.len(), 0u32)?;
    for (place, &group) in (0..).zip(order) {
        places[group as usize] = place;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(members: &Members, first: usize, groups: usize) -> Vec<(usize, usize)> {
        let mut items = Vec::new();
        members
            .of_groups(first, groups, |item, group| {
                items.push((item, group));
                Ok(())
            })
            .unwrap();
        items
    }

    #[test]
    fn groups_that_come_after_an_order_are_found_and_empty() {
        let mut members = Members::new(None);
        members.resize(2);
        for group in [0, 1, 1] {
            members.push(group).unwrap();
        }
        assert_eq!(members.arrange(&[1, 0]).unwrap()[..], [2, 0, 1]);
        members.resize(4);
        assert_eq!(items(&members, 0, 4), [(0, 0), (1, 0), (2, 1)]);
        assert_eq!(items(&members, 2, 2), []);
        assert_eq!(members.by_group(), (vec![0, 1, 2], vec![0, 2, 3, 3, 3]));
    }

    #[test]
    fn one_item_more_than_can_be_numbered_is_an_error_that_says_so() {
        let mut members = Members::new(None);
        (members.groups, members.items_max) = (1, 2);
        (0..2).for_each(|_| members.push(0).unwrap());
        let Err(StateError::Arrow(error)) = members.push(0) else {
            panic!("a third item is taken")
        };
        assert!(error.to_string().contains("more than 2 values"), "{error}");
        assert_eq!(items(&members, 0, 1), [(0, 0), (1, 0)]);
    }

    #[test]
    fn items_are_found_by_group_before_and_after_groups_are_arranged() {
        let mut members = Members::new(None);
        members.resize(4);
        for group in [2, 0, 2, 3, 0] {
            members.push(group).unwrap();
        }
        assert_eq!(items(&members, 2, 2), [(0, 0), (2, 0), (3, 1)]);
        assert_eq!(members.items(2, 2), 5, "all, at most");
        let places = members.arrange(&[3, 1, 0, 2]).unwrap();
        assert_eq!(places[..], [3, 1, 4, 0, 2]);
        assert!(members.group_of().iter().eq(&[0, 2, 2, 3, 3]));
        assert_eq!(items(&members, 1, 3), [(1, 1), (2, 1), (3, 2), (4, 2)]);
        assert_eq!(items(&members, 1, 1), []);
        assert_eq!((members.items(1, 3), members.items(1, 1)), (4, 0));
        let (by_group, starts) = members.by_group();
        assert_eq!((by_group, starts), (vec![0, 1, 2, 3, 4], vec![0, 1, 1, 3, 5]));
    }
}
