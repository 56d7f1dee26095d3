//! The groups of a GROUP BY: which group each row belongs to, groups numbered in the order in which they were met.
//!
//! ```text
//!   key columns ─► word  ─► table of words ──┐
//!              └─► bytes ─► table of bytes ──┴─► number of the group
//! ```
//!
//! A short key is packed into one word, which is all that is kept of it until the output. A key that has no word, because a text is too long or
//! there are too many columns, is arrow's row encoding: a byte string, equal for equal keys, NULLs included. Whether a key has a word depends on
//! the key alone, so no key is in both tables, and groups of two slots are compared word by word and byte string by byte string.
//!
//! Both kinds are hashed with fixed seeds, so that a key has one partition in all slots: see [`crate::sharding`].

use std::fmt;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::interleave;
use arrow::error::ArrowError;
use arrow::row::Rows;
use hashbrown::hash_table::Entry;

use super::encoding::{KeyEncoding, RowKeys};
use super::lanes::count_all;
use super::packed::{Numbers, Packing};
use super::partitions::{KeyPartitions, partition_rows};
use super::window::Window;
use crate::charged::{ChargedRows, ChargedTable, ChargedVec};
use crate::footprint::encoded_bytes;
use crate::quota::{Charge, Quota, QuotaExceeded};
use crate::sharding::{StableHasher, hash_word, inner};
use crate::sort::take_rows;

/// The group of each row of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GroupIds<'a> {
    /// All rows are of group 0.
    Single {
        /// The number of rows.
        rows: usize,
    },
    /// One group number per row.
    PerRow {
        /// The groups.
        groups: &'a [u32],
        /// The number of rows of each group, where groups are few enough to go through all of them.
        counts: Option<&'a [u32]>,
    },
}

impl GroupIds<'_> {
    /// Calls `visit(group, row)` for each row that is not NULL, in row order.
    #[inline]
    pub(super) fn for_each(self, nulls: Option<&NullBuffer>, mut visit: impl FnMut(usize, usize)) {
        match (self, nulls.filter(|nulls| nulls.null_count() > 0)) {
            (Self::Single { rows }, None) => (0..rows).for_each(|row| visit(0, row)),
            (Self::Single { .. }, Some(nulls)) => nulls.valid_indices().for_each(|row| visit(0, row)),
            (Self::PerRow { groups, .. }, None) => {
                groups
                    .iter()
                    .enumerate()
                    .for_each(|(row, &group)| visit(group as usize, row));
            }
            (Self::PerRow { groups, .. }, Some(nulls)) => {
                nulls
                    .valid_indices()
                    .for_each(|row| visit(groups[row] as usize, row));
            }
        }
    }
}

/// The distinct keys seen so far.
pub(crate) struct GroupKeys {
    encoding: Arc<KeyEncoding>,
    quota: Option<Arc<Quota>>,
    /// Of each group where it was first met.
    firsts: ChargedVec<u64>,
    /// Of each group its word, 0 for those without. Empty if no key has a word.
    words: ChargedVec<u128>,
    /// Groups by their word.
    packed: ChargedTable,
    /// Groups by their number, where the key is one.
    window: Window,
    encoded: EncodedKeys,
    /// Of the rows that were looked up last: their groups, and how many there are of each.
    groups: ChargedVec<u32>,
    counts: ChargedVec<u32>,
}

/// Keys without a word, numbered among themselves.
struct EncodedKeys {
    rows: ChargedRows,
    hashes: ChargedVec<u64>,
    table: ChargedTable,
    /// Of each its group.
    groups: ChargedVec<u32>,
}

impl GroupKeys {
    /// No groups; what they will take is charged to `quota`. Keys of two of these can be merged only if they share the encoding.
    pub(crate) fn new(encoding: Arc<KeyEncoding>, quota: Option<&Arc<Quota>>) -> Self {
        Self {
            encoded: EncodedKeys {
                rows: ChargedRows::new(encoding.converter.empty_rows(0, 0), quota),
                hashes: ChargedVec::new(quota),
                table: ChargedTable::new(quota),
                groups: ChargedVec::new(quota),
            },
            encoding,
            quota: quota.cloned(),
            firsts: ChargedVec::new(quota),
            words: ChargedVec::new(quota),
            packed: ChargedTable::new(quota),
            window: Window::new(quota),
            groups: ChargedVec::new(quota),
            counts: ChargedVec::new(quota),
        }
    }

    /// Makes room for so many groups in all.
    pub(crate) fn reserve(&mut self, groups: usize) -> Result<(), QuotaExceeded> {
        if !self.encoding.has_words() {
            return Ok(());
        }
        let words = &self.words;
        self.packed
            .reserve(groups, |group| inner(hash_word(words[group as usize])))?;
        let more = groups.saturating_sub(self.firsts.len());
        self.words.reserve(more)?;
        self.firsts.reserve(more)
    }

    /// The number of groups.
    pub(crate) fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Of each group where it was first met, as the caller of [`assign`](Self::assign) said it.
    pub(crate) fn into_firsts(self) -> ChargedVec<u64> {
        self.firsts
    }

    /// The word of a group, if it has one.
    pub(crate) fn word(&self, group: u32) -> Option<u128> {
        let has_one = self.encoding.has_words() && !self.encoded.groups.contains(&group);
        has_one.then(|| self.words[group as usize])
    }

    /// Looks up the rows of `columns`, whose floats are canonical and whose keys are `keys`. Keys not seen before become groups,
    /// first met at `position` of their row.
    pub(crate) fn assign(
        &mut self,
        columns: &[ArrayRef],
        keys: &RowKeys,
        position: impl Fn(usize) -> u64,
    ) -> Result<(), ArrowError> {
        if keys.long.is_empty() {
            self.assign_words(&keys.words, position)?;
            return Ok(());
        }
        let is_all = keys.words.is_empty() || keys.words.len() == keys.long.len();
        let mut charge = Charge::of(self.quota.clone());
        let rows = if is_all {
            charge.grow(encoded_bytes(columns))?;
            self.encoding.converter.convert_columns(columns)?
        } else {
            let long = take_rows(columns, &UInt32Array::from(keys.long.clone()))?;
            charge.grow(encoded_bytes(&long))?;
            self.encoding.converter.convert_columns(&long)?
        };
        self.groups.clear();
        self.groups.reserve(keys.words.len().max(keys.long.len()))?;
        let mut next = 0;
        for (at, &long) in keys.long.iter().enumerate() {
            let long = long as usize;
            for row in next..long {
                let group = self.group_of_word(keys.words[row], || position(row))?;
                self.groups.push(group)?;
            }
            let key = rows.row(at);
            let group = self.group_of_bytes(&rows, at, hash_bytes(key.data()), position(long))?;
            self.groups.push(group)?;
            next = long + 1;
        }
        for row in next..keys.words.len() {
            let group = self.group_of_word(keys.words[row], || position(row))?;
            self.groups.push(group)?;
        }
        Ok(())
    }

    /// Looks up the rows of `columns` by their numbers, if the key is a number, no row is NULL, and the numbers are close to one another. If it
    /// is not done, [`assign`](Self::assign) does it.
    pub(crate) fn assign_numbers(
        &mut self,
        columns: &[ArrayRef],
        position: impl Fn(usize) -> u64,
    ) -> Result<bool, QuotaExceeded> {
        if self.window.is_off() {
            return Ok(false);
        }
        let numbers = self
            .encoding
            .packing
            .as_ref()
            .and_then(|packing| packing.numbers(columns));
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
    ) -> Result<bool, QuotaExceeded> {
        self.groups.clear();
        self.groups.resize(numbers.len(), 0)?;
        let mut row = 0;
        loop {
            row += self.window.find(&numbers[row..], &mut self.groups[row..]);
            let Some(&number) = numbers.get(row) else {
                return Ok(true);
            };
            let number = number.into();
            if !self.window.has_room(number) && !self.window.cover(numbers)? {
                // What was looked up has its groups in the table as well.
                return Ok(false);
            }
            let group = self.group_of_word(Packing::word_of_number(number), || position(row))?;
            self.window.learn(number, group);
        }
    }

    /// Looks up rows that all have words.
    pub(crate) fn assign_words(
        &mut self,
        words: &[u128],
        position: impl Fn(usize) -> u64,
    ) -> Result<(), QuotaExceeded> {
        self.groups.clear();
        self.groups.reserve(words.len())?;
        if !come_in_runs(words) {
            for (row, &word) in words.iter().enumerate() {
                let group = self.group_of_word(word, || position(row))?;
                self.groups.push(group)?;
            }
            return Ok(());
        }
        let mut last = None;
        for (row, &word) in words.iter().enumerate() {
            let group = match last {
                Some((known, group)) if known == word => group,
                _ => self.group_of_word(word, || position(row))?,
            };
            last = Some((word, group));
            self.groups.push(group)?;
        }
        Ok(())
    }

    /// Looks up the groups at `places` of `from`. What is in both was first met at the lesser of both places.
    pub(crate) fn merge(&mut self, from: &KeyPartitions, places: Range<usize>) -> Result<(), QuotaExceeded> {
        self.groups.clear();
        self.groups.reserve(places.len())?;
        for place in places {
            let first = from.firsts[place];
            let group = match from.encoded_at(place) {
                Some(at) => self.group_of_bytes(&from.encoded, at, from.hashes[at], first)?,
                None => self.group_of_word(from.words[place], || first)?,
            };
            let known = &mut self.firsts[group as usize];
            *known = first.min(*known);
            self.groups.push(group)?;
        }
        Ok(())
    }

    /// The groups of what was looked up last.
    pub(crate) fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// The groups of what was looked up last, with their counts if that is worth it.
    pub(crate) fn ids(&mut self) -> Result<GroupIds<'_>, QuotaExceeded> {
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

    /// About what [`columns`](Self::columns) take, and making them.
    pub(crate) fn column_bytes(&self) -> usize {
        let words = self.encoding.packing.as_ref().map_or(0, Packing::row_bytes);
        let words = words.saturating_mul(self.words.len());
        match self.encoded.groups.len() {
            0 => words,
            // Keys of both kinds are columns of their own before they are put together.
            _ if words > 0 => (words + self.encoded.rows.size())
                .saturating_mul(2)
                .saturating_add(self.len() * size_of::<(usize, usize)>()),
            _ => self.encoded.rows.size(),
        }
    }

    /// The key columns, one value per group.
    pub(crate) fn columns(&self) -> Result<Vec<ArrayRef>, ArrowError> {
        let encoded = || self.encoding.converter.convert_rows(self.encoded.rows.iter());
        let Some(packing) = &self.encoding.packing else {
            return encoded();
        };
        let packed = packing.unpack(&self.words)?;
        if self.encoded.groups.is_empty() {
            return Ok(packed);
        }
        let mut places: Vec<(usize, usize)> = (0..self.len()).map(|group| (0, group)).collect();
        for (at, &group) in self.encoded.groups.iter().enumerate() {
            places[group as usize] = (1, at);
        }
        let column = |(packed, encoded): (&ArrayRef, &ArrayRef)| {
            let parts: [&dyn Array; 2] = [packed.as_ref(), encoded.as_ref()];
            interleave(&parts, &places)
        };
        packed.iter().zip(&encoded()?).map(column).collect()
    }

    /// The groups by partitions, and which group is at each place then.
    pub(crate) fn into_partitions(self) -> Result<(KeyPartitions, ChargedVec<u32>), QuotaExceeded> {
        let Self {
            encoding,
            quota,
            firsts,
            words,
            packed,
            window,
            encoded,
            groups,
            counts,
        } = self;
        // No more rows will come.
        drop((packed, window, encoded.table, groups, counts));
        let quota = quota.as_ref();
        let len = firsts.len();
        let mut hashes = if encoding.has_words() {
            ChargedVec::collect(quota, words.iter().map(|&word| encoding.partition_hash(word)))?
        } else {
            ChargedVec::collect(quota, std::iter::repeat_n(0, len))?
        };
        let mut encoded_at = ChargedVec::new(quota);
        if !encoded.groups.is_empty() {
            encoded_at.resize(len, u32::MAX)?;
        }
        for (at, &group) in encoded.groups.iter().enumerate() {
            hashes[group as usize] = encoded.hashes[at];
            encoded_at[group as usize] = at as u32;
        }
        let (order, starts) = partition_rows(&hashes, quota)?;
        drop(hashes);
        let mut keys = KeyPartitions {
            words,
            firsts,
            starts,
            encoded_at,
            encoded: encoded.rows,
            hashes: encoded.hashes,
        };
        if !keys.words.is_empty() {
            keys.words.arrange(&order)?;
        }
        keys.firsts.arrange(&order)?;
        if !keys.encoded_at.is_empty() {
            keys.encoded_at.arrange(&order)?;
        }
        Ok((keys, order))
    }

    #[inline]
    fn group_of_word(&mut self, word: u128, position: impl FnOnce() -> u64) -> Result<u32, QuotaExceeded> {
        let words = &self.words;
        let entry = self.packed.entry(
            inner(hash_word(word)),
            |group| words[group as usize] == word,
            |group| inner(hash_word(words[group as usize])),
        )?;
        match entry {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(place) => {
                let group = next_group(&self.firsts);
                self.words.push(word)?;
                self.firsts.push(position())?;
                place.insert(group);
                Ok(group)
            }
        }
    }

    fn group_of_bytes(
        &mut self,
        rows: &Rows,
        row: usize,
        hash: u64,
        position: u64,
    ) -> Result<u32, QuotaExceeded> {
        let key = rows.row(row);
        let EncodedKeys {
            rows: known,
            hashes,
            table,
            groups,
        } = &mut self.encoded;
        let is_key = |at: u32| known.row(at as usize).data() == key.data();
        if let Some(at) = table.find(inner(hash), is_key) {
            return Ok(groups[at as usize]);
        }
        let group = next_group(&self.firsts);
        let at = hashes.len() as u32;
        known.push(key)?;
        hashes.push(hash)?;
        groups.push(group)?;
        table.insert(inner(hash), at, |at| inner(hashes[at as usize]))?;
        self.firsts.push(position)?;
        if self.encoding.has_words() {
            self.words.push(0)?;
        }
        Ok(group)
    }
}

/// Whether rows of one key come one after another, by a look at the first ones. Where they do not, to compare neighbours is a branch that nobody
/// can predict.
fn come_in_runs(words: &[u128]) -> bool {
    let sample = &words[..words.len().min(64)];
    let repeats = sample.windows(2).filter(|pair| pair[0] == pair[1]).count();
    2 * repeats > sample.len()
}

fn next_group(firsts: &[u64]) -> u32 {
    u32::try_from(firsts.len()).expect("fewer than 2^32 groups")
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = StableHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

impl fmt::Debug for GroupKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupKeys")
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

    fn assign(groups: &mut GroupKeys, columns: &[ArrayRef]) -> Vec<u32> {
        let columns: Vec<ArrayRef> = columns.iter().map(canonical_floats).collect();
        let mut keys = RowKeys::default();
        groups.encoding.read(&columns, columns[0].len(), &mut keys);
        groups.assign(&columns, &keys, |row| row as u64).unwrap();
        groups.groups().to_vec()
    }

    #[test]
    fn groups_are_numbered_by_their_first_row_and_null_is_one_of_them() {
        let encoding = keys(&[DataType::Int32, DataType::Utf8]);
        let mut groups = GroupKeys::new(encoding, None);
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None, Some(7), None, Some(7)]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![
            Some("a"),
            None,
            Some("b"),
            None,
            Some("a"),
        ]));
        assert_eq!(assign(&mut groups, &[numbers, texts]), [0, 1, 2, 1, 0]);
        let columns = groups.columns().unwrap();
        assert_eq!(
            columns[0].as_primitive::<Int32Type>(),
            &Int32Array::from(vec![Some(7), None, Some(7)])
        );
    }

    #[test]
    fn merging_finds_the_keys_that_are_there_and_the_least_place_where_each_came_first() {
        let encoding = keys(&[DataType::Int32]);
        let at = |keys: [i32; 3], base: u64| {
            let mut groups = GroupKeys::new(encoding.clone(), None);
            let columns: [ArrayRef; 1] = [Arc::new(Int32Array::from(keys.to_vec()))];
            let mut words = RowKeys::default();
            encoding.read(&columns, 3, &mut words);
            groups.assign(&columns, &words, |row| base + row as u64).unwrap();
            groups
        };
        let mut first = at([1, 2, 5], 100);
        for (keys, base) in [([3, 2, 4], 200), ([4, 6, 1], 50)] {
            let (more, order) = at(keys, base).into_partitions().unwrap();
            first.merge(&more, 0..3).unwrap();
            for (&group, &was) in first.groups().iter().zip(order.iter()) {
                let word = Packing::word_of_number(keys[was as usize] as u64);
                assert_eq!(first.word(group), Some(word));
            }
        }
        // The keys 1, 2, 5, then 3 and 4 in the order of their partitions, then 6.
        assert_eq!(first.len(), 6);
        let mut firsts = first.into_firsts().to_vec();
        assert_eq!(firsts[..3], [52, 101, 102]);
        firsts[3..].sort_unstable();
        assert_eq!(firsts[3..], [50, 51, 200]);
    }

    #[test]
    fn both_zeros_are_one_group_and_so_are_all_nans() {
        let encoding = keys(&[DataType::Float64]);
        let mut groups = GroupKeys::new(encoding, None);
        let values: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN]));
        assert_eq!(assign(&mut groups, &[values]), [0, 0, 1, 1]);
    }

    #[test]
    fn a_key_is_one_group_whether_its_chunk_was_packed_or_not() {
        let mut groups = GroupKeys::new(keys(&[DataType::Utf8]), None);
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
