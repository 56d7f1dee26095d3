//! Merging the groups of all slots, range of partitions by range of partitions.
//!
//! How many ranges there are is decided when the scan is over, from the number of groups and loose rows alone. Few are one range, which one worker merges
//! as fast as several would: nothing is gained where a range has less than its start costs. Many are cut into 2^4 to 2^8 ranges of about equal
//! work. Partitions that have more than their share, because of a skew that slots could not take out, are ranges of their own.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use pipeline_exec::StepError;

use super::collect::SlotGroups;
use super::groups::{GroupPlan, Shard};
use crate::aggregate::PARTITIONS;
use crate::lock::lock;

/// What one range is to merge: about what its tables and states leave in a core's cache.
const ENTRIES_PER_RANGE: usize = 8_192;
/// From this number of entries on there is more than one range.
const ENTRIES_OF_MANY: usize = 2 * ENTRIES_PER_RANGE;
/// The fewest ranges, where there is more than one.
const RANGES_MIN: usize = 16;

/// The slots' groups, and the shards that are made of them.
pub(super) struct Merging {
    /// Until all of them are merged.
    slots: Mutex<Option<Arc<[SlotGroups]>>>,
    ranges: Vec<Range<usize>>,
    shards: Mutex<Vec<Option<Arc<Shard>>>>,
    cut: Cut,
}

/// How the work was cut, for people.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    /// Groups and loose rows of all slots.
    entries: usize,
    /// Those of the largest range.
    largest: usize,
    /// Loose rows among them.
    loose: usize,
}

impl Merging {
    /// Of what the slots have left, in their order.
    pub(super) fn new(slots: Vec<SlotGroups>) -> Self {
        let entries: Vec<usize> = match slots.first() {
            Some(slot) if slot.keys.is_some() => (0..PARTITIONS)
                .map(|partition| entries_in(&slots, &(partition..partition + 1)))
                .collect(),
            _ => Vec::new(),
        };
        let ranges = cut(&entries);
        let of_range = |range: &Range<usize>| entries.get(range.clone()).map_or(1, |all| all.iter().sum());
        let loose = slots.iter().flat_map(|slot| &slot.loose);
        Self {
            cut: Cut {
                entries: entries.iter().sum(),
                largest: ranges.iter().map(of_range).max().unwrap_or(0),
                loose: loose.map(|rows| rows.rows.len()).sum(),
            },
            slots: Mutex::new(Some(slots.into())),
            shards: Mutex::new(ranges.iter().map(|_| None).collect()),
            ranges,
        }
    }

    /// The number of ranges.
    pub(super) fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// Merges a range, unless that was done. It leaves off when it is told to; then the shard is still to be made.
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

    /// The shards, if all are there. What they were made of is freed.
    pub(super) fn shards(&self) -> Option<Vec<Arc<Shard>>> {
        let shards: Option<Vec<Arc<Shard>>> = lock(&self.shards).iter().cloned().collect();
        if shards.is_some() {
            drop(lock(&self.slots).take());
        }
        shards
    }

    /// Frees all that is there: the result is made, or nobody wants it.
    pub(super) fn free(&self) {
        drop(lock(&self.slots).take());
        lock(&self.shards).fill(None);
    }
}

/// A line for people.
impl fmt::Display for Merging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut {
            entries,
            largest,
            loose,
        } = self.cut;
        let share = largest as f64 * 100.0 / entries.max(1) as f64;
        write!(
            f,
            "merge {entries} groups and rows of slots ({loose} rows were not grouped before) in {} ranges of partitions, the largest with {share:.1} %",
            self.ranges.len()
        )
    }
}

fn entries_in(slots: &[SlotGroups], partitions: &Range<usize>) -> usize {
    slots.iter().map(|slot| slot.entries(partitions)).sum()
}

/// Ranges of partitions with about equal work: of each partition its entries. Without partitions there is one range, of nothing.
fn cut(entries: &[usize]) -> Vec<Range<usize>> {
    let all: usize = entries.iter().sum();
    if all < ENTRIES_OF_MANY {
        return std::iter::once(0..entries.len()).collect();
    }
    let ranges = (all / ENTRIES_PER_RANGE)
        .next_power_of_two()
        .clamp(RANGES_MIN, PARTITIONS);
    let share = all.div_ceil(ranges);
    let mut cut = Vec::with_capacity(ranges);
    let (mut start, mut sum) = (0, 0);
    for (partition, &more) in entries.iter().enumerate() {
        // Whichever side of its share it comes nearer to.
        if start < partition && (sum + more).saturating_sub(share) > share.saturating_sub(sum) {
            cut.push(start..partition);
            (start, sum) = (partition, 0);
        }
        sum += more;
    }
    cut.push(start..entries.len());
    cut
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_groups_are_one_range_and_many_are_16_to_256() {
        let one = |range| std::iter::once(range).collect::<Vec<Range<usize>>>();
        assert_eq!(cut(&[]), one(0..0));
        assert_eq!(cut(&[10; PARTITIONS]), one(0..PARTITIONS));
        assert_eq!(cut(&[100; PARTITIONS]).len(), 16);
        assert_eq!(cut(&[4_000; PARTITIONS]).len(), 128);
        assert_eq!(cut(&[100_000; PARTITIONS]).len(), PARTITIONS);
    }

    #[test]
    fn a_partition_with_more_than_its_share_is_alone() {
        let mut entries = [100; PARTITIONS];
        entries[77] = 1_000_000;
        assert!(cut(&entries).contains(&(77..78)), "{:?}", cut(&entries));
    }

    proptest! {
        #[test]
        fn ranges_are_all_partitions_one_after_another(
            entries in proptest::collection::vec(0usize..10_000, PARTITIONS),
        ) {
            let ranges = cut(&entries);
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert_eq!(ranges[ranges.len() - 1].end, PARTITIONS);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(ranges.iter().all(|range| !range.is_empty()));
        }
    }
}
