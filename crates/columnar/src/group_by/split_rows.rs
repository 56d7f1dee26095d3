//! The rows of a chunk that are grouped now, because their keys are frequent, and all others.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::error::ArrowError;

use super::heavy_hitters::HeavyHitters;
use super::keys::{KeyEncoding, RowKeys};
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
            grouped: Vec::with_capacity(keys.rows()),
            grouped_keys: RowKeys::default(),
            passing: Vec::with_capacity(keys.rows()),
            passing_keys: Vec::with_capacity(keys.fixed_keys.len()),
            passing_long: LongKeys::new(pool),
        };
        let mut next = 0;
        if !keys.long.is_empty() {
            encoding
                .encoder
                .for_each(columns, Some(&keys.long), pool, |at, key| {
                    let row = keys.long[at] as usize;
                    if encoding.has_fixed_keys() {
                        split.add(next..row, &keys.fixed_keys, heavy);
                    }
                    next = row + 1;
                    split.add_long(row, key, heavy, encoding.has_fixed_keys())
                })?;
        }
        split.add(next..keys.fixed_keys.len(), &keys.fixed_keys, heavy);
        Ok(split)
    }

    /// Adds rows without a branch for each: no processor guesses where heavy hitters come.
    fn add(&mut self, rows: Range<usize>, fixed_keys: &[u128], heavy: &HeavyHitters) {
        let (mut passing, mut grouped) = (self.passing.len(), self.grouped.len());
        let (passed_before, grouped_before) = (passing, grouped);
        self.passing.resize(passing + rows.len(), 0);
        self.grouped.resize(grouped + rows.len(), 0);
        for (row, &fixed_key) in (rows.start as u32..).zip(&fixed_keys[rows]) {
            self.passing[passing] = row;
            self.grouped[grouped] = row;
            let is_heavy = heavy.has(fixed_key);
            passing += usize::from(!is_heavy);
            grouped += usize::from(is_heavy);
        }
        self.passing.truncate(passing);
        self.grouped.truncate(grouped);
        let key = |row: &u32| fixed_keys[*row as usize];
        self.passing_keys
            .extend(self.passing[passed_before..].iter().map(key));
        let grouped_keys = &mut self.grouped_keys.fixed_keys;
        grouped_keys.extend(self.grouped[grouped_before..].iter().map(key));
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
