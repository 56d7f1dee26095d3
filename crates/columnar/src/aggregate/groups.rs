//! The groups of a GROUP BY: which group each row belongs to, groups numbered in the order of their first row.
//!
//! Keys are arrow's row encoding, one byte string per row in which equal keys, NULLs included, have equal bytes; a hash
//! table maps it to the group's number. All slots of a query share one encoder, so groups of two slots are compared by
//! their bytes, with the hash that was computed once.
//!
//! Encoding every row would cost more than all the rest, so a short key is packed into one word first, and only a word
//! that was not met before is encoded: a few rows of each slot.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};
use hashbrown::DefaultHashBuilder;

use super::packed::Packing;
use crate::charged::{ChargedRows, ChargedTable, ChargedVec};
use crate::expr::canonical_floats;
use crate::quota::{Charge, Quota, QuotaExceeded};
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
        /// The number of rows of each group.
        counts: &'a [u32],
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

/// How the keys of one query are encoded; shared by its slots.
#[derive(Debug)]
pub(crate) struct KeyEncoding {
    converter: RowConverter,
    packing: Option<Packing>,
    hasher: DefaultHashBuilder,
}

impl KeyEncoding {
    /// For keys of these types.
    ///
    /// # Errors
    ///
    /// When values of a type cannot be told apart.
    pub(crate) fn new(types: &[DataType]) -> Result<Self, ArrowError> {
        let fields = types.iter().cloned().map(SortField::new).collect();
        let converter = RowConverter::new(fields)?;
        Ok(Self {
            converter,
            packing: Packing::new(types),
            hasher: DefaultHashBuilder::default(),
        })
    }
}

/// The distinct keys seen so far, in the order of their first row.
pub(crate) struct GroupKeys {
    encoding: Arc<KeyEncoding>,
    keys: ChargedRows,
    hashes: ChargedVec<u64>,
    table: ChargedTable,
    packed: PackedKeys,
    /// Memory that is kept from chunk to chunk.
    words: Vec<u128>,
    groups: Vec<u32>,
    counts: ChargedVec<u32>,
    /// For the words and the groups of a chunk's rows.
    chunk: Charge,
}

/// The groups of keys that were packed.
struct PackedKeys {
    table: ChargedTable,
    words: ChargedVec<u128>,
    /// For each word its group.
    groups: ChargedVec<u32>,
}

impl GroupKeys {
    /// No groups; what they will take is charged to `quota`. Keys of two of these can be merged only if they share the encoding.
    pub(crate) fn new(encoding: Arc<KeyEncoding>, quota: Option<&Arc<Quota>>) -> Self {
        Self {
            keys: ChargedRows::new(encoding.converter.empty_rows(0, 0), quota),
            encoding,
            hashes: ChargedVec::new(quota),
            table: ChargedTable::new(quota),
            packed: PackedKeys {
                table: ChargedTable::new(quota),
                words: ChargedVec::new(quota),
                groups: ChargedVec::new(quota),
            },
            words: Vec::new(),
            groups: Vec::new(),
            counts: ChargedVec::new(quota),
            chunk: Charge::of(quota.cloned()),
        }
    }

    /// The number of groups.
    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The group of each row of `columns`; keys not seen before become groups.
    pub(crate) fn assign(&mut self, columns: &[ArrayRef], rows: usize) -> Result<GroupIds<'_>, ArrowError> {
        let columns: Vec<ArrayRef> = columns.iter().map(canonical_floats).collect();
        let encoding = Arc::clone(&self.encoding);
        let chunk = rows * (size_of::<u128>() + size_of::<u32>());
        self.chunk.resize(chunk.max(self.chunk.bytes()))?;
        let is_packed = encoding
            .packing
            .as_ref()
            .is_some_and(|packing| packing.pack(&columns, rows, &mut self.words));
        if is_packed {
            self.assign_packed(&columns)?
        } else {
            self.assign_encoded(&columns)?
        }

        self.counts.clear();
        self.counts.resize(self.len(), 0)?;
        for &group in &self.groups {
            self.counts[group as usize] += 1;
        }
        Ok(GroupIds::PerRow {
            groups: &self.groups,
            counts: &self.counts,
        })
    }

    fn assign_encoded(&mut self, columns: &[ArrayRef]) -> Result<(), ArrowError> {
        let rows = self.encoding.converter.convert_columns(columns)?;
        self.groups.clear();
        for row in 0..rows.num_rows() {
            let hash = self.encoding.hasher.hash_one(rows.row(row).data());
            let group = self.group_of(&rows, row, hash)?;
            self.groups.push(group);
        }
        Ok(())
    }

    fn assign_packed(&mut self, columns: &[ArrayRef]) -> Result<(), ArrowError> {
        let known = self.packed.words.len();
        let mut first_rows = Vec::new();
        self.groups.clear();
        for (row, &word) in self.words.iter().enumerate() {
            let hash = self.encoding.hasher.hash_one(word);
            let words = &self.packed.words;
            let found = self.packed.table.find(hash, |at| words[at as usize] == word);
            self.groups.push(match found {
                Some(at) => at,
                None => {
                    let at = words.len() as u32;
                    self.packed.words.push(word)?;
                    let (words, hasher) = (&self.packed.words, &self.encoding.hasher);
                    self.packed
                        .table
                        .insert(hash, at, |at| hasher.hash_one(words[at as usize]))?;
                    first_rows.push(row as u32);
                    at
                }
            });
        }
        if known < self.packed.words.len() {
            let rows = take_rows(columns, &UInt32Array::from(first_rows))?;
            let rows = self.encoding.converter.convert_columns(&rows)?;
            for row in 0..rows.num_rows() {
                let hash = self.encoding.hasher.hash_one(rows.row(row).data());
                let group = self.group_of(&rows, row, hash)?;
                self.packed.groups.push(group)?;
            }
        }
        for group in &mut self.groups {
            *group = self.packed.groups[*group as usize];
        }
        Ok(())
    }

    /// Adds the groups of `other`; the result says for each which group it is here.
    pub(crate) fn merge(&mut self, other: &GroupKeys) -> Result<Vec<u32>, QuotaExceeded> {
        other
            .hashes
            .iter()
            .enumerate()
            .map(|(row, &hash)| self.group_of(&other.keys, row, hash))
            .collect()
    }

    /// Frees what only [`assign`](Self::assign) needs: no more rows will come.
    pub(crate) fn forget_rows(&mut self) {
        self.packed.table.free();
        self.packed.words.free();
        self.packed.groups.free();
        self.counts.free();
        (self.words, self.groups) = (Vec::new(), Vec::new());
        self.chunk.shrink(self.chunk.bytes());
    }

    /// The bytes of all keys, as they are encoded.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.size()
    }

    /// The key columns, one value per group.
    pub(crate) fn columns(&self) -> Result<Vec<ArrayRef>, ArrowError> {
        self.encoding.converter.convert_rows(self.keys.iter())
    }

    fn group_of(&mut self, rows: &Rows, row: usize, hash: u64) -> Result<u32, QuotaExceeded> {
        let key = rows.row(row);
        let keys = &self.keys;
        if let Some(group) = self
            .table
            .find(hash, |group| keys.row(group as usize).data() == key.data())
        {
            return Ok(group);
        }
        let group = u32::try_from(self.hashes.len()).expect("fewer than 2^32 groups");
        self.keys.push(key)?;
        self.hashes.push(hash)?;
        let hashes = &self.hashes;
        self.table.insert(hash, group, |group| hashes[group as usize])?;
        Ok(group)
    }
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
    use arrow::datatypes::Int32Type;

    use super::*;

    fn keys(types: &[DataType]) -> Arc<KeyEncoding> {
        Arc::new(KeyEncoding::new(types).unwrap())
    }

    fn assign(groups: &mut GroupKeys, columns: &[ArrayRef]) -> Vec<u32> {
        match groups.assign(columns, columns[0].len()).unwrap() {
            GroupIds::PerRow { groups, .. } => groups.to_vec(),
            GroupIds::Single { .. } => unreachable!("there are keys"),
        }
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
    fn merging_numbers_new_groups_after_the_old_ones() {
        let encoding = keys(&[DataType::Int32]);
        let mut first = GroupKeys::new(encoding.clone(), None);
        let mut second = GroupKeys::new(encoding, None);
        assign(&mut first, &[Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef]);
        assign(
            &mut second,
            &[Arc::new(Int32Array::from(vec![3, 2, 4])) as ArrayRef],
        );
        assert_eq!(first.merge(&second).unwrap(), [2, 1, 3]);
        assert_eq!(first.len(), 4);
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
