//! The rows of a chunk that are grouped now, because their keys are frequent, and all others.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::error::ArrowError;

use super::fixed_keys::FixedKey;
use super::heavy_hitters::HeavyHitters;
use super::keys::KeyEncoding;
use super::long_keys::LongKeys;
use crate::memory::MemoryPool;
use crate::partition::{hash_bytes, hash_fixed_key, partition_of};

/// Its memory stays from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct SplitRows {
    /// By row with a fixed-width key: its partition, and the only heavy hitter that its key can be.
    partitions: Vec<u8>,
    numbers: Vec<u8>,
    /// Rows of heavy hitters, as many as there are of them, and then what was written last.
    heavy: Vec<u32>,
    heavies: usize,
    /// The same for all other rows: those with a fixed-width key before those without.
    passing: Vec<u32>,
    others: usize,
    /// Rows of heavy hitters without a fixed-width key.
    heavy_long: Vec<u32>,
}

impl SplitRows {
    /// Splits the rows of a chunk. `fixed_keys` are those of `columns`, except where rows are `long`,
    /// and empty if all are. Returns the keys without a fixed width that pass, with their rows.
    pub(super) fn split<K: FixedKey>(
        &mut self,
        columns: &[ArrayRef],
        fixed_keys: &[K],
        long: &[u32],
        heavy: &HeavyHitters,
        encoding: &KeyEncoding,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<LongKeys, ArrowError> {
        let rows = fixed_keys.len().max(long.len());
        // What is there is written over.
        self.partitions.resize(rows, 0);
        self.numbers.resize(rows, 0);
        self.heavy.resize(rows, 0);
        self.passing.resize(rows, 0);
        (self.heavies, self.others) = (0, 0);
        self.heavy_long.clear();
        let mut next = 0;
        for &row in long.iter().filter(|_| !fixed_keys.is_empty()) {
            self.split_run(next..row as usize, fixed_keys, heavy, encoding);
            next = row as usize + 1;
        }
        self.split_run(next..fixed_keys.len(), fixed_keys, heavy, encoding);
        let mut passing = LongKeys::new(pool);
        if !long.is_empty() {
            encoding
                .encoder
                .for_batches(columns, Some(long), pool, |first, batch| {
                    let mut keys = long[first..].iter().zip(batch);
                    keys.try_for_each(|(row, key)| self.add_long(*row, key, heavy, &mut passing))
                })?;
        }
        Ok(passing)
    }

    /// Rows of heavy hitters with a fixed-width key, and which of them each is of.
    pub(super) fn heavy(&self) -> impl ExactSizeIterator<Item = (u32, u8)> + Clone {
        let rows = self.heavy[..self.heavies].iter();
        rows.map(|&row| (row, self.numbers[row as usize]))
    }

    /// Rows of heavy hitters without a fixed-width key.
    pub(super) fn heavy_long(&self) -> &[u32] {
        &self.heavy_long
    }

    /// All other rows, and the partition of each row of the chunk whose key has a fixed width.
    pub(super) fn passing(&mut self) -> (&[u32], &mut [u8]) {
        (&self.passing[..self.others], &mut self.partitions)
    }

    fn split_run<K: FixedKey>(
        &mut self,
        rows: Range<usize>,
        fixed_keys: &[K],
        heavy: &HeavyHitters,
        encoding: &KeyEncoding,
    ) {
        match encoding.shard_key() {
            None => self.split_run_by(rows, fixed_keys, heavy, |_key, hash| partition_of(hash)),
            Some(_) => self.split_run_by(rows, fixed_keys, heavy, |key, _hash| {
                encoding.partition(key.into())
            }),
        }
    }

    /// Splits without a branch for each row: no processor guesses where heavy hitters come.
    #[inline]
    fn split_run_by<K: FixedKey>(
        &mut self,
        rows: Range<usize>,
        fixed_keys: &[K],
        heavy: &HeavyHitters,
        partition: impl Fn(K, u64) -> u8,
    ) {
        // Copies, which the loop keeps in registers.
        let (mut heavies, mut others) = (self.heavies, self.others);
        let (to_heavy, to_passing) = (&mut *self.heavy, &mut *self.passing);
        let keys = &fixed_keys[rows.clone()];
        let partitions = &mut self.partitions[rows.clone()];
        let numbers = &mut self.numbers[rows.clone()];
        let known = partitions.iter_mut().zip(numbers);
        for ((row, &key), (to_partition, to_number)) in (rows.start as u32..).zip(keys).zip(known) {
            let hash = hash_fixed_key(key.into());
            let number = heavy.number(hash);
            *to_partition = partition(key, hash);
            *to_number = number;
            to_heavy[heavies] = row;
            to_passing[others] = row;
            let is_heavy = heavy.is(number, key.into());
            heavies += usize::from(is_heavy);
            others += usize::from(!is_heavy);
        }
        (self.heavies, self.others) = (heavies, others);
    }

    fn add_long(
        &mut self,
        row: u32,
        key: &[u8],
        heavy: &HeavyHitters,
        passing: &mut LongKeys,
    ) -> Result<(), ArrowError> {
        let hash = hash_bytes(key);
        if heavy.has_long(hash) {
            self.heavy_long.push(row);
        } else {
            passing.push(hash, key, row)?;
            self.passing[self.others] = row;
            self.others += 1;
        }
        Ok(())
    }
}
