//! How the keys of a query are encoded, and which bits of a key say its partition.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::fixed_width::FixedWidthLayout;
use crate::partition::hash_fixed_key;

/// How the keys of one query are encoded; shared by its slots.
#[derive(Debug)]
pub(crate) struct KeyEncoding {
    pub(crate) converter: RowConverter,
    pub(crate) layout: Option<FixedWidthLayout>,
    /// Which bits of a fixed-width key say the partition.
    partition_mask: u128,
}

/// The keys of some rows: a fixed-width key for each row that has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowKeys {
    /// By row; what stands for one without a fixed-width key means nothing. Empty if no key has a
    /// fixed-width key.
    pub(crate) fixed_keys: Vec<u128>,
    /// The rows without a fixed-width key, ascending.
    pub(crate) long: Vec<u32>,
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
            layout: FixedWidthLayout::new(types),
            partition_mask: u128::MAX,
        })
    }

    /// The same, with partitions by the key columns at `places` alone. A key without a fixed-width
    /// key goes by all its columns.
    pub(crate) fn with_partitions_by(mut self, places: &[usize]) -> Self {
        if let Some(layout) = &self.layout {
            self.partition_mask = layout.mask(places);
        }
        self
    }

    /// The hash whose top bits are the partition of a fixed-width key.
    pub(crate) fn partition_hash(&self, fixed_key: u128) -> u64 {
        hash_fixed_key(fixed_key & self.partition_mask)
    }

    /// Whether there are keys with a fixed-width key.
    pub(crate) fn has_fixed_keys(&self) -> bool {
        self.layout.is_some()
    }

    /// Packs the keys of `rows` rows, whose floats are canonical.
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
