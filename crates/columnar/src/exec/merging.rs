//! Merging the groups of all slots by ranges of partitions.
//!
//! Only the number of groups and pass-through rows decides the ranges. Slots that share no group
//! are not merged: each becomes a shard.

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
        let expected = ExpectedGroups::new(cut.largest);
        Self::of_parts(slots, parts, cut, expected)
    }

    pub(super) fn new(slots: Vec<SlotGroups>) -> Self {
        let entries: Vec<usize> = match slots.first() {
            Some(slot) if slot.keys.is_some() => (0..PARTITIONS)
                .map(|partition| entries_in(&slots, &(partition..partition + 1)))
                .collect(),
            _ => Vec::new(),
        };
        let pieces = slots.iter().map(|slot| slot.passing.len()).sum();
        let expected = ExpectedGroups::of(&slots, &entries);
        let ranges = cut(&entries, pieces, expected.in_all());
        let of_range = |range: &Range<usize>| entries.get(range.clone()).map_or(1, |all| all.iter().sum());
        let passing = slots.iter().flat_map(|slot| &slot.passing);
        let cut = Cut {
            entries: entries.iter().sum(),
            largest: ranges.iter().map(of_range).max().unwrap_or(0),
            passing: passing.map(|rows| rows.rows.len()).sum(),
            unit: "ranges of partitions",
        };
        let part = |partitions| Part {
            slots: 0..slots.len(),
            partitions,
        };
        let parts = ranges.into_iter().map(part).collect();
        Self::of_parts(slots, parts, cut, expected)
    }

    fn of_parts(slots: Vec<SlotGroups>, parts: Vec<Part>, cut: Cut, expected: ExpectedGroups) -> Self {
        Self {
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

    /// A call that leaves off makes no shard.
    pub(super) fn run(
        &self,
        plan: &GroupPlan,
        part: usize,
        leave_off: &dyn Fn() -> bool,
    ) -> Result<(), StepError> {
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

fn entries_in(slots: &[SlotGroups], partitions: &Range<usize>) -> usize {
    slots.iter().map(|slot| slot.entries(partitions)).sum()
}
