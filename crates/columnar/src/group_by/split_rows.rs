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

/// Rows of heavy hitters: those with a fixed-width key before the others.
pub(super) struct GroupedRows {
    pub(super) rows: Vec<u32>,
    pub(super) keys: RowKeys,
}

/// All other rows, in the same order.
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
        let mut split = match encoding.shard_key() {
            None => Self::of_fixed_keys(fixed_keys, long, heavy, |_key, hash| hash, pool),
            Some(_) => {
                let hash = |key: K, _hash| encoding.partition_hash(key.into());
                Self::of_fixed_keys(fixed_keys, long, heavy, hash, pool)
            }
        };
        if !long.is_empty() {
            let among_fixed_keys = encoding.has_fixed_keys();
            encoding.encoder.for_each(columns, Some(long), pool, |at, key| {
                split.add_long(long[at], key, heavy, among_fixed_keys)
            })?;
        }
        Ok(split)
    }

    /// Splits without a branch for each row: no processor guesses where heavy hitters come.
    fn of_fixed_keys(
        fixed_keys: &[K],
        long: &[u32],
        heavy: &HeavyHitters,
        partition_hash: impl Fn(K, u64) -> u64,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Self {
        let rows = fixed_keys.len();
        let (mut grouped, mut passing) = (vec![0; rows], vec![0; rows]);
        let (mut keys, mut hashes) = (vec![K::default(); rows], vec![0; rows]);
        let (mut grouped_rows, mut passing_rows) = (0, 0);
        // Slices: the compiler would read a list's length again for each row.
        let (to_grouped, to_passing) = (&mut *grouped, &mut *passing);
        let (to_keys, to_hashes) = (&mut *keys, &mut *hashes);
        let mut split = |rows: Range<usize>| {
            for (row, &key) in (rows.start as u32..).zip(&fixed_keys[rows]) {
                let hash = hash_fixed_key(key.into());
                to_grouped[grouped_rows] = row;
                to_passing[passing_rows] = row;
                to_keys[passing_rows] = key;
                to_hashes[passing_rows] = partition_hash(key, hash);
                let is_heavy = heavy.has(key.into(), hash);
                grouped_rows += usize::from(is_heavy);
                passing_rows += usize::from(!is_heavy);
            }
        };
        let mut next = 0;
        for row in long.iter().map(|&row| row as usize).filter(|_| rows > 0) {
            split(next..row);
            next = row + 1;
        }
        split(next..rows);
        grouped.truncate(grouped_rows);
        passing.truncate(passing_rows);
        keys.truncate(passing_rows);
        hashes.truncate(passing_rows);
        let grouped_keys = grouped.iter().map(|&row| fixed_keys[row as usize].into());
        Self {
            grouped: GroupedRows {
                keys: RowKeys {
                    fixed_keys: grouped_keys.collect(),
                    long: Vec::new(),
                },
                rows: grouped,
            },
            passing: PassingRows {
                rows: passing,
                fixed_keys: keys,
                hashes,
                long: LongKeys::new(pool),
            },
        }
    }

    fn add_long(
        &mut self,
        row: u32,
        key: &[u8],
        heavy: &HeavyHitters,
        among_fixed_keys: bool,
    ) -> Result<(), ArrowError> {
        let hash = hash_bytes(key);
        let Self { grouped, passing } = self;
        if heavy.has_long(hash) {
            grouped.keys.long.push(grouped.rows.len() as u32);
            grouped.keys.fixed_keys.extend(among_fixed_keys.then_some(0));
            grouped.rows.push(row);
        } else {
            let place = passing.rows.len() as u32;
            passing.long.push(hash, place, |rows| rows.push(key))?;
            passing.fixed_keys.extend(among_fixed_keys.then(K::default));
            passing.hashes.push(0);
            passing.rows.push(row);
        }
        Ok(())
    }
}
