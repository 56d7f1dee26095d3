//! Merging the groups of all slots by ranges of partitions.
//!
//! Only the number of groups and pass-through rows decides the ranges.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::{fmt, mem};

use pipeline_exec::{StepError, lock};

use super::compiled::CompiledScan;
use super::groups::{GroupPlan, Shard};
use super::ordering::Ordering;
use crate::group_by::{SlotGroups, cut};
use crate::partition::PARTITIONS;

pub(super) struct Merging {
    /// `None` once all are merged.
    slots: Mutex<Option<Arc<[SlotGroups]>>>,
    ranges: Vec<Range<usize>>,
    shards: Mutex<Vec<Option<Arc<Shard>>>>,
    cut: Cut,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    /// Groups and pass-through rows of all slots.
    entries: usize,
    largest: usize,
    passing: usize,
}

impl Merging {
    pub(super) fn new(slots: Vec<SlotGroups>, expected_groups: Option<usize>) -> Self {
        let entries: Vec<usize> = match slots.first() {
            Some(slot) if slot.keys.is_some() => (0..PARTITIONS)
                .map(|partition| entries_in(&slots, &(partition..partition + 1)))
                .collect(),
            _ => Vec::new(),
        };
        let pieces = slots.iter().map(|slot| slot.passing.len()).sum();
        let ranges = cut(&entries, pieces, expected_groups);
        let of_range = |range: &Range<usize>| entries.get(range.clone()).map_or(1, |all| all.iter().sum());
        let passing = slots.iter().flat_map(|slot| &slot.passing);
        Self {
            cut: Cut {
                entries: entries.iter().sum(),
                largest: ranges.iter().map(of_range).max().unwrap_or(0),
                passing: passing.map(|rows| rows.rows.len()).sum(),
            },
            slots: Mutex::new(Some(slots.into())),
            shards: Mutex::new(ranges.iter().map(|_| None).collect()),
            ranges,
        }
    }

    pub(super) fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// A call that leaves off makes no shard.
    pub(super) fn run(
        &self,
        plan: &GroupPlan,
        range: usize,
        leave_off: &dyn Fn() -> bool,
    ) -> Result<(), StepError> {
        if lock(&self.shards)[range].is_some() {
            return Ok(());
        }
        let slots = lock(&self.slots)
            .clone()
            .ok_or("the groups were given out before")?;
        if let Some(shard) = plan.merge(&slots, &self.ranges[range], leave_off)? {
            let before = lock(&self.shards)[range].replace(Arc::new(shard));
            if before.is_some() {
                return Err("a range of partitions was merged twice".into());
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
        let shards = self.shards().ok_or("a range of partitions was not merged")?;
        Ok(Ordering::new(plan.groups(), shards, plan.slots.len()))
    }

    pub(super) fn free(&self) {
        let slots = lock(&self.slots).take();
        drop(slots);
        let shards = mem::replace(&mut *lock(&self.shards), vec![None; self.ranges.len()]);
        drop(shards);
    }
}

impl fmt::Display for Merging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut {
            entries,
            largest,
            passing,
        } = self.cut;
        let share = largest as f64 * 100.0 / entries.max(1) as f64;
        write!(
            f,
            "merge {entries} groups and rows of slots ({passing} rows were not grouped before) in {} ranges of partitions, the largest with {share:.1} %",
            self.ranges.len()
        )
    }
}

fn entries_in(slots: &[SlotGroups], partitions: &Range<usize>) -> usize {
    slots.iter().map(|slot| slot.entries(partitions)).sum()
}
