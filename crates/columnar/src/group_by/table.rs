//! The groups of a GROUP BY, numbered in the order of their first rows.
//!
//! ```text
//!   key columns ─► fixed-width key ─► table of fixed-width keys ──┐
//!              └─► bytes           ─► table of bytes           ───┴─► number of the group
//! ```
//!
//! Hash seeds are fixed, so a key has one partition in all slots: [`crate::partition`].

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::interleave;
use arrow::error::ArrowError;
use hashbrown::hash_table::Entry;

use super::direct_address::DirectAddressTable;
use super::fixed_keys::{FixedKey, FixedKeys};
use super::keys::{Key, KeyEncoding, RowKeys};
use super::long_keys::LongKeys;
use super::partitioned_keys::{KeyAt, PartitionedKeys};
use super::slot_groups::SlotKeys;
use crate::aggregate::{GroupIds, count_all};
use crate::encoding::{EncodedRows, FixedWidthLayout, Numbers};
use crate::memory::{MemoryExceeded, MemoryPool, ReservedTable, ReservedVec};
use crate::partition::{hash_bytes, hash_fixed_key, inner};

pub(crate) struct GroupTable {
    encoding: Arc<KeyEncoding>,
    pool: Option<Arc<MemoryPool>>,
    firsts: ReservedVec<u64>,
    /// 0 for a group without a fixed-width key; none behind the last group with one.
    fixed_keys: ReservedVec<u128>,
    packed: ReservedTable,
    direct: DirectAddressTable,
    /// Their places are groups.
    long: LongKeys,
    /// The numbers of `long`.
    encoded: ReservedTable,
    /// The groups of the last lookup, and their row counts.
    groups: ReservedVec<u32>,
    counts: ReservedVec<u32>,
}

/// Groups, and how many of them have keys without a fixed width.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupCount {
    pub(super) all: usize,
    pub(super) long: usize,
}

impl GroupTable {
    /// Only tables of one encoding merge.
    pub(crate) fn new(encoding: Arc<KeyEncoding>, pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            encoding,
            pool: pool.cloned(),
            firsts: ReservedVec::new(pool),
            fixed_keys: ReservedVec::new(pool),
            packed: ReservedTable::new(pool),
            direct: DirectAddressTable::new(pool),
            long: LongKeys::new(pool),
            encoded: ReservedTable::new(pool),
            groups: ReservedVec::new(pool),
            counts: ReservedVec::new(pool),
        }
    }

    /// Makes room for `groups` in all, `long` of them without a fixed width.
    pub(crate) fn reserve(&mut self, groups: usize, long: usize) -> Result<(), MemoryExceeded> {
        let more = groups.saturating_sub(self.firsts.len());
        let hashes = self.long.hashes();
        self.encoded.reserve(long, |at| inner(hashes[at as usize]))?;
        self.long.reserve(long.saturating_sub(self.long.len()))?;
        if self.encoding.has_fixed_keys() {
            let fixed_keys = &self.fixed_keys;
            self.packed.reserve(groups - long, |group| {
                inner(hash_fixed_key(fixed_keys[group as usize]))
            })?;
            if long < groups {
                self.fixed_keys.reserve(more)?;
            }
        }
        self.firsts.reserve(more)
    }

    pub(crate) fn len(&self) -> usize {
        self.firsts.len()
    }

    pub(super) fn count(&self) -> GroupCount {
        GroupCount {
            all: self.len(),
            long: self.long.len(),
        }
    }

    pub(crate) fn into_firsts(self) -> ReservedVec<u64> {
        self.firsts
    }

    pub(crate) fn fixed_key(&self, group: u32) -> Option<u128> {
        match self.long_hash(group) {
            Some(_) => None,
            None => Some(self.fixed_keys[group as usize]),
        }
    }

    /// Whether most keys have no fixed width.
    pub(crate) fn is_mostly_long(&self) -> bool {
        2 * self.long.len() > self.len()
    }

    /// The hash of a key without a fixed width.
    pub(crate) fn long_hash(&self, group: u32) -> Option<u64> {
        let number = self.long.places().binary_search(&group).ok()?;
        Some(self.long.hashes()[number])
    }

    /// Floats in `columns` are canonical, and `keys` are theirs. A new key becomes a group at
    /// `position` of its row.
    pub(crate) fn assign(
        &mut self,
        columns: &[ArrayRef],
        keys: &RowKeys,
        position: impl Fn(usize) -> u64,
    ) -> Result<(), ArrowError> {
        if keys.long.is_empty() {
            self.assign_fixed_keys(&keys.fixed_keys, position)?;
            return Ok(());
        }
        self.groups.clear();
        self.groups.reserve(keys.rows())?;
        let (encoding, pool) = (Arc::clone(&self.encoding), self.pool.clone());
        encoding.for_each_key(columns, keys, pool.as_ref(), |row, key| {
            let group = match key {
                Key::Fixed(fixed_key) => self.group_of_fixed_key(fixed_key, || position(row))?,
                Key::Long(key) => {
                    self.group_of_bytes(key, hash_bytes(key), position(row), |rows| rows.push(key))?
                }
            };
            Ok(self.groups.push(group)?)
        })
    }

    /// Takes the groups of rows that were found otherwise.
    pub(crate) fn assign_known(
        &mut self,
        rows: usize,
        groups: impl Iterator<Item = u32>,
    ) -> Result<(), MemoryExceeded> {
        self.groups.clear();
        self.groups.reserve(rows)?;
        for group in groups {
            self.groups.push(group)?;
        }
        Ok(())
    }

    /// Looks up the rows of `columns` as numbers. Returns false if the key is no number, a row is
    /// NULL, or numbers are far apart; then use [`assign`](Self::assign).
    pub(crate) fn assign_numbers(
        &mut self,
        columns: &[ArrayRef],
        position: impl Fn(usize) -> u64,
    ) -> Result<bool, MemoryExceeded> {
        if self.direct.is_off() {
            return Ok(false);
        }
        let numbers = self
            .encoding
            .layout
            .as_ref()
            .and_then(|layout| layout.numbers(columns));
        match numbers {
            Some(Numbers::Of8(numbers)) => self.assign_each(&numbers, position),
            Some(Numbers::Of16(numbers)) => self.assign_each(&numbers, position),
            Some(Numbers::Of32(numbers)) => self.assign_each(&numbers, position),
            Some(Numbers::Of64(numbers)) => self.assign_each(&numbers, position),
            None => Ok(false),
        }
    }

    fn assign_each<N: Copy + Into<u64>>(
        &mut self,
        numbers: &[N],
        position: impl Fn(usize) -> u64,
    ) -> Result<bool, MemoryExceeded> {
        self.groups.clear();
        self.groups.resize(numbers.len(), 0)?;
        let mut row = 0;
        loop {
            row += self.direct.find(&numbers[row..], &mut self.groups[row..]);
            let Some(&number) = numbers.get(row) else {
                return Ok(true);
            };
            let number = number.into();
            if !self.direct.has_room(number) && !self.direct.cover(numbers)? {
                return Ok(false);
            }
            let group = self.group_of_fixed_key(number.into(), || position(row))?;
            self.direct.learn(number, group);
        }
    }

    fn assign_fixed_keys<K: FixedKey>(
        &mut self,
        fixed_keys: &[K],
        position: impl Fn(usize) -> u64,
    ) -> Result<(), MemoryExceeded> {
        self.groups.clear();
        self.groups.reserve(fixed_keys.len())?;
        if !come_in_runs(fixed_keys) {
            for (row, &fixed_key) in fixed_keys.iter().enumerate() {
                let group = self.group_of_fixed_key(fixed_key.into(), || position(row))?;
                self.groups.push(group)?;
            }
            return Ok(());
        }
        let mut last = None;
        for (row, &fixed_key) in fixed_keys.iter().enumerate() {
            let group = match last {
                Some((known, group)) if known == fixed_key => group,
                _ => self.group_of_fixed_key(fixed_key.into(), || position(row))?,
            };
            last = Some((fixed_key, group));
            self.groups.push(group)?;
        }
        Ok(())
    }

    /// A new key becomes a group at `position` of its place.
    pub(crate) fn merge(
        &mut self,
        from: &PartitionedKeys,
        places: Range<usize>,
        position: impl Fn(usize) -> u64,
    ) -> Result<(), MemoryExceeded> {
        let long = from.long();
        if long.within(&places).is_empty() {
            let start = places.start;
            return match from.fixed_keys() {
                FixedKeys::Narrow(keys) => self.assign_fixed_keys(&keys[places], |at| position(start + at)),
                FixedKeys::Wide(keys) => self.assign_fixed_keys(&keys[places], |at| position(start + at)),
            };
        }
        self.groups.clear();
        self.groups.reserve(places.len())?;
        let piece = self.long.share(long);
        for (place, key) in places.clone().zip(from.at(places)) {
            let group = match key {
                KeyAt::Fixed(fixed_key) => self.group_of_fixed_key(fixed_key, || position(place))?,
                KeyAt::Long(number) => {
                    let (key, hash) = (long.rows().row(number), long.hashes()[number]);
                    self.group_of_bytes(key, hash, position(place), |rows| {
                        rows.push_shared(piece, long.rows(), number)
                    })?
                }
            };
            self.groups.push(group)?;
        }
        Ok(())
    }

    /// The first position of each group is the least of its rows in the last lookup.
    pub(crate) fn note_firsts(&mut self, positions: &[u64]) {
        for (&group, &position) in self.groups.iter().zip(positions) {
            let known = &mut self.firsts[group as usize];
            *known = position.min(*known);
        }
    }

    /// Of the last lookup.
    pub(crate) fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// Of the last lookup, with counts if those pay off.
    pub(crate) fn ids(&mut self) -> Result<GroupIds<'_>, MemoryExceeded> {
        let is_worth_it = self.len() <= self.groups.len();
        if is_worth_it {
            self.counts.clear();
            self.counts.resize(self.firsts.len(), 0)?;
            count_all(&mut self.counts, &self.groups);
        }
        Ok(GroupIds::PerRow {
            groups: &self.groups,
            counts: is_worth_it.then_some(&*self.counts),
        })
    }

    /// About the bytes to make [`columns`](Self::columns), result included.
    pub(crate) fn column_bytes(&self, chosen: Option<&[u32]>) -> usize {
        let fixed_keys = self
            .encoding
            .layout
            .as_ref()
            .map_or(0, FixedWidthLayout::row_bytes);
        let groups = chosen.map_or(self.len(), <[u32]>::len);
        let fixed_keys = fixed_keys.saturating_mul(groups);
        let encoded = match chosen {
            Some(chosen) => self
                .encoded_of(chosen)
                .map(|(_, row)| row.len() + size_of::<&[u8]>())
                .sum(),
            None => self.long.size(),
        };
        match self.long.len() {
            0 => fixed_keys,
            // Each kind of key makes columns first.
            _ if fixed_keys > 0 => (fixed_keys + encoded)
                .saturating_mul(2)
                .saturating_add(groups * size_of::<(usize, usize)>()),
            _ => encoded,
        }
    }

    /// The key columns of all groups, or of `chosen` ones.
    pub(crate) fn columns(&self, chosen: Option<&[u32]>) -> Result<Vec<ArrayRef>, ArrowError> {
        let Some(chosen) = chosen else {
            let places = self.long.places().iter().map(|&group| group as usize);
            return self.columns_of(0..self.len(), places, self.long.rows().iter());
        };
        let groups = chosen.iter().map(|&group| group as usize);
        let (places, rows): (Vec<usize>, Vec<&[u8]>) = self.encoded_of(chosen).unzip();
        self.columns_of(groups, places.into_iter(), rows.iter().copied())
    }

    /// The keys without a fixed width, with their places among the chosen groups.
    fn encoded_of<'a>(&'a self, chosen: &'a [u32]) -> impl Iterator<Item = (usize, &'a [u8])> {
        chosen.iter().enumerate().filter_map(|(place, group)| {
            let number = self.long.places().binary_search(group).ok()?;
            Some((place, self.long.rows().row(number)))
        })
    }

    /// `encoded` are the places of the keys that `rows` are: all places if there are no fixed-width
    /// keys.
    fn columns_of<'a>(
        &self,
        groups: impl ExactSizeIterator<Item = usize> + Clone,
        encoded: impl ExactSizeIterator<Item = usize>,
        rows: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        let decoded = || self.encoding.encoder.decode(rows);
        let known = &*self.fixed_keys;
        let Some(layout) = self.encoding.layout.as_ref().filter(|_| !known.is_empty()) else {
            return decoded();
        };
        let fixed_key = |group: usize| known.get(group).copied().unwrap_or_default();
        let packed = layout.unpack(groups.clone().map(fixed_key))?;
        if encoded.len() == 0 {
            return Ok(packed);
        }
        let mut places: Vec<(usize, usize)> = (0..groups.len()).map(|place| (0, place)).collect();
        for (at, place) in encoded.enumerate() {
            places[place] = (1, at);
        }
        let column = |(packed, decoded): (&ArrayRef, &ArrayRef)| {
            let parts: [&dyn Array; 2] = [packed.as_ref(), decoded.as_ref()];
            interleave(&parts, &places)
        };
        packed.iter().zip(&decoded()?).map(column).collect()
    }

    /// The second list is the group at each place.
    pub(crate) fn into_partitions(self) -> Result<(SlotKeys, ReservedVec<u32>), MemoryExceeded> {
        let Self {
            encoding,
            pool,
            mut firsts,
            mut fixed_keys,
            packed,
            direct,
            long,
            encoded,
            groups,
            counts,
        } = self;
        drop((packed, direct, encoded, groups, counts));
        if !fixed_keys.is_empty() {
            fixed_keys.resize(firsts.len(), 0)?;
        }
        let hashes = fixed_keys.iter().map(|&key| encoding.partition_hash(key));
        let mut hashes = ReservedVec::collect(pool.as_ref(), hashes)?;
        hashes.resize(firsts.len(), 0)?;
        let (keys, order) = PartitionedKeys::new(&encoding, &fixed_keys, &mut hashes, long, pool.as_ref())?;
        drop(hashes);
        drop(fixed_keys);
        firsts.arrange(&order)?;
        Ok((SlotKeys { keys, firsts }, order))
    }

    #[inline]
    pub(super) fn group_of_fixed_key(
        &mut self,
        fixed_key: u128,
        position: impl FnOnce() -> u64,
    ) -> Result<u32, MemoryExceeded> {
        let fixed_keys = &self.fixed_keys;
        let entry = self.packed.entry(
            inner(hash_fixed_key(fixed_key)),
            |group| fixed_keys[group as usize] == fixed_key,
            |group| inner(hash_fixed_key(fixed_keys[group as usize])),
        )?;
        match entry {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(place) => {
                let group = next_group(&self.firsts);
                if self.fixed_keys.len() < group as usize {
                    self.fixed_keys.resize(group as usize, 0)?;
                }
                self.fixed_keys.push(fixed_key)?;
                self.firsts.push(position())?;
                place.insert(group);
                Ok(group)
            }
        }
    }

    /// `push` adds `key` to the encoded keys.
    fn group_of_bytes(
        &mut self,
        key: &[u8],
        hash: u64,
        position: u64,
        push: impl FnOnce(&mut EncodedRows) -> Result<(), MemoryExceeded>,
    ) -> Result<u32, MemoryExceeded> {
        let long = &self.long;
        let is_key = |at: u32| long.hashes()[at as usize] == hash && long.rows().row(at as usize) == key;
        if let Some(at) = self.encoded.find(inner(hash), is_key) {
            return Ok(long.places()[at as usize]);
        }
        let group = next_group(&self.firsts);
        let at = long.len() as u32;
        self.long.push(hash, group, push)?;
        let hashes = self.long.hashes();
        self.encoded
            .insert(inner(hash), at, |at| inner(hashes[at as usize]))?;
        self.firsts.push(position)?;
        Ok(group)
    }
}

/// Guesses from the first rows. Elsewhere, comparing neighbours is an unpredictable branch.
fn come_in_runs<K: Eq>(fixed_keys: &[K]) -> bool {
    let sample = &fixed_keys[..fixed_keys.len().min(64)];
    let repeats = sample.windows(2).filter(|pair| pair[0] == pair[1]).count();
    2 * repeats > sample.len()
}

fn next_group(firsts: &[u64]) -> u32 {
    u32::try_from(firsts.len()).expect("fewer than 2^32 groups")
}

impl fmt::Debug for GroupTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupTable")
            .field("groups", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Float64Array, Int32Array, StringArray};
    use arrow::datatypes::{DataType, Int32Type};

    use super::*;
    use crate::expr::canonical_floats;

    fn keys(types: &[DataType]) -> Arc<KeyEncoding> {
        Arc::new(KeyEncoding::new(types).unwrap())
    }

    fn assign(groups: &mut GroupTable, columns: &[ArrayRef]) -> Vec<u32> {
        let columns: Vec<ArrayRef> = columns.iter().map(canonical_floats).collect();
        let mut keys = RowKeys::default();
        groups.encoding.read(&columns, columns[0].len(), &mut keys);
        groups.assign(&columns, &keys, |row| row as u64).unwrap();
        groups.groups().to_vec()
    }

    #[test]
    fn groups_are_numbered_by_their_first_row_and_null_is_one_of_them() {
        let encoding = keys(&[DataType::Int32, DataType::Utf8]);
        let mut groups = GroupTable::new(encoding, None);
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None, Some(7), None, Some(7)]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![
            Some("a"),
            None,
            Some("b"),
            None,
            Some("a"),
        ]));
        assert_eq!(assign(&mut groups, &[numbers, texts]), [0, 1, 2, 1, 0]);
        let columns = groups.columns(None).unwrap();
        assert_eq!(
            columns[0].as_primitive::<Int32Type>(),
            &Int32Array::from(vec![Some(7), None, Some(7)])
        );
    }

    #[test]
    fn merging_finds_the_keys_that_are_there_and_the_least_place_where_each_came_first() {
        let encoding = keys(&[DataType::Int32]);
        let at = |keys: [i32; 3], base: u64| {
            let mut groups = GroupTable::new(encoding.clone(), None);
            let columns: [ArrayRef; 1] = [Arc::new(Int32Array::from(keys.to_vec()))];
            let mut fixed_keys = RowKeys::default();
            encoding.read(&columns, 3, &mut fixed_keys);
            groups
                .assign(&columns, &fixed_keys, |row| base + row as u64)
                .unwrap();
            groups
        };
        let mut first = at([1, 2, 5], 100);
        for (keys, base) in [([3, 2, 4], 200), ([4, 6, 1], 50)] {
            let (more, order) = at(keys, base).into_partitions().unwrap();
            first.merge(&more.keys, 0..3, |place| more.firsts[place]).unwrap();
            first.note_firsts(&more.firsts);
            for (&group, &was) in first.groups().iter().zip(order.iter()) {
                assert_eq!(first.fixed_key(group), Some(keys[was as usize] as u128));
            }
        }
        assert_eq!(first.len(), 6);
        let mut firsts = first.into_firsts().to_vec();
        assert_eq!(firsts[..3], [52, 101, 102]);
        firsts[3..].sort_unstable();
        assert_eq!(firsts[3..], [50, 51, 200]);
    }

    #[test]
    fn both_zeros_are_one_group_and_so_are_all_nans() {
        let encoding = keys(&[DataType::Float64]);
        let mut groups = GroupTable::new(encoding, None);
        let values: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN]));
        assert_eq!(assign(&mut groups, &[values]), [0, 0, 1, 1]);
    }

    #[test]
    fn a_key_is_one_group_whether_its_chunk_was_packed_or_not() {
        let mut groups = GroupTable::new(keys(&[DataType::Utf8]), None);
        let texts = |texts: &[Option<&str>]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        let long = "longer than any word";
        assert_eq!(
            assign(&mut groups, &[texts(&[Some("a"), None, Some("a")])]),
            [0, 1, 0]
        );
        assert_eq!(
            assign(&mut groups, &[texts(&[Some(long), Some("a"), Some("b"), None])]),
            [2, 0, 3, 1]
        );
        assert_eq!(
            assign(&mut groups, &[texts(&[Some("b"), Some("c"), Some("a")])]),
            [3, 4, 0]
        );
    }
}
