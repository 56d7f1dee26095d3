//! Pairs of group and value, and the count of each group's distinct ones.
//!
//! ```text
//!   rows ─► seen lately? ─► list ─┐  by group, a pair may be there twice
//!   rows ─► seen lately? ─► list ─┼─► merged: the lists are shared ─► count, a group at a time:
//!   rows ─► seen lately? ─► list ─┘                                   a table of its values
//! ```
//!
//! A table of all pairs of a slot would not fit a core's cache, and the merge would look up each of
//! its pairs again. The values of one group mostly fit, and are looked up once.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::super::item_values::ItemValues;
use super::super::members::{Members, places_of};
use super::super::state::StateError;
use super::distinct_values::DistinctValues as _;
use super::lately::Lately;
use super::values::{LongValues, Values};
use super::word::Word;
use crate::memory::{MemoryExceeded, MemoryPool, Reservation, ReservedVec};
use crate::partition::spread;

/// A group of a part that is none here.
const NONE: u32 = u32::MAX;

/// Pairs that are listed before they are kept.
const LISTED: usize = 256;

pub(super) struct Pairs<V: Values> {
    /// Those of rows that were added.
    own: Arc<List<V>>,
    lately: Lately<V::Note>,
    /// Those of merged states.
    parts: Vec<Part<V>>,
    groups_of_parts: ReservedVec<u32>,
    pool: Option<Arc<MemoryPool>>,
}

struct List<V> {
    members: Members,
    values: V,
}

/// Pairs of a run of another state's groups.
struct Part<V> {
    list: Arc<List<V>>,
    first: usize,
    /// The group here of each group from `first` on, in `groups_of_parts`.
    groups: Range<usize>,
}

/// The pairs of a state while rows are added to it.
pub(super) struct OpenPairs<'a, V: Values> {
    list: &'a mut List<V>,
    lately: &'a mut Lately<V::Note>,
}

/// The pairs of a state while rows are added to it whose values have a fixed width.
///
/// Often half of the rows have a pair that was seen lately, and a core would mispredict which. So
/// each row's pair is written to its place and behind the last pair of a list, which is one pair
/// longer then if the pair was not seen.
pub(super) struct NewPairs<'a, W: Word> {
    open: OpenPairs<'a, ItemValues<W>>,
    groups: [u32; LISTED],
    values: [W; LISTED],
    listed: usize,
}

impl<V: Values> Pairs<V> {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            own: Arc::new(List {
                members: Members::new(pool),
                values: V::new(pool),
            }),
            lately: Lately::new(pool),
            parts: Vec::new(),
            groups_of_parts: ReservedVec::new(pool),
            pool: pool.cloned(),
        }
    }

    pub(super) fn resize(&mut self, groups: usize) {
        if self.groups() != groups {
            self.open().list.members.resize(groups);
        }
    }

    pub(super) fn groups(&self) -> usize {
        self.own.members.groups()
    }

    /// About the pairs of a run of groups, without those of merged states.
    pub(super) fn kept(&self, first: usize, groups: usize) -> usize {
        self.own.members.items(first, groups)
    }

    /// # Panics
    ///
    /// If another state has merged this one.
    pub(super) fn open(&mut self) -> OpenPairs<'_, V> {
        OpenPairs {
            list: Arc::get_mut(&mut self.own).expect("a merged state takes no more rows"),
            lately: &mut self.lately,
        }
    }

    pub(super) fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        let pool = self.pool.clone();
        if !self.parts.is_empty() {
            let places = places_of(order, pool.as_ref())?;
            for group in self.groups_of_parts.iter_mut() {
                *group = places.get(*group as usize).copied().unwrap_or(NONE);
            }
        }
        self.lately = Lately::new(pool.as_ref());
        let OpenPairs { list, .. } = self.open();
        list.values.arrange(&mut list.members, order)
    }

    pub(super) fn merge(&mut self, from: &Self, first: usize, map: &[u32]) -> Result<(), MemoryExceeded> {
        if from.own.members.items(first, map.len()) > 0 {
            self.share(&from.own, first, map.iter().copied())?;
        }
        for part in &from.parts {
            let groups = &from.groups_of_parts[part.groups.clone()];
            let here = |&group: &u32| map.get((group as usize).wrapping_sub(first));
            let groups = groups.iter().map(|group| here(group).copied().unwrap_or(NONE));
            self.share(&part.list, part.first, groups)?;
        }
        Ok(())
    }

    fn share(
        &mut self,
        list: &Arc<List<V>>,
        first: usize,
        groups: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), MemoryExceeded> {
        let start = self.groups_of_parts.len();
        self.groups_of_parts.reserve(groups.len())?;
        for group in groups {
            self.groups_of_parts.push(group)?;
        }
        self.parts.push(Part {
            list: Arc::clone(list),
            first,
            groups: start..self.groups_of_parts.len(),
        });
        Ok(())
    }

    /// Adds the distinct values of each group.
    pub(super) fn count(&self, counts: &mut [i64]) -> Result<(), StateError> {
        let pool = self.pool.as_ref();
        let lists = self.parts.iter().map(|part| &part.list).chain([&self.own]);
        let lists: Vec<_> = lists.map(|list| list.by_group(pool)).collect::<Result<_, _>>()?;
        let (runs, of_groups) = self.runs(&lists)?;
        let of_groups = ByGroup::new(&of_groups, pool)?;
        let mut distinct = V::Distinct::new(pool);
        for (group, count) in counts.iter_mut().enumerate() {
            let of_group = of_groups.places(group).map(|place| runs[of_groups.item(place)]);
            let pairs: usize = of_group.clone().map(|run| run.of(&lists).len()).sum();
            if pairs < 2 {
                *count += pairs as i64;
                continue;
            }
            distinct.start_over(pairs)?;
            for run in of_group {
                let (values, by_group) = &lists[run.list as usize];
                let places = run.of(&lists);
                distinct.insert(places.map(|place| values.value(by_group.item(place))))?;
            }
            *count += distinct.len() as i64;
        }
        Ok(())
    }

    /// The runs of pairs in `lists`, those of parts before the own one, and the group of each.
    fn runs(&self, lists: &[Sorted<'_, V>]) -> Result<(ReservedVec<Run>, Members), StateError> {
        let pool = self.pool.as_ref();
        let (mut runs, mut of_groups) = (ReservedVec::new(pool), Members::new(pool));
        of_groups.resize(self.groups());
        let mut add = |list: usize, group: usize, here: u32| -> Result<(), StateError> {
            let run = Run {
                list: list as u32,
                group: group as u32,
            };
            if here == NONE || run.of(lists).is_empty() {
                return Ok(());
            }
            of_groups.push(here as usize)?;
            Ok(runs.push(run)?)
        };
        for (list, part) in self.parts.iter().enumerate() {
            let groups = &self.groups_of_parts[part.groups.clone()];
            for (group, &here) in (part.first..).zip(groups) {
                add(list, group, here)?;
            }
        }
        for group in 0..self.groups() {
            add(self.parts.len(), group, group as u32)?;
        }
        Ok((runs, of_groups))
    }
}

impl<V: Values> OpenPairs<'_, V> {
    #[cold]
    fn remember_more(&mut self) -> Result<(), MemoryExceeded> {
        let List { members, values } = &*self.list;
        self.lately.grow()?;
        for (pair, &group) in members.group_of().iter().enumerate() {
            let hash = pair_hash(group, V::hash_of(values.value(pair)));
            self.lately.put(hash, group, values.note(pair));
        }
        Ok(())
    }
}

impl OpenPairs<'_, LongValues> {
    /// Adds a pair of a row.
    pub(super) fn note(&mut self, group: u32, value: (&[u8], u64)) -> Result<(), StateError> {
        let hash = pair_hash(group, LongValues::hash_of(value));
        let known = self.lately.find(hash, group);
        if known.is_some_and(|pair| self.list.values.value(pair as usize) == value) {
            return Ok(());
        }
        let pairs = self.list.members.len();
        if self.lately.is_small_for(pairs) {
            self.remember_more()?;
        }
        let List { members, values } = &mut *self.list;
        members.push(group as usize)?;
        values.push(value)?;
        self.lately.put(hash, group, values.note(pairs));
        Ok(())
    }
}

impl<W: Word> Pairs<ItemValues<W>> {
    /// # Panics
    ///
    /// As [`open`](Self::open).
    pub(super) fn new_pairs(&mut self) -> NewPairs<'_, W> {
        NewPairs {
            open: self.open(),
            groups: [0; LISTED],
            values: [W::default(); LISTED],
            listed: 0,
        }
    }
}

impl<W: Word> NewPairs<'_, W> {
    /// Adds a pair of a row.
    #[inline]
    pub(super) fn note(&mut self, group: u32, value: W) -> Result<(), StateError> {
        let Some(listed) = self.list(self.listed, group, value) else {
            return self.note_first(group, value);
        };
        self.listed = listed;
        match listed == LISTED {
            true => self.keep(),
            false => Ok(()),
        }
    }

    /// Adds the pairs of many rows: their number on the list stays in a register.
    pub(super) fn note_all(
        &mut self,
        mut rows: impl ExactSizeIterator<Item = (u32, W)>,
    ) -> Result<(), StateError> {
        while rows.len() > 0 {
            self.keep()?;
            let mut listed = 0;
            for (group, value) in rows.by_ref().take(LISTED) {
                listed = self.list(listed, group, value).expect("keeping makes places");
            }
            self.listed = listed;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), StateError> {
        match self.listed > 0 {
            true => self.keep(),
            false => Ok(()),
        }
    }

    /// Returns the pairs on the list, `listed` or one more. `None` if there are no places yet.
    #[inline]
    fn list(&mut self, listed: usize, group: u32, value: W) -> Option<usize> {
        let hash = pair_hash(group, value.hash());
        let is_known = self.open.lately.put(hash, group, value)?;
        (self.groups[listed], self.values[listed]) = (group, value);
        Some(listed + usize::from(!is_known))
    }

    #[cold]
    #[inline(never)]
    fn note_first(&mut self, group: u32, value: W) -> Result<(), StateError> {
        self.open.remember_more()?;
        self.note(group, value)
    }

    /// Keeps the pairs on the list, and makes places for as many.
    #[inline(never)]
    fn keep(&mut self) -> Result<(), StateError> {
        let List { members, values } = &mut *self.open.list;
        members.extend(&self.groups[..self.listed])?;
        values.extend(&self.values[..self.listed])?;
        self.listed = 0;
        match self.open.lately.is_small_for(members.len()) {
            true => Ok(self.open.remember_more()?),
            false => Ok(()),
        }
    }
}

/// Pairs of one list and one of its groups.
#[derive(Clone, Copy)]
struct Run {
    list: u32,
    group: u32,
}

impl Run {
    fn of<V>(self, lists: &[Sorted<'_, V>]) -> Range<usize> {
        lists[self.list as usize].1.places(self.group as usize)
    }
}

/// The values of a list, and which belong to a group.
type Sorted<'a, V> = (&'a V, ByGroup<'a>);

/// Items that are found by group.
struct ByGroup<'a> {
    /// The item at each place, unless items lie by group.
    items: Option<Vec<u32>>,
    /// The first place of each group.
    starts: Cow<'a, [u32]>,
    _reservation: Reservation,
}

impl<V> List<V> {
    fn by_group(&self, pool: Option<&Arc<MemoryPool>>) -> Result<Sorted<'_, V>, MemoryExceeded> {
        Ok((&self.values, ByGroup::new(&self.members, pool)?))
    }
}

impl<'a> ByGroup<'a> {
    fn new(members: &'a Members, pool: Option<&Arc<MemoryPool>>) -> Result<Self, MemoryExceeded> {
        let mut reservation = Reservation::of(pool.cloned());
        let (items, starts) = match members.starts() {
            Some(starts) => (None, Cow::Borrowed(starts)),
            None => {
                reservation.grow(members.by_group_bytes())?;
                let (items, starts) = members.by_group();
                (Some(items), Cow::Owned(starts))
            }
        };
        Ok(Self {
            items,
            starts,
            _reservation: reservation,
        })
    }

    fn places(&self, group: usize) -> Range<usize> {
        match self.starts.get(group..) {
            Some(&[start, end, ..]) => start as usize..end as usize,
            // No item was added since the group is there.
            _ => 0..0,
        }
    }

    #[inline]
    fn item(&self, place: usize) -> usize {
        match &self.items {
            Some(items) => items[place] as usize,
            None => place,
        }
    }
}

#[inline]
fn pair_hash(group: u32, hash: u64) -> u64 {
    hash ^ spread(u64::from(group))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    const GROUPS: u32 = 6;

    type Words = Pairs<ItemValues<u64>>;

    fn pairs(rows: &[(u32, u64)], is_arranged: bool) -> Words {
        let mut pairs = Words::new(None);
        pairs.resize(GROUPS as usize);
        note(&mut pairs, rows.iter().copied());
        if is_arranged {
            // Group `GROUPS - 1 - g` is group `g` before.
            let order: Vec<u32> = (0..GROUPS).rev().collect();
            pairs.arrange(&order).unwrap();
        }
        pairs
    }

    /// A third of the rows one by one.
    fn note(pairs: &mut Words, mut rows: impl ExactSizeIterator<Item = (u32, u64)>) {
        let mut new = pairs.new_pairs();
        let third = rows.len() / 3;
        rows.by_ref()
            .take(third)
            .for_each(|(group, value)| new.note(group, value).unwrap());
        new.note_all(rows).unwrap();
        new.finish().unwrap();
    }

    fn merged(groups: usize, from: &[(&Words, Vec<u32>)]) -> Words {
        let mut merged = Words::new(None);
        merged.resize(groups);
        for (from, map) in from {
            // Runs of groups come one after the other.
            let (first, second) = map.split_at(map.len() / 3);
            merged.merge(from, 0, first).unwrap();
            merged.merge(from, first.len(), second).unwrap();
        }
        merged
    }

    fn counts(pairs: &Words) -> Vec<i64> {
        let mut counts = vec![0; pairs.groups()];
        pairs.count(&mut counts).unwrap();
        counts
    }

    proptest! {
        #[test]
        fn groups_of_groups_count_each_value_once_whether_lists_lie_by_group_or_not(
            slots in proptest::collection::vec(
                (proptest::collection::vec((0..GROUPS, 0u64..40), 0..200), any::<bool>()),
                1..4,
            ),
            own in proptest::collection::vec((0..GROUPS, 0u64..40), 0..50),
            is_fine_arranged: bool,
        ) {
            let states: Vec<Words> = slots.iter().map(|(rows, by_group)| pairs(rows, *by_group)).collect();
            let map = |is_arranged: bool| -> Vec<u32> {
                match is_arranged {
                    true => (0..GROUPS).rev().collect(),
                    false => (0..GROUPS).collect(),
                }
            };
            let from: Vec<_> = states.iter().zip(&slots).map(|(state, slot)| (state, map(slot.1))).collect();
            let mut fine = merged(GROUPS as usize, &from);
            // Rows that passed a slot by.
            note(&mut fine, own.iter().copied());
            if is_fine_arranged {
                fine.arrange(&(0..GROUPS).rev().collect::<Vec<u32>>()).unwrap();
            }
            let fine_groups = map(is_fine_arranged);
            let coarse = merged(2, &[(&fine, fine_groups.iter().map(|group| group % 2).collect())]);
            let rows = || slots.iter().flat_map(|(rows, _)| rows).chain(&own);
            let distinct = |group_of: &dyn Fn(u32) -> u32, group: u32| {
                let of_group = rows().filter(|(fine, _)| group_of(*fine) == group);
                of_group.map(|(_, value)| value).collect::<HashSet<_>>().len() as i64
            };
            let of_fine: Vec<i64> = fine_groups.iter().map(|&group| distinct(&|fine| fine, group)).collect();
            let of_coarse: Vec<i64> = (0..2).map(|group| distinct(&|fine| fine % 2, group)).collect();
            prop_assert_eq!(counts(&fine), of_fine);
            prop_assert_eq!(counts(&coarse), of_coarse);
        }
    }

    #[test]
    fn a_pair_that_comes_again_and_again_is_kept_once() {
        let rows: Vec<(u32, u64)> = (0..3_000).map(|row| (row % 3, 0)).collect();
        assert_eq!(pairs(&rows, false).kept(0, 3), 3);
        let mut texts = Pairs::<LongValues>::new(None);
        texts.resize(3);
        let mut open = texts.open();
        for (group, _) in rows {
            // Hashes may agree where values differ.
            open.note(group, (b"a text", 7)).unwrap();
            open.note(group, (if group == 2 { b"a text" } else { b"a word" }, 7))
                .unwrap();
        }
        let mut counts = [0; 3];
        texts.count(&mut counts).unwrap();
        assert_eq!(counts, [2, 2, 1]);
    }

    #[test]
    fn groups_with_one_value_each_have_it_where_they_meet_among_the_late_pairs() {
        let mut pairs = Words::new(None);
        pairs.resize(40_000);
        note(&mut pairs, (0..40_000).map(|group| (group, 0)));
        assert_eq!(counts(&pairs), vec![1; 40_000]);
    }

    #[test]
    fn counting_reserves_its_table_and_fails_without_room() {
        let rows: Vec<(u32, u64)> = (0..5_000).map(|value| (0, value)).collect();
        let free = pairs(&rows, true);
        let pool = Arc::new(MemoryPool::new("test", 20_000));
        let mut merged = Pairs::new(Some(&pool));
        merged.resize(1);
        merged.merge(&free, GROUPS as usize - 1, &[0]).unwrap();
        let used = pool.used();
        assert!(matches!(merged.count(&mut [0]), Err(StateError::Memory(_))));
        assert_eq!(pool.used(), used);
    }
}
