//! The encoding of a query's keys, and their partitions.

use arrow::array::ArrayRef;
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use crate::encoding::{FixedWidthLayout, Numbers, RowEncoder};
use crate::partition::{hash_bytes, hash_fixed_key, partition_of};

#[derive(Debug)]
pub(crate) struct KeyEncoding {
    /// For keys that have no fixed width.
    pub(crate) encoder: RowEncoder,
    pub(crate) layout: Option<FixedWidthLayout>,
    /// `None` if all columns decide the partition.
    shard_key: Option<ShardColumns>,
}

/// The columns that decide a key's partition, whether or not the whole key has a fixed width.
#[derive(Debug)]
pub(crate) struct ShardColumns {
    places: Vec<usize>,
    encoder: RowEncoder,
    /// Of a fixed-width key.
    mask: u128,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RowKeys {
    /// One per row, meaningless for a row of `long`. Empty if no row has one.
    pub(crate) fixed_keys: Vec<u128>,
    /// The rows without a fixed-width key, ascending.
    pub(crate) long: Vec<u32>,
}

impl RowKeys {
    pub(crate) fn rows(&self) -> usize {
        self.fixed_keys.len().max(self.long.len())
    }
}

impl KeyEncoding {
    /// Fails if values of a type cannot be told apart.
    pub(crate) fn new(types: &[DataType]) -> Result<Self, ArrowError> {
        Ok(Self {
            encoder: RowEncoder::new(types.iter())?,
            layout: FixedWidthLayout::new(types),
            shard_key: None,
        })
    }

    /// `types` are those of all columns.
    pub(crate) fn with_partitions_by(
        mut self,
        places: &[usize],
        types: &[DataType],
    ) -> Result<Self, ArrowError> {
        let mask = self
            .layout
            .as_ref()
            .map_or(u128::MAX, |layout| layout.mask(places));
        self.shard_key = Some(ShardColumns {
            places: places.to_vec(),
            encoder: RowEncoder::new(places.iter().map(|&place| &types[place]))?,
            mask,
        });
        Ok(self)
    }

    /// The same for columns of other types.
    pub(super) fn for_types(&self, types: &[DataType]) -> Result<Self, ArrowError> {
        let encoding = Self::new(types)?;
        match &self.shard_key {
            Some(shard_key) => encoding.with_partitions_by(&shard_key.places, types),
            None => Ok(encoding),
        }
    }

    pub(crate) fn partition(&self, fixed_key: u128) -> u8 {
        let mask = self.shard_key.as_ref().map_or(u128::MAX, |columns| columns.mask);
        partition_of(hash_fixed_key(fixed_key & mask))
    }

    pub(crate) fn shard_key(&self) -> Option<&ShardColumns> {
        self.shard_key.as_ref()
    }

    /// Of keys without a fixed width.
    pub(crate) fn partitions_of<'k>(
        &self,
        shard_key: &ShardColumns,
        keys: impl ExactSizeIterator<Item = &'k [u8]> + Clone,
    ) -> Vec<u8> {
        let (ShardColumns { places, encoder, .. }, count) = (shard_key, keys.len());
        let columns = self.encoder.decode(keys);
        let columns = columns.expect("this encoder made the keys");
        let shard_columns: Vec<ArrayRef> = places.iter().map(|&place| columns[place].clone()).collect();
        let mut partitions = Vec::with_capacity(count);
        let encoded = encoder.for_batches(&shard_columns, None, None, |_first, batch| {
            partitions.extend(batch.iter().map(|row| partition_of(hash_bytes(row))));
            Ok(())
        });
        encoded.expect("values that were encoded before");
        // A value that fits its field is that of fixed-width keys too.
        if let Some(layout) = &self.layout {
            let (mut fixed_keys, mut long) = (Vec::new(), Vec::new());
            layout.pack(&columns, count, &mut fixed_keys, &mut long);
            let is_long = layout.are_long(places, &shard_columns, count);
            for (row, partition) in partitions
                .iter_mut()
                .enumerate()
                .filter(|(row, _)| !is_long[*row])
            {
                *partition = self.partition(fixed_keys[row]);
            }
        }
        partitions
    }

    pub(crate) fn has_fixed_keys(&self) -> bool {
        self.layout.is_some()
    }

    /// The keys of `columns` as numbers of 64 bits, if they are that.
    pub(super) fn numbers(&self, columns: &[ArrayRef]) -> Option<ScalarBuffer<u64>> {
        match self.layout.as_ref()?.numbers(columns)? {
            Numbers::Of64(numbers) => Some(numbers),
            _ => None,
        }
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};
    use proptest::prelude::*;

    use super::*;
    use crate::group_by::table::GroupTable;
    use crate::partition::PARTITIONS;

    const ROWS: usize = 60;

    fn texts() -> impl Strategy<Value = Vec<Option<String>>> {
        let text = prop_oneof!["[ab]{0,2}", "a name too long for a word [ab]{1,2}"];
        proptest::collection::vec(proptest::option::weighted(0.9, text), ROWS)
    }

    fn numbers() -> impl Strategy<Value = Vec<Option<i64>>> {
        let number = prop_oneof![0i64..3, Just(i64::MIN), Just(i64::MAX)];
        proptest::collection::vec(proptest::option::weighted(0.9, number), ROWS)
    }

    proptest! {
        /// Two wide numbers and texts have no room in a word, but most of their values have.
        #[test]
        fn keys_that_agree_in_the_shard_key_share_a_partition_in_whatever_form(
            of_texts in proptest::collection::vec(texts(), 1..3),
            of_numbers in proptest::collection::vec(numbers(), 2),
            shard_key in proptest::sample::subsequence(vec![0usize, 1, 2], 1..3),
        ) {
            let numbers = of_numbers.iter().map(|values| -> ArrayRef {
                Arc::new(values.iter().copied().collect::<Int64Array>())
            });
            let texts = of_texts.iter().map(|values| -> ArrayRef {
                Arc::new(values.iter().map(Option::as_deref).collect::<StringArray>())
            });
            let columns: Vec<ArrayRef> = numbers.chain(texts).collect();
            let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
            let encoding = KeyEncoding::new(&types).unwrap().with_partitions_by(&shard_key, &types);
            let encoding = Arc::new(encoding.unwrap());
            let mut keys = RowKeys::default();
            encoding.read(&columns, ROWS, &mut keys);
            let mut table = GroupTable::new(encoding, None);
            table.assign(&columns, &keys, |row| row as u64).unwrap();
            let (own, _order) = table.into_partitions().unwrap();
            let mut partition_of: HashMap<Vec<String>, usize> = HashMap::new();
            for partition in 0..PARTITIONS {
                for place in own.keys.places(&(partition..partition + 1)) {
                    let row = own.firsts[place] as usize;
                    let value = |&place: &usize| match place {
                        2 => format!("{:?}", of_texts[0][row]),
                        _ => format!("{:?}", of_numbers[place][row]),
                    };
                    let values: Vec<String> = shard_key.iter().map(value).collect();
                    let known = *partition_of.entry(values.clone()).or_insert(partition);
                    prop_assert_eq!(known, partition, "{:?}", values);
                }
            }
        }
    }
}
