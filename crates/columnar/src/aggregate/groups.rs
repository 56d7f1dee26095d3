//! The groups of a GROUP BY: which group each row belongs to, groups numbered in the order of their first row.
//!
//! Keys are arrow's row encoding, one byte string per row in which equal keys, NULLs included, have equal bytes; a hash
//! table maps it to the group's number. All slots of a query share one encoder, so groups of two slots are compared by
//! their bytes, with the hash that was computed once.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::expr::canonical_floats;

/// The group of each row of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GroupIds<'a> {
    /// All rows are of group 0.
    Single {
        /// The number of rows.
        rows: usize,
    },
    /// One group number per row.
    PerRow(&'a [u32]),
}

impl GroupIds<'_> {
    /// Calls `visit(group, row)` for each row that is not NULL, in row order.
    #[inline]
    pub(super) fn for_each(self, nulls: Option<&NullBuffer>, mut visit: impl FnMut(usize, usize)) {
        match (self, nulls.filter(|nulls| nulls.null_count() > 0)) {
            (Self::Single { rows }, None) => (0..rows).for_each(|row| visit(0, row)),
            (Self::Single { .. }, Some(nulls)) => nulls.valid_indices().for_each(|row| visit(0, row)),
            (Self::PerRow(groups), None) => {
                groups
                    .iter()
                    .enumerate()
                    .for_each(|(row, &group)| visit(group as usize, row));
            }
            (Self::PerRow(groups), Some(nulls)) => {
                nulls
                    .valid_indices()
                    .for_each(|row| visit(groups[row] as usize, row));
            }
        }
    }
}

/// The distinct keys seen so far, in the order of their first row.
pub(crate) struct GroupKeys {
    converter: Arc<RowConverter>,
    hasher: DefaultHashBuilder,
    keys: Rows,
    hashes: Vec<u64>,
    table: HashTable<u32>,
    /// Encodings of one chunk, kept for their memory.
    scratch: Rows,
}

impl GroupKeys {
    /// No groups. Keys of two of these can be merged only if they share `converter` and `hasher`.
    pub(crate) fn new(converter: Arc<RowConverter>, hasher: DefaultHashBuilder) -> Self {
        let keys = converter.empty_rows(0, 0);
        let scratch = converter.empty_rows(0, 0);
        Self {
            converter,
            hasher,
            keys,
            hashes: Vec::new(),
            table: HashTable::new(),
            scratch,
        }
    }

    /// The number of groups.
    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Writes the group of each row of `columns` to `groups`; keys not seen before become groups.
    pub(crate) fn assign(&mut self, columns: &[ArrayRef], groups: &mut Vec<u32>) -> Result<(), ArrowError> {
        let columns: Vec<ArrayRef> = columns.iter().map(canonical_floats).collect();
        let mut rows = std::mem::replace(&mut self.scratch, self.converter.empty_rows(0, 0));
        rows.clear();
        self.converter.append(&mut rows, &columns)?;
        groups.clear();
        groups.extend((0..rows.num_rows()).map(|row| {
            let hash = self.hasher.hash_one(rows.row(row).data());
            self.group_of(&rows, row, hash)
        }));
        self.scratch = rows;
        Ok(())
    }

    /// Adds the groups of `other`; the result says for each which group it is here.
    pub(crate) fn merge(&mut self, other: &GroupKeys) -> Vec<u32> {
        other
            .hashes
            .iter()
            .enumerate()
            .map(|(row, &hash)| self.group_of(&other.keys, row, hash))
            .collect()
    }

    /// The key columns, one value per group.
    pub(crate) fn columns(&self) -> Result<Vec<ArrayRef>, ArrowError> {
        self.converter.convert_rows(self.keys.iter())
    }

    fn group_of(&mut self, rows: &Rows, row: usize, hash: u64) -> u32 {
        let key = rows.row(row);
        let keys = &self.keys;
        if let Some(&group) = self
            .table
            .find(hash, |&group| keys.row(group as usize).data() == key.data())
        {
            return group;
        }
        let group = u32::try_from(self.hashes.len()).expect("fewer than 2^32 groups");
        self.keys.push(key);
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.table
            .insert_unique(hash, group, |&group| hashes[group as usize]);
        group
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
    use arrow::datatypes::{DataType, Int32Type};
    use arrow::row::SortField;

    use super::*;

    fn keys(types: &[DataType]) -> (Arc<RowConverter>, DefaultHashBuilder) {
        let fields = types.iter().cloned().map(SortField::new).collect();
        (
            Arc::new(RowConverter::new(fields).unwrap()),
            DefaultHashBuilder::default(),
        )
    }

    fn assign(groups: &mut GroupKeys, columns: &[ArrayRef]) -> Vec<u32> {
        let mut ids = Vec::new();
        groups.assign(columns, &mut ids).unwrap();
        ids
    }

    #[test]
    fn groups_are_numbered_by_their_first_row_and_null_is_one_of_them() {
        let (converter, hasher) = keys(&[DataType::Int32, DataType::Utf8]);
        let mut groups = GroupKeys::new(converter, hasher);
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
        let (converter, hasher) = keys(&[DataType::Int32]);
        let mut first = GroupKeys::new(converter.clone(), hasher.clone());
        let mut second = GroupKeys::new(converter, hasher);
        assign(&mut first, &[Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef]);
        assign(
            &mut second,
            &[Arc::new(Int32Array::from(vec![3, 2, 4])) as ArrayRef],
        );
        assert_eq!(first.merge(&second), [2, 1, 3]);
        assert_eq!(first.len(), 4);
    }

    #[test]
    fn both_zeros_are_one_group_and_so_are_all_nans() {
        let (converter, hasher) = keys(&[DataType::Float64]);
        let mut groups = GroupKeys::new(converter, hasher);
        let values: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN]));
        assert_eq!(assign(&mut groups, &[values]), [0, 0, 1, 1]);
    }
}
