//! The encoding of a query's keys, and their partitions.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::fixed_width::FixedWidthLayout;
use crate::partition::hash_fixed_key;

#[derive(Debug)]
pub(crate) struct KeyEncoding {
    pub(crate) converter: RowConverter,
    pub(crate) layout: Option<FixedWidthLayout>,
    partition_mask: u128,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RowKeys {
    /// One per row, meaningless for a row of `long`. Empty if no row has one.
    pub(crate) fixed_keys: Vec<u128>,
    /// The rows without a fixed-width key, ascending.
    pub(crate) long: Vec<u32>,
}

impl KeyEncoding {
    /// Fails if values of a type cannot be told apart.
    pub(crate) fn new(types: &[DataType]) -> Result<Self, ArrowError> {
        let fields = types.iter().cloned().map(SortField::new).collect();
        let converter = RowConverter::new(fields)?;
        Ok(Self {
            converter,
            layout: FixedWidthLayout::new(types),
            partition_mask: u128::MAX,
        })
    }

    /// Keys without fixed width use all columns.
    pub(crate) fn with_partitions_by(mut self, places: &[usize]) -> Self {
        if let Some(layout) = &self.layout {
            self.partition_mask = layout.mask(places);
        }
        self
    }

    pub(crate) fn partition_hash(&self, fixed_key: u128) -> u64 {
        hash_fixed_key(fixed_key & self.partition_mask)
    }

    pub(crate) fn has_fixed_keys(&self) -> bool {
        self.layout.is_some()
    }

    /// Floats in `columns` must be canonical.
    pub(crate) fn read(&self, columns: &[ArrayRef], rows: usize, keys: &mut RowKeys) {
        match &self.layout {
            Some(layout) => layout.pack(columns, rows, &mut keys.fixed_keys, &mut keys.long),
            None => {
                keys.fixed_keys.clear();
                keys.long.clear();
                keys.long.extend(0..rows as u32);
            }
        }
    }
}
