//! The rows of a chunk that are grouped now, because their keys are frequent, and all others.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::error::ArrowError;

use super::fixed_keys::FixedKey;
use super::heavy_hitters::HeavyHitters;
use super::keys::{KeyEncoding, RowKeys};
use super::long_keys::LongKeys;
use crate::memory::MemoryPool;
use crate::partition::{hash_bytes, hash_fixed_key};

pub(super) struct SplitRows<K> {
    pub(super) grouped: GroupedRows,
    pub(super) passing: PassingRows<K>,
}

/// Rows of heavy hitters.
pub(super) struct GroupedRows {
    pub(super) rows: Vec<u32>,
    pub(super) keys: RowKeys,
}

/// All other rows.
pub(super) struct PassingRows<K> {
    pub(super) rows: Vec<u32>,
    /// 0 for a row of `long`; empty if no key has a fixed width.
    pub(super) fixed_keys: Vec<K>,
    /// What the rows have their partitions by, except those of `long`.
    pub(super) hashes: Vec<u64>,
    pub(super) long: LongKeys,
}

impl<K: FixedKey> SplitRows<K> {
    /// `fixed_keys` are those of `columns`, except where rows are `long`.
    pub(super) fn of(
        columns: &[ArrayRef],
        fixed_keys: &[K],
        long: &[u32],
        heavy: &HeavyHitters,
        encoding: &KeyEncoding,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<Self, ArrowError> {
        let rows = fixed_keys.len().max(long.len());
        let mut split = Self {
            grouped: GroupedRows {
                rows: Vec::with_capacity(rows),
                keys: RowKeys::default(),
            },
            passing: PassingRows {
                rows: Vec::with_capacity(rows),
                fixed_keys: Vec::with_capacity(fixed_keys.len()),
                hashes: Vec::with_capacity(rows),
                long: LongKeys::new(pool),
            },
        };
        let mut next = 0;
        if !long.is_empty() {
            let among_fixed_keys = encoding.has_fixed_keys();
            encoding.encoder.for_each(columns, Some(long), pool, |at, key| {
                let row = long[at] as usize;
                if among_fixed_keys {
                    split.add(next..row, fixed_keys, heavy, encoding);
                }
                next = row + 1;
                split.add_long(row, key, heavy, among_fixed_keys)
            })?;
        }
        split.add(next..fixed_keys.len(), fixed_keys, heavy, encoding);
        Ok(split)
    }

    fn add(&mut self, rows: Range<usize>, fixed_keys: &[K], heavy: &HeavyHitters, encoding: &KeyEncoding) {
        match encoding.shard_key() {
            None => self.add_by_hash(rows, fixed_keys, heavy, |_key, hash| hash),
            Some(_) => self.add_by_hash(rows, fixed_keys, heavy, |key, _hash| {
                encoding.partition_hash(key.into())
            }),
        }
    }

    /// Adds rows without a branch for each: no processor guesses where heavy hitters come.
    fn add_by_hash(
        &mut self,
        rows: Range<usize>,
        fixed_keys: &[K],
        heavy: &HeavyHitters,
        partition_hash: impl Fn(K, u64) -> u64,
    ) {
        let Self { grouped, passing } = self;
        let (grouped_before, passed_before) = (grouped.rows.len(), passing.rows.len());
        grouped.rows.resize(grouped_before + rows.len(), 0);
        passing.resize(passed_before + rows.len());
        let (mut grouped_rows, mut passing_rows) = (grouped_before, passed_before);
        // Slices: the compiler would read a list's length again for each row.
        let (grouped_out, passing_out) = (&mut *grouped.rows, &mut *passing.rows);
        let (keys_out, hashes_out) = (&mut *passing.fixed_keys, &mut *passing.hashes);
        for (row, &key) in (rows.start as u32..).zip(&fixed_keys[rows]) {
            let hash = hash_fixed_key(key.into());
            grouped_out[grouped_rows] = row;
            passing_out[passing_rows] = row;
            keys_out[passing_rows] = key;
            hashes_out[passing_rows] = partition_hash(key, hash);
            let is_heavy = heavy.has(key.into(), hash);
            grouped_rows += usize::from(is_heavy);
            passing_rows += usize::from(!is_heavy);
        }
        grouped.rows.truncate(grouped_rows);
        passing.resize(passing_rows);
        let key = |row: &u32| fixed_keys[*row as usize].into();
        let keys = grouped.rows[grouped_before..].iter().map(key);
        grouped.keys.fixed_keys.extend(keys);
    }

    fn add_long(
        &mut self,
        row: usize,
        key: &[u8],
        heavy: &HeavyHitters,
        among_fixed_keys: bool,
    ) -> Result<(), ArrowError> {
        let hash = hash_bytes(key);
        let Self { grouped, passing } = self;
        if heavy.has_long(hash) {
            grouped.keys.long.push(grouped.rows.len() as u32);
            grouped.keys.fixed_keys.extend(among_fixed_keys.then_some(0));
            grouped.rows.push(row as u32);
        } else {
            let place = passing.rows.len() as u32;
            passing.long.push(hash, place, |rows| rows.push(key))?;
            passing.fixed_keys.extend(among_fixed_keys.then(K::default));
            passing.hashes.push(0);
            passing.rows.push(row as u32);
        }
        Ok(())
    }
}

impl<K: FixedKey> PassingRows<K> {
    fn resize(&mut self, rows: usize) {
        self.rows.resize(rows, 0);
        self.fixed_keys.resize(rows, K::default());
        self.hashes.resize(rows, 0);
    }
}
