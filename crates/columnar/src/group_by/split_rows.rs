//! The rows of a chunk that are grouped now, because their keys are frequent, and all others.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::error::ArrowError;

use super::heavy_hitters::HeavyHitters;
use super::keys::{Key, KeyEncoding, RowKeys};
use super::long_keys::LongKeys;
use crate::memory::MemoryPool;
use crate::partition::hash_bytes;

pub(super) struct SplitRows {
    /// Rows of heavy hitters, and their keys.
    pub(super) grouped: Vec<u32>,
    pub(super) grouped_keys: RowKeys,
    /// All other rows, and their keys: 0 for a key of `passing_long`.
    pub(super) passing: Vec<u32>,
    pub(super) passing_keys: Vec<u128>,
    pub(super) passing_long: LongKeys,
}

impl SplitRows {
    /// `keys` are those of `columns`.
    pub(super) fn of(
        columns: &[ArrayRef],
        keys: &RowKeys,
        heavy: &HeavyHitters,
        encoding: &KeyEncoding,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<Self, ArrowError> {
        let mut split = Self {
            grouped: Vec::new(),
            grouped_keys: RowKeys::default(),
            passing: Vec::with_capacity(keys.rows()),
            passing_keys: Vec::with_capacity(keys.fixed_keys.len()),
            passing_long: LongKeys::new(pool),
        };
        if keys.long.is_empty() {
            split.add_all(&keys.fixed_keys, heavy);
            return Ok(split);
        }
        encoding.for_each_key(columns, keys, pool, |row, key| {
            match key {
                Key::Fixed(fixed_key) => split.add(row, fixed_key, heavy),
                Key::Long(key) => split.add_long(row, key, heavy, encoding.has_fixed_keys())?,
            }
            Ok(())
        })?;
        Ok(split)
    }

    /// Adds rows without a branch for each: where heavy hitters come is not to be guessed.
    fn add_all(&mut self, fixed_keys: &[u128], heavy: &HeavyHitters) {
        let mut rows = [vec![0u32; fixed_keys.len()], vec![0u32; fixed_keys.len()]];
        let mut ends = [0; 2];
        for (row, &fixed_key) in (0..).zip(fixed_keys) {
            let is_heavy = heavy.has(fixed_key);
            rows[0][ends[0]] = row;
            rows[1][ends[1]] = row;
            ends[0] += usize::from(!is_heavy);
            ends[1] += usize::from(is_heavy);
        }
        let key = |row: &u32| fixed_keys[*row as usize];
        [self.passing, self.grouped] = rows;
        self.passing.truncate(ends[0]);
        self.passing_keys.extend(self.passing.iter().map(key));
        self.grouped.truncate(ends[1]);
        self.grouped_keys.fixed_keys.extend(self.grouped.iter().map(key));
    }

    #[inline]
    fn add(&mut self, row: usize, fixed_key: u128, heavy: &HeavyHitters) {
        if heavy.has(fixed_key) {
            self.grouped.push(row as u32);
            self.grouped_keys.fixed_keys.push(fixed_key);
        } else {
            self.passing.push(row as u32);
            self.passing_keys.push(fixed_key);
        }
    }

    fn add_long(
        &mut self,
        row: usize,
        key: &[u8],
        heavy: &HeavyHitters,
        among_fixed_keys: bool,
    ) -> Result<(), ArrowError> {
        let hash = hash_bytes(key);
        let fixed_key = among_fixed_keys.then_some(0);
        if heavy.has_long(hash) {
            self.grouped_keys.long.push(self.grouped.len() as u32);
            self.grouped_keys.fixed_keys.extend(fixed_key);
            self.grouped.push(row as u32);
        } else {
            let place = self.passing.len() as u32;
            self.passing_long.push(hash, place, |rows| rows.push(key))?;
            self.passing_keys.extend(fixed_key);
            self.passing.push(row as u32);
        }
        Ok(())
    }
}
