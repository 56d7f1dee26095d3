//! About how many groups a merge makes, from a few partitions of the keys.
//!
//! Hashes spread the distinct keys evenly over partitions, however often each comes. A table of
//! about the right size moves no group, and ranges of that many groups fit a core's cache.

use std::ops::Range;

use super::partitioned_keys::KeyAt;
use super::slot_groups::SlotGroups;
use super::table::GroupCount;
use crate::partition::{PARTITIONS, hash_fixed_key};

/// Keys that are compared, about.
const SAMPLE_KEYS: usize = 8_192;
/// Groups for each one that is added to an estimate: a table that is too small by one doubles.
const MARGIN_ONE_IN: usize = 32;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedGroups {
    per_partition: f64,
    /// Those of a partition whose keys have no fixed width. `None` if as of the entries.
    long: Option<f64>,
}

impl ExpectedGroups {
    /// `groups` in all, evenly over the partitions.
    pub(crate) fn new(groups: usize) -> Self {
        Self {
            per_partition: groups as f64 / PARTITIONS as f64,
            long: None,
        }
    }

    /// `entries` are the groups and rows of each partition, in all slots.
    pub(crate) fn of(slots: &[SlotGroups], entries: &[usize]) -> Self {
        if entries.iter().sum::<usize>() < SAMPLE_KEYS {
            let of_slot = |slot: &SlotGroups| slot.entries(&(0..PARTITIONS));
            return Self::new(slots.iter().map(of_slot).max().unwrap_or(0));
        }
        if let [slot] = slots
            && slot.passing.is_empty()
        {
            return Self::new(entries.iter().sum());
        }
        let (mut groups, mut long, mut keys, mut partitions) = (0, 0, 0, 0);
        let (mut fixed_hashes, mut long_hashes) = (Vec::new(), Vec::new());
        for at in 0..PARTITIONS as u32 {
            // Partitions are 8 bits; these lie far apart.
            let partition = (at as u8).reverse_bits() as usize;
            // Of a large partition, keys with the same last bits stand for all.
            let one_in = (entries[partition] / SAMPLE_KEYS).next_power_of_two();
            for keys in slots.iter().flat_map(SlotGroups::keys) {
                for key in keys.at(keys.places(&(partition..partition + 1))) {
                    let (hash, hashes) = match key {
                        KeyAt::Fixed(fixed_key) => (hash_fixed_key(fixed_key), &mut fixed_hashes),
                        KeyAt::Long(number) => (keys.long().all()[number].hash, &mut long_hashes),
                    };
                    if hash & (one_in as u64 - 1) == 0 {
                        hashes.push(hash);
                    }
                }
            }
            let of_long = one_in * take_distinct(&mut long_hashes);
            long += of_long;
            groups += of_long + one_in * take_distinct(&mut fixed_hashes);
            partitions += 1;
            keys += entries[partition];
            if keys >= SAMPLE_KEYS {
                break;
            }
        }
        let per_partition = |groups: usize| groups as f64 / f64::from(partitions);
        Self {
            per_partition: per_partition(groups),
            long: Some(per_partition(long)),
        }
    }

    /// All of them.
    pub(crate) fn in_all(&self) -> usize {
        (self.per_partition * PARTITIONS as f64) as usize
    }

    /// Those of a range with `entries`.
    pub(super) fn within(&self, partitions: &Range<usize>, entries: GroupCount) -> GroupCount {
        let of_range = |per_partition: f64| {
            let groups = (per_partition * partitions.len() as f64) as usize;
            groups + groups / MARGIN_ONE_IN
        };
        let all = of_range(self.per_partition).min(entries.all);
        let long = match self.long {
            Some(long) => of_range(long),
            None => (all as u128 * entries.long as u128).div_ceil(entries.all.max(1) as u128) as usize,
        };
        GroupCount {
            all,
            long: long.min(entries.long).min(all),
        }
    }
}

/// How many distinct ones there were.
fn take_distinct(hashes: &mut Vec<u64>) -> usize {
    hashes.sort_unstable();
    hashes.dedup();
    let distinct = hashes.len();
    hashes.clear();
    distinct
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use arrow::datatypes::DataType;

    use super::super::keys::{KeyEncoding, RowKeys};
    use super::super::table::GroupTable;
    use super::*;

    /// Two slots, each with the keys of `drawn`.
    fn slots(drawn: &[[u64; 2]]) -> Vec<SlotGroups> {
        let types = [DataType::Int64, DataType::Utf8];
        let encoding = Arc::new(KeyEncoding::new(&types).unwrap());
        let slot = |_| {
            let mut table = GroupTable::new(encoding.clone(), None);
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(
                drawn.iter().map(|key| key[0] as i64),
            ));
            let text = |key: &[u64; 2]| match key[1] {
                0 => String::new(),
                other => format!("a text that is too long {other}"),
            };
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(drawn.iter().map(text)));
            let columns = [numbers, texts];
            let mut keys = RowKeys::default();
            encoding.read(&columns, drawn.len(), &mut keys);
            table.assign(&columns, &keys, |row| row as u64).unwrap();
            let (keys, _order) = table.into_partitions().unwrap();
            SlotGroups {
                keys: Some(keys),
                states: Vec::new(),
                passing: Vec::new(),
            }
        };
        (0..2).map(slot).collect()
    }

    fn groups(all: usize, long: usize) -> GroupCount {
        GroupCount { all, long }
    }

    fn expected(drawn: &[[u64; 2]]) -> ExpectedGroups {
        let slots = slots(drawn);
        let in_partition = |partition| {
            slots
                .iter()
                .map(|slot| slot.entries(&(partition..partition + 1)))
                .sum()
        };
        let entries: Vec<usize> = (0..PARTITIONS).map(in_partition).collect();
        ExpectedGroups::of(&slots, &entries)
    }

    #[test]
    fn groups_of_all_slots_are_foreseen_within_a_tenth_whatever_the_form_of_their_keys() {
        // Of the most keys, only those with the same last bits are looked at.
        for (keys, long_one_in) in [(10_000, 3), (60_000, 3), (2_200_000, u64::MAX)] {
            let is_long = |at: u64| u64::from(at % long_one_in == 1);
            let drawn: Vec<[u64; 2]> = (0..keys).map(|at| [at, is_long(at)]).collect();
            let expected = expected(&drawn);
            let found = expected.in_all() as u64;
            assert!(
                found * 10 > keys * 9 && found * 10 < keys * 11,
                "{found} for {keys}"
            );
            let long = drawn.iter().map(|key| key[1]).sum::<u64>();
            let found = expected
                .within(&(0..PARTITIONS), groups(usize::MAX, usize::MAX))
                .long as u64;
            // One key may be in no partition that is looked at.
            assert!(
                found.abs_diff(long) <= long / 10 + 1,
                "{found} for {long} long keys"
            );
        }
    }

    #[test]
    fn groups_of_one_slot_are_foreseen_exactly() {
        let drawn: Vec<[u64; 2]> = (0..10_000).map(|at| [at, at % 2]).collect();
        let mut slots = slots(&drawn);
        slots.truncate(1);
        let in_partition = |partition| slots[0].entries(&(partition..partition + 1));
        let entries: Vec<usize> = (0..PARTITIONS).map(in_partition).collect();
        assert_eq!(ExpectedGroups::of(&slots, &entries).in_all(), 10_000);
    }

    #[test]
    fn few_groups_are_as_many_as_a_slot_has_and_no_range_has_more_than_its_entries() {
        let few = expected(&[[1, 0], [2, 0], [1, 1]]);
        assert_eq!(few.in_all(), 3);
        assert_eq!(few.within(&(0..PARTITIONS), groups(2, 1)), groups(2, 1));
        let of_512 = ExpectedGroups::new(512);
        assert_eq!(of_512.within(&(0..64), groups(1_000, 500)), groups(132, 66));
    }
}
