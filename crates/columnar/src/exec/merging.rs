//! Merging the groups of all slots by ranges of partitions.
//!
//! Ranges have about equal work: groups, pass-through rows, and the values that states keep. The one
//! with the most work is the first, so that no worker is left alone with it. Slots that share no group
//! are not merged: each becomes a shard.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::{fmt, mem};

use pipeline_exec::{StepError, lock};

use super::compiled::CompiledScan;
use super::groups::{GroupPlan, Shard};
use super::ordering::Ordering;
use crate::group_by::{ExpectedGroups, SlotGroups, cut};
use crate::partition::PARTITIONS;

pub(super) struct Merging {
    /// `None` once all are merged.
    slots: Mutex<Option<Arc<[SlotGroups]>>>,
    parts: Vec<Part>,
    /// The parts by their work: that with the most comes first.
    order: Vec<usize>,
    shards: Mutex<Vec<Option<Arc<Shard>>>>,
    cut: Cut,
    expected: ExpectedGroups,
}

/// What is merged to a shard.
#[derive(Clone, Debug)]
struct Part {
    slots: Range<usize>,
    partitions: Range<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    /// Groups and pass-through rows of all slots.
    entries: usize,
    largest: usize,
    passing: usize,
    /// What a part is, for people.
    unit: &'static str,
}

impl Merging {
    /// Each slot has all rows of its groups.
    pub(super) fn of_slots(slots: Vec<SlotGroups>) -> Self {
        let all = 0..PARTITIONS;
        let entries = |slot: &SlotGroups| slot.entries(&all);
        let cut = Cut {
            entries: slots.iter().map(entries).sum(),
            largest: slots.iter().map(entries).max().unwrap_or(0),
            passing: 0,
            unit: "shards that share no group",
        };
        let part = |slot| Part {
            slots: slot..slot + 1,
            partitions: 0..PARTITIONS,
        };
        let parts = (0..slots.len()).map(part).collect();
        let work: Vec<usize> = slots.iter().map(|slot| entries(slot) + slot.kept(&all)).collect();
        let expected = ExpectedGroups::new(cut.largest);
        Self::of_parts(slots, parts, &work, cut, expected)
    }

    pub(super) fn new(slots: Vec<SlotGroups>) -> Self {
        let by_partition = |what: fn(&SlotGroups, &Range<usize>) -> usize| -> Vec<usize> {
            let in_partition = |at| slots.iter().map(|slot| what(slot, &(at..at + 1))).sum();
            match slots.first() {
                Some(slot) if slot.keys.is_some() => (0..PARTITIONS).map(in_partition).collect(),
                _ => Vec::new(),
            }
        };
        let (entries, kept) = (by_partition(SlotGroups::entries), by_partition(SlotGroups::kept));
        let work: Vec<usize> = entries
            .iter()
            .zip(kept)
            .map(|(entries, kept)| entries + kept)
            .collect();
        let pieces = slots.iter().map(|slot| slot.passing.len()).sum();
        let expected = ExpectedGroups::of(&slots, &entries);
        let ranges = cut(&work, pieces, expected.in_all());
        let of_range =
            |all: &[usize], range: &Range<usize>| all.get(range.clone()).map_or(1, |all| all.iter().sum());
        let passing = slots.iter().flat_map(|slot| &slot.passing);
        let cut = Cut {
            entries: entries.iter().sum(),
            largest: ranges
                .iter()
                .map(|range| of_range(&entries, range))
                .max()
                .unwrap_or(0),
            passing: passing.map(|rows| rows.rows.len()).sum(),
            unit: "ranges of partitions",
        };
        let part = |partitions| Part {
            slots: 0..slots.len(),
            partitions,
        };
        let work: Vec<usize> = ranges.iter().map(|range| of_range(&work, range)).collect();
        let parts = ranges.into_iter().map(part).collect();
        Self::of_parts(slots, parts, &work, cut, expected)
    }

    /// `work` is that of each part.
    fn of_parts(
        slots: Vec<SlotGroups>,
        parts: Vec<Part>,
        work: &[usize],
        cut: Cut,
        expected: ExpectedGroups,
    ) -> Self {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|part| Reverse(work[*part]));
        Self {
            order,
            slots: Mutex::new(Some(slots.into())),
            shards: Mutex::new(parts.iter().map(|_| None).collect()),
            parts,
            cut,
            expected,
        }
    }

    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Merges a part, by its place in the order of their work. A call that leaves off makes no shard.
    pub(super) fn run(
        &self,
        plan: &GroupPlan,
        at: usize,
        leave_off: &dyn Fn() -> bool,
    ) -> Result<(), StepError> {
        let part = self.order[at];
        if lock(&self.shards)[part].is_some() {
            return Ok(());
        }
        let slots = lock(&self.slots)
            .clone()
            .ok_or("the groups were given out before")?;
        let Part {
            slots: own,
            partitions,
        } = self.parts[part].clone();
        if let Some(shard) = plan.merge(&slots[own], &partitions, &self.expected, leave_off)? {
            let before = lock(&self.shards)[part].replace(Arc::new(shard));
            if before.is_some() {
                return Err("a shard was merged twice".into());
            }
        }
        Ok(())
    }

    /// Frees the slots' groups once all shards are made.
    pub(super) fn shards(&self) -> Option<Vec<Arc<Shard>>> {
        let shards: Option<Vec<Arc<Shard>>> = lock(&self.shards).iter().cloned().collect();
        if shards.is_some() {
            let slots = lock(&self.slots).take();
            drop(slots);
        }
        shards
    }

    pub(super) fn ordering(&self, plan: &CompiledScan) -> Result<Ordering, StepError> {
        let shards = self.shards().ok_or("a shard was not merged")?;
        let slots = plan.slots_of_firsts();
        Ok(Ordering::new(plan.groups(), shards, slots))
    }

    pub(super) fn free(&self) {
        let slots = lock(&self.slots).take();
        drop(slots);
        let shards = mem::replace(&mut *lock(&self.shards), vec![None; self.parts.len()]);
        drop(shards);
    }
}

impl fmt::Display for Merging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut {
            entries,
            largest,
            passing,
            unit,
        } = self.cut;
        let share = largest as f64 * 100.0 / entries.max(1) as f64;
        write!(
            f,
            "merge {entries} groups and rows of slots ({passing} rows were not grouped before) in {} {unit}, the largest with {share:.1} %",
            self.parts.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::ArrayRef;
    use arrow::datatypes::DataType;

    use super::*;
    use crate::aggregate::{AggregateState, GroupIds, StateError};
    use crate::memory::MemoryExceeded;

    /// A state of one group that keeps as many values.
    struct Keeps(usize);

    impl AggregateState for Keeps {
        fn is_exact(&self) -> bool {
            true
        }

        fn resize(&mut self, _groups: usize) -> Result<(), MemoryExceeded> {
            Ok(())
        }

        fn update(&mut self, _: Option<&ArrayRef>, _: GroupIds<'_>) -> Result<(), StateError> {
            Ok(())
        }

        fn arrange(&mut self, _order: &[u32]) -> Result<(), MemoryExceeded> {
            Ok(())
        }

        fn kept(&self, first: usize, groups: usize) -> usize {
            assert_eq!((first, groups), (0, 1));
            self.0
        }

        fn merge(&mut self, _: &dyn AggregateState, _: usize, _: &[u32]) -> Result<(), StateError> {
            Ok(())
        }

        fn finish(&self, _: &DataType) -> Result<ArrayRef, StateError> {
            unreachable!("only the order is asked for")
        }
    }

    #[test]
    fn the_part_whose_states_keep_the_most_values_is_merged_first() {
        let slot = |values| SlotGroups {
            keys: None,
            states: vec![Box::new(Keeps(values))],
            passing: Vec::new(),
        };
        let merging = Merging::of_slots([5, 900, 70, 900].map(slot).into());
        assert_eq!(merging.order, [1, 3, 2, 0]);
    }
}
