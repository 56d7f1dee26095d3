//! The items of each group, for states that keep each value.
//!
//! Items come in any order. Once arranged, the items of a run of groups follow one another.

use std::mem;
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
        self.make_room_for(1)?;
        Ok(self.group_of.push(group as u32)?)
    }

    pub(super) fn extend(&mut self, groups: &[u32]) -> Result<(), StateError> {
        self.make_room_for(groups.len())?;
        Ok(self.group_of.extend_from_slice(groups)?)
    }

    #[inline]
    fn make_room_for(&mut self, items: usize) -> Result<(), StateError> {
        if items > self.items_max - self.len() {
            let message = format!("more than {} values would have to be kept", self.items_max);
            return Err(ArrowError::ComputeError(message).into());
        }
        self.starts.clear();
        Ok(())
    }

    /// Reorders the groups, and their items by group. `moved` takes the place of each item, in
    /// their order.
    pub(super) fn arrange(&mut self, order: &[u32], moved: impl FnMut(u32)) -> Result<(), MemoryExceeded> {
        let pool = self.pool.as_ref();
        let (mut ends, mut starts) = (ReservedVec::new(pool), ReservedVec::new(pool));
        ends.resize(order.len(), 0u32)?;
        starts.reserve(order.len() + 1)?;
        self.sort(order.iter().map(|&group| group as usize), &mut ends, moved);
        let mut items = self.group_of.iter_mut();
        let mut start = 0;
        starts.push(start)?;
        for (group, &was) in (0..).zip(order) {
            let end = ends[was as usize];
            let of_group = items.by_ref().take((end - start) as usize);
            of_group.for_each(|of_item| *of_item = group);
            starts.push(end)?;
            start = end;
        }
        (self.groups, self.starts) = (order.len(), starts);
        Ok(())
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

    /// The items by group, and the start of each group's, then their number.
    pub(super) fn by_group(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut items, mut starts) = (vec![0; self.len()], vec![0; self.groups + 1]);
        let mut item = 0;
        self.sort(0..self.groups, &mut starts[1..], |place| {
            items[place as usize] = item;
            item += 1;
        });
        (items, starts)
    }

    /// Stable. `note` takes places as in [`arrange`](Self::arrange), if groups follow one another in
    /// `order`. `ends`, by group, come with zeros.
    fn sort(&self, order: impl Iterator<Item = usize>, ends: &mut [u32], mut note: impl FnMut(u32)) {
        self.group_of.iter().for_each(|&group| ends[group as usize] += 1);
        let mut start = 0;
        for group in order {
            start += mem::replace(&mut ends[group], start);
        }
        self.group_of.iter().for_each(|&group| {
            let end = &mut ends[group as usize];
            note(*end);
            *end += 1;
        });
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

    /// The place of each item.
    fn arranged(members: &mut Members, order: &[u32]) -> Vec<u32> {
        let mut places = Vec::new();
        members.arrange(order, |place| places.push(place)).unwrap();
        places
    }

    #[test]
    fn groups_that_come_after_an_order_are_found_and_empty() {
        let mut members = Members::new(None);
        members.resize(2);
        for group in [0, 1, 1] {
            members.push(group).unwrap();
        }
        assert_eq!(arranged(&mut members, &[1, 0]), [2, 0, 1]);
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
        assert_eq!(arranged(&mut members, &[3, 1, 0, 2]), [3, 1, 4, 0, 2]);
        assert!(members.group_of().iter().eq(&[0, 2, 2, 3, 3]));
        assert_eq!(items(&members, 1, 3), [(1, 1), (2, 1), (3, 2), (4, 2)]);
        assert_eq!(items(&members, 1, 1), []);
        assert_eq!((members.items(1, 3), members.items(1, 1)), (4, 0));
        let (by_group, starts) = members.by_group();
        assert_eq!((by_group, starts), (vec![0, 1, 2, 3, 4], vec![0, 1, 1, 3, 5]));
    }
}
