//! About how many groups a merge makes, from a few partitions of the keys.
//!
//! Hashes spread the distinct keys evenly over partitions, however often each comes. A table of
//! about the right size moves no group, and ranges of that many groups fit a core's cache.

use std::ops::Range;

use super::partitioned_keys::KeyAt;
use super::slot_groups::SlotGroups;
use crate::partition::{PARTITIONS, hash_fixed_key};

/// Keys that are compared, about.
const SAMPLE_KEYS: usize = 8_192;
/// Groups for each one that is added to an estimate: a table that is too small by one doubles.
const MARGIN_ONE_IN: usize = 32;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedGroups {
    per_partition: f64,
}

impl ExpectedGroups {
    /// `groups` in all, evenly over the partitions.
    pub(crate) fn new(groups: usize) -> Self {
        Self {
            per_partition: groups as f64 / PARTITIONS as f64,
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
        let (mut groups, mut keys, mut partitions) = (0, 0, 0);
        let mut distinct: Vec<u64> = Vec::new();
        for at in 0..PARTITIONS as u32 {
            // Partitions are 8 bits; these lie far apart.
            let partition = (at as u8).reverse_bits() as usize;
            // Of a large partition, keys with the same last bits stand for all.
            let one_in = (entries[partition] / SAMPLE_KEYS).next_power_of_two();
            distinct.clear();
            for keys in slots.iter().flat_map(SlotGroups::keys) {
                let places = keys.places(&(partition..partition + 1));
                let hashes = keys.at(places).map(|key| match key {
                    KeyAt::Fixed(fixed_key) => hash_fixed_key(fixed_key),
                    KeyAt::Long(number) => keys.long().hashes()[number],
                });
                distinct.extend(hashes.filter(|hash| hash & (one_in as u64 - 1) == 0));
            }
            distinct.sort_unstable();
            distinct.dedup();
            groups += distinct.len() * one_in;
            partitions += 1;
            keys += entries[partition];
            if keys >= SAMPLE_KEYS {
                break;
            }
        }
        Self {
            per_partition: groups as f64 / f64::from(partitions),
        }
    }

    /// All of them.
    pub(crate) fn in_all(&self) -> usize {
        (self.per_partition * PARTITIONS as f64) as usize
    }

    /// Those of a range with `entries`.
    pub(crate) fn within(&self, partitions: &Range<usize>, entries: usize) -> usize {
        let groups = (self.per_partition * partitions.len() as f64) as usize;
        (groups + groups / MARGIN_ONE_IN).min(entries)
    }
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
            let found = expected(&drawn).in_all() as u64;
            assert!(
                found * 10 > keys * 9 && found * 10 < keys * 11,
                "{found} for {keys}"
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
        assert_eq!(few.within(&(0..PARTITIONS), 2), 2);
        assert_eq!(ExpectedGroups::new(512).within(&(0..64), 1_000), 132);
    }
}
