//! How the keys of a query are encoded, and which bits of a key say its partition.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::packed::Packing;
use crate::sharding::hash_word;

/// How the keys of one query are encoded; shared by its slots.
#[derive(Debug)]
pub(crate) struct KeyEncoding {
    pub(super) converter: RowConverter,
    pub(super) packing: Option<Packing>,
    /// Which bits of a word say the partition.
    partition_mask: u128,
}

/// The keys of some rows: a word for each row that has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowKeys {
    /// By row; what stands for one without a word means nothing. Empty if no key has a word.
    pub(crate) words: Vec<u128>,
    /// The rows without a word, ascending.
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
            packing: Packing::new(types),
            partition_mask: u128::MAX,
        })
    }

    /// The same, with partitions by the key columns at `places` alone. A key without a word goes by all its columns.
    pub(crate) fn with_partitions_by(mut self, places: &[usize]) -> Self {
        if let Some(packing) = &self.packing {
            self.partition_mask = packing.mask(places);
        }
        self
    }

    /// The hash whose top bits are the partition of a word.
    pub(crate) fn partition_hash(&self, word: u128) -> u64 {
        hash_word(word & self.partition_mask)
    }

    /// Whether there are keys with a word.
    pub(crate) fn has_words(&self) -> bool {
        self.packing.is_some()
    }

    /// Packs the keys of `rows` rows, whose floats are canonical.
    pub(crate) fn read(&self, columns: &[ArrayRef], rows: usize, keys: &mut RowKeys) {
        match &self.packing {
            Some(packing) => packing.pack(columns, rows, &mut keys.words, &mut keys.long),
            None => {
                keys.words.clear();
                keys.long.clear();
                keys.long.extend(0..rows as u32);
            }
        }
    }
}
