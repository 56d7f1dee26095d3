//! The groups of a GROUP BY, numbered as they come: of a chunk, those with fixed-width keys first.
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

use super::direct_address::DirectAddressTable;
use super::fixed_key_table::FixedKeyTable;
use super::fixed_keys::FixedKeys;
use super::keys::{KeyEncoding, RowKeys};
use super::long_key_table::LongKeyTable;
use super::partitioned_keys::{KeyAt, PartitionedKeys};
use super::slot_groups::SlotKeys;
use crate::aggregate::{GroupIds, count_all};
use crate::encoding::{BATCH_ROWS, FixedWidthLayout, Numbers};
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};
use crate::partition::hash_bytes;

pub(crate) struct GroupTable {
    encoding: Arc<KeyEncoding>,
    pool: Option<Arc<MemoryPool>>,
    firsts: ReservedVec<u64>,
    fixed_keys: FixedKeyTable,
    direct: DirectAddressTable,
    long: LongKeyTable,
    /// The groups of the last lookup, and their row counts.
    groups: ReservedVec<u32>,
    counts: ReservedVec<u32>,
}

/// Groups, and how many of them have keys without a fixed width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
            fixed_keys: FixedKeyTable::new(pool),
            direct: DirectAddressTable::new(pool),
            long: LongKeyTable::new(pool),
            groups: ReservedVec::new(pool),
            counts: ReservedVec::new(pool),
        }
    }

    /// Makes room for `groups` in all.
    pub(super) fn reserve(&mut self, groups: GroupCount) -> Result<(), MemoryExceeded> {
        let GroupCount { all, long } = groups;
        let more = all.saturating_sub(self.firsts.len());
        self.long.reserve(long)?;
        if self.encoding.has_fixed_keys() && long < all {
            self.fixed_keys.reserve(all - long, more)?;
        }
        self.firsts.reserve(more)
    }

    pub(crate) fn len(&self) -> usize {
        self.firsts.len()
    }

    pub(super) fn count(&self) -> GroupCount {
        GroupCount {
            all: self.len(),
            long: self.long.keys().len(),
        }
    }

    pub(crate) fn into_firsts(self) -> ReservedVec<u64> {
        self.firsts
    }

    pub(crate) fn fixed_key(&self, group: u32) -> Option<u128> {
        match self.long_hash(group) {
            Some(_) => None,
            None => Some(self.fixed_keys.keys().at(group as usize)),
        }
    }

    /// Whether most keys have no fixed width.
    pub(crate) fn is_mostly_long(&self) -> bool {
        2 * self.long.keys().len() > self.len()
    }

    /// The hash of a key without a fixed width.
    pub(crate) fn long_hash(&self, group: u32) -> Option<u64> {
        Some(self.long.keys().find(group)?.hash)
    }

    /// Floats in `columns` are canonical, and `keys` are theirs. A new key becomes a group at
    /// `position` of its row.
    pub(crate) fn assign(
        &mut self,
        columns: &[ArrayRef],
        keys: &RowKeys,
        position: impl Fn(usize) -> u64,
    ) -> Result<(), ArrowError> {
        let others = keys.long.iter().map(|&row| row as usize);
        self.groups.clear();
        self.groups.resize(keys.rows(), 0)?;
        self.fixed_keys.find(
            &keys.fixed_keys,
            others,
            &mut self.firsts,
            &position,
            &mut self.groups,
        )?;
        if keys.long.is_empty() {
            return Ok(());
        }
        let (encoding, pool) = (Arc::clone(&self.encoding), self.pool.clone());
        let rows = Some(&*keys.long);
        encoding
            .encoder
            .for_batches(columns, rows, pool.as_ref(), |first, batch| {
                let rows = &keys.long[first..];
                let mut hashes = [0; BATCH_ROWS];
                hashes
                    .iter_mut()
                    .zip(batch)
                    .for_each(|(hash, key)| *hash = hash_bytes(key));
                self.long.find(
                    |at| batch[at],
                    &hashes[..batch.len()],
                    |keys, at| {
                        let group = new_group(&mut self.firsts, position(rows[at] as usize))?;
                        keys.push(hashes[at], batch[at], group)?;
                        Ok(group)
                    },
                    |at, group| self.groups[rows[at] as usize] = group,
                )?;
                Ok(())
            })
    }

    /// Takes the groups of rows that were found otherwise.
    pub(crate) fn assign_known(
        &mut self,
        groups: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), MemoryExceeded> {
        self.groups.clear();
        self.groups.extend(groups)
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
        self.direct.begin(numbers.len());
        let mut row = 0;
        loop {
            row += self.direct.find(&numbers[row..], &mut self.groups[row..]);
            let Some(&number) = numbers.get(row) else {
                return Ok(true);
            };
            let number = number.into();
            if !self.direct.has_room(number) && !self.direct.cover(number, numbers)? {
                return Ok(false);
            }
            let firsts = &mut self.firsts;
            let group = match self.direct.len() == firsts.len() {
                true => self.fixed_keys.push(number.into(), firsts, position(row))?,
                // The other groups may include this one.
                false => self
                    .fixed_keys
                    .find_one(number.into(), firsts, || position(row))?,
            };
            self.direct.learn(number, group);
        }
    }

    /// Takes the keys at `places`, which are distinct, to a table without groups: none is looked up. Each
    /// becomes a group at `position` of its place.
    pub(crate) fn fill(
        &mut self,
        from: &PartitionedKeys,
        places: Range<usize>,
        position: impl Fn(usize) -> u64,
    ) -> Result<(), MemoryExceeded> {
        assert_eq!(self.len(), 0, "no group is there");
        let (long, start) = (from.long(), places.start);
        self.groups.clear();
        self.groups.resize(places.len(), 0)?;
        self.firsts.reserve(places.len())?;
        for (place, key) in places.clone().zip(from.at(places.clone())) {
            if let KeyAt::Fixed(key) = key {
                let group = self.fixed_keys.push(key, &mut self.firsts, position(place))?;
                self.groups[place - start] = group;
            }
        }
        let piece = self.long.share(long);
        for key in &long.all()[long.within(&places)] {
            let place = key.place as usize;
            let group = new_group(&mut self.firsts, position(place))?;
            self.long.push_shared(piece, key, group)?;
            self.groups[place - start] = group;
        }
        Ok(())
    }

    /// Looks up the keys at `places`. A new one becomes a group at `position` of its place.
    pub(crate) fn merge(
        &mut self,
        from: &PartitionedKeys,
        places: Range<usize>,
        position: impl Fn(usize) -> u64,
    ) -> Result<(), MemoryExceeded> {
        let (long, start) = (from.long(), places.start);
        let keys = &long.all()[long.within(&places)];
        let others = keys.iter().map(|key| key.place as usize - start);
        self.groups.clear();
        self.groups.resize(places.len(), 0)?;
        let (firsts, groups) = (&mut self.firsts, &mut *self.groups);
        let position_of = |at: usize| position(start + at);
        match from.fixed_keys() {
            // No key has a fixed width.
            FixedKeys::Narrow(fixed) if fixed.is_empty() => {}
            FixedKeys::Narrow(fixed) => {
                self.fixed_keys
                    .find(&fixed[places], others, firsts, position_of, groups)?;
            }
            FixedKeys::Wide(fixed) => {
                self.fixed_keys
                    .find(&fixed[places], others, firsts, position_of, groups)?;
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        let piece = self.long.share(long);
        for batch in keys.chunks(BATCH_ROWS) {
            let mut hashes = [0; BATCH_ROWS];
            hashes
                .iter_mut()
                .zip(batch)
                .for_each(|(hash, key)| *hash = key.hash);
            self.long.find(
                |at| long.bytes(&batch[at]),
                &hashes[..batch.len()],
                |keys, at| {
                    let key = &batch[at];
                    let group = new_group(&mut self.firsts, position(key.place as usize))?;
                    keys.push_shared(piece, key, group)?;
                    Ok(group)
                },
                |at, group| self.groups[batch[at].place as usize - start] = group,
            )?;
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
            None => self.long.keys().size(),
        };
        match self.long.keys().len() {
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
            let places = self.long.keys().all().iter().map(|key| key.place as usize);
            return self.columns_of(0..self.len(), places, self.long.keys().iter());
        };
        let groups = chosen.iter().map(|&group| group as usize);
        let (places, rows): (Vec<usize>, Vec<&[u8]>) = self.encoded_of(chosen).unzip();
        self.columns_of(groups, places.into_iter(), rows.iter().copied())
    }

    /// The keys without a fixed width, with their places among the chosen groups.
    fn encoded_of<'a>(&'a self, chosen: &'a [u32]) -> impl Iterator<Item = (usize, &'a [u8])> {
        chosen.iter().enumerate().filter_map(|(place, group)| {
            let keys = self.long.keys();
            Some((place, keys.bytes(keys.find(*group)?)))
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
        let known = self.fixed_keys.keys();
        let Some(layout) = self.encoding.layout.as_ref().filter(|_| known.len() > 0) else {
            return decoded();
        };
        let fixed_key = |group: usize| if group < known.len() { known.at(group) } else { 0 };
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
            fixed_keys,
            direct,
            long,
            groups,
            counts,
        } = self;
        drop((direct, groups, counts));
        let long = long.into_keys();
        let (pool, groups) = (pool.as_ref(), firsts.len());
        let (keys, order) = match fixed_keys.into_keys() {
            FixedKeys::Narrow(keys) => PartitionedKeys::of_groups(&encoding, keys, groups, long, pool)?,
            FixedKeys::Wide(keys) => PartitionedKeys::of_groups(&encoding, keys, groups, long, pool)?,
        };
        firsts.arrange(&order)?;
        Ok((SlotKeys { keys, firsts }, order))
    }

    #[inline]
    pub(super) fn group_of_fixed_key(
        &mut self,
        fixed_key: u128,
        position: impl FnOnce() -> u64,
    ) -> Result<u32, MemoryExceeded> {
        self.fixed_keys.find_one(fixed_key, &mut self.firsts, position)
    }
}

impl fmt::Debug for GroupTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupTable")
            .field("groups", &self.len())
            .finish_non_exhaustive()
    }
}

/// Makes the next of all groups, whose first positions are `firsts`.
fn new_group(firsts: &mut ReservedVec<u64>, position: u64) -> Result<u32, MemoryExceeded> {
    let group = u32::try_from(firsts.len()).expect("fewer than 2^32 groups");
    firsts.push(position)?;
    Ok(group)
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Float64Array, Int32Array, Int64Array, StringArray};
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
    fn groups_are_numbered_as_they_come_and_null_is_one_of_them() {
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
            let mut alone = GroupTable::new(encoding.clone(), None);
            alone.fill(&more.keys, 0..3, |place| more.firsts[place]).unwrap();
            for (&group, &was) in alone.groups().iter().zip(order.iter()) {
                assert_eq!(alone.fixed_key(group), Some(keys[was as usize] as u128));
            }
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
            [3, 0, 2, 1]
        );
        assert_eq!(
            assign(&mut groups, &[texts(&[Some("b"), Some("c"), Some("a")])]),
            [2, 4, 0]
        );
    }

    #[test]
    fn a_number_is_one_group_whether_its_place_or_its_hash_was_looked_up() {
        let mut groups = GroupTable::new(keys(&[DataType::Int64]), None);
        let mut assign_either = |numbers: &[Option<i64>]| {
            let columns: [ArrayRef; 1] = [Arc::new(Int64Array::from(numbers.to_vec()))];
            let is_direct = groups.assign_numbers(&columns, |row| row as u64).unwrap();
            let found = match is_direct {
                true => groups.groups().to_vec(),
                false => assign(&mut groups, &columns),
            };
            (is_direct, found)
        };
        assert_eq!(assign_either(&[Some(5), Some(6), Some(5)]), (true, vec![0, 1, 0]));
        assert_eq!(assign_either(&[None, Some(8), Some(5)]), (false, vec![2, 3, 0]));
        assert_eq!(assign_either(&[Some(8), Some(9), Some(6)]), (true, vec![3, 4, 1]));
        let far = 1 << 40;
        assert_eq!(assign_either(&[Some(9), Some(far), None]), (false, vec![4, 5, 2]));
        assert_eq!(
            assign_either(&[Some(5), Some(6), Some(far)]),
            (false, vec![0, 1, 5])
        );
        assert_eq!(groups.len(), 6);
        let columns = groups.columns(None).unwrap();
        let all = [Some(5), Some(6), None, Some(8), Some(9), Some(far)];
        assert_eq!(columns[0].as_primitive(), &Int64Array::from(all.to_vec()));
    }
}
