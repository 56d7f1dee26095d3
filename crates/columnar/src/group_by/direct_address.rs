//! Groups of numbers close to one another, looked up without a hash.
//!
//! The group of a key is at index `key - base`. The table of all groups stands beside this table
//! and numbers new keys. Either can look up a row, and a slot with distant numbers uses only the
//! other, which has no hashes before that ([`super::fixed_key_table`]).

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// Numbers of a table at most. They take a core's second level of cache where keys come in no order,
/// and rows in the order of their keys read the end of it only.
const NUMBERS_MAX: usize = 1 << 18;
/// Numbers per row at most: a mostly empty table does not pay.
const NUMBERS_PER_ROW: usize = 4;

const UNKNOWN: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct DirectAddressTable {
    /// The bits of a signed number.
    base: u64,
    groups: ReservedVec<u32>,
    /// Rows that were looked up, and groups that are known.
    rows: usize,
    known: usize,
    is_off: bool,
}

impl DirectAddressTable {
    pub(crate) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            base: 0,
            groups: ReservedVec::new(pool),
            rows: 0,
            known: 0,
            is_off: false,
        }
    }

    /// Whether numbers were once too far apart.
    pub(crate) fn is_off(&self) -> bool {
        self.is_off
    }

    /// Counts the rows of a chunk.
    pub(crate) fn begin(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// How many groups it knows.
    pub(crate) fn len(&self) -> usize {
        self.known
    }

    /// Writes the groups of `numbers` to `found` up to the first unknown one; returns their count.
    pub(crate) fn find<N: Copy + Into<u64>>(&self, numbers: &[N], found: &mut [u32]) -> usize {
        let (base, groups) = (self.base, &*self.groups);
        for (row, (&number, found)) in numbers.iter().zip(found).enumerate() {
            match groups.get(number.into().wrapping_sub(base) as usize) {
                Some(&group) if group != UNKNOWN => *found = group,
                _ => return row,
            }
        }
        numbers.len()
    }

    /// Makes room for `number` and perhaps others of a chunk. Turns off if `numbers`, with earlier ones,
    /// are too far apart.
    pub(crate) fn cover<N: Copy + Into<u64>>(
        &mut self,
        number: u64,
        numbers: &[N],
    ) -> Result<bool, MemoryExceeded> {
        let longer = self.groups.len() + self.groups.len() / 2;
        let has_end = (self.base as i64).checked_add(longer as i64).is_some();
        if number.wrapping_sub(self.base) < longer as u64 && longer <= self.size_max() && has_end {
            // Numbers that ascend along a table: the others need not be looked at.
            self.groups.resize(longer, UNKNOWN)?;
            return Ok(true);
        }
        let signed = numbers.iter().map(|&number| number.into() as i64);
        let (mut least, mut most) = signed.fold((i64::MAX, i64::MIN), |(least, most), number| {
            (least.min(number), most.max(number))
        });
        let known = self.groups.len() as i64;
        if known > 0 {
            least = least.min(self.base as i64);
            most = most.max(self.base as i64 + (known - 1));
        }
        let size = most.abs_diff(least);
        if size >= self.size_max() as u64 && size >= known as u64 {
            self.is_off = true;
            self.groups.clear();
            return Ok(false);
        }
        let before = (self.base as i64).abs_diff(least) as usize;
        let before = if known > 0 { before } else { 0 };
        self.groups.resize(size as usize + 1, UNKNOWN)?;
        if before > 0 {
            self.groups.copy_within(0..known as usize, before);
            self.groups[..before].fill(UNKNOWN);
        }
        self.base = least as u64;
        Ok(true)
    }

    fn size_max(&self) -> usize {
        NUMBERS_MAX.min(NUMBERS_PER_ROW * self.rows)
    }

    /// The number must have room, and be unknown.
    pub(crate) fn learn(&mut self, number: u64, group: u32) {
        let place = number.wrapping_sub(self.base) as usize;
        self.groups[place] = group;
        self.known += 1;
    }

    pub(crate) fn has_room(&self, number: u64) -> bool {
        number.wrapping_sub(self.base) < self.groups.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(direct: &DirectAddressTable, number: i64) -> Option<u32> {
        let mut found = [0];
        (direct.find(&[number as u64], &mut found) == 1).then_some(found[0])
    }

    #[test]
    fn a_window_grows_to_both_sides_and_keeps_what_it_knows() {
        let mut direct = DirectAddressTable::new(None);
        direct.begin(4);
        assert_eq!(known(&direct, 0), None);
        assert!(direct.cover(5, &[5u64, 7, 6]).unwrap());
        direct.learn(5, 1);
        direct.learn(7, 2);
        let wider = [-3i64, 10, 0, 0].map(|number| number as u64);
        assert!(direct.cover(wider[0], &wider).unwrap());
        direct.learn(-3i64 as u64, 3);
        let found = [-3, 0, 5, 6, 7, 10].map(|number| known(&direct, number));
        assert_eq!(found, [Some(3), None, Some(1), None, Some(2), None]);
        assert!(direct.has_room(10) && !direct.has_room(11) && !direct.has_room(-4i64 as u64));
    }

    #[test]
    fn a_window_of_numbers_that_ascend_grows_by_half_without_a_look_at_them() {
        let mut direct = DirectAddressTable::new(None);
        direct.begin(100);
        assert!(direct.cover(7, &[7u64, 26]).unwrap());
        direct.learn(26, 3);
        let far_apart = [0, u64::MAX / 2];
        assert!(direct.cover(27, &far_apart).unwrap());
        assert!(direct.has_room(36) && !direct.has_room(37));
        assert_eq!((known(&direct, 26), known(&direct, 27)), (Some(3), None));
        assert!(!direct.cover(60, &far_apart).unwrap());
        // No number is behind the last one.
        let mut direct = DirectAddressTable::new(None);
        direct.begin(100);
        let last = [i64::MAX - 9, i64::MAX].map(|number| number as u64);
        assert!(direct.cover(last[0], &last[..1]).unwrap());
        assert!(direct.cover(last[1], &last).unwrap());
        assert!(direct.has_room(last[1]));
        assert!(!direct.cover(i64::MIN as u64, &[i64::MIN as u64]).unwrap());
    }

    #[test]
    fn numbers_too_far_apart_turn_it_off() {
        for numbers in [[i64::MIN, i64::MAX], [0, i64::MAX], [0, 8]] {
            let mut direct = DirectAddressTable::new(None);
            direct.begin(2);
            assert!(
                !direct
                    .cover(numbers[0] as u64, &numbers.map(|number| number as u64))
                    .unwrap()
            );
            assert!(direct.is_off());
            assert_eq!(known(&direct, 0), None);
        }
    }

    #[test]
    fn the_ends_of_the_range_have_windows() {
        for numbers in [[i64::MIN, i64::MIN + 3], [i64::MAX - 3, i64::MAX]] {
            let mut direct = DirectAddressTable::new(None);
            direct.begin(2);
            assert!(
                direct
                    .cover(numbers[0] as u64, &numbers.map(|number| number as u64))
                    .unwrap()
            );
            direct.learn(numbers[1] as u64, 9);
            assert_eq!(
                (known(&direct, numbers[1]), known(&direct, numbers[0])),
                (Some(9), None)
            );
        }
    }
}
