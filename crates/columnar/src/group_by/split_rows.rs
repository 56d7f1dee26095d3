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
use crate::partition::{hash_bytes, hash_fixed_key};

pub(super) struct SplitRows<K> {
    pub(super) heavy: HeavyRows,
    pub(super) passing: PassingRows<K>,
}

/// Rows of heavy hitters.
pub(super) struct HeavyRows {
    pub(super) rows: Vec<u32>,
    /// Which heavy hitter each is of.
    pub(super) numbers: Vec<u8>,
    /// Rows whose keys have no fixed width.
    pub(super) long: Vec<u32>,
}

/// All other rows: those with a fixed-width key before those of `long`.
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
        let (mut heavy_rows, mut numbers) = (vec![0; rows], vec![0; rows]);
        let mut passing = vec![0; rows];
        let (mut keys, mut hashes) = (vec![K::default(); rows], vec![0; rows]);
        let (mut heavies, mut others) = (0, 0);
        // Slices: the compiler would read a list's length again for each row.
        let (to_heavy, to_numbers, to_passing) = (&mut *heavy_rows, &mut *numbers, &mut *passing);
        let (to_keys, to_hashes) = (&mut *keys, &mut *hashes);
        let mut split = |rows: Range<usize>| {
            for (row, &key) in (rows.start as u32..).zip(&fixed_keys[rows]) {
                let hash = hash_fixed_key(key.into());
                let number = heavy.number(hash);
                to_heavy[heavies] = row;
                to_numbers[heavies] = number;
                to_passing[others] = row;
                to_keys[others] = key;
                to_hashes[others] = partition_hash(key, hash);
                let is_heavy = heavy.is(number, key.into());
                heavies += usize::from(is_heavy);
                others += usize::from(!is_heavy);
            }
        };
        let mut next = 0;
        for row in long.iter().map(|&row| row as usize).filter(|_| rows > 0) {
            split(next..row);
            next = row + 1;
        }
        split(next..rows);
        heavy_rows.truncate(heavies);
        numbers.truncate(heavies);
        passing.truncate(others);
        keys.truncate(others);
        hashes.truncate(others);
        Self {
            heavy: HeavyRows {
                rows: heavy_rows,
                numbers,
                long: Vec::new(),
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
        let passing = &mut self.passing;
        if heavy.has_long(hash) {
            self.heavy.long.push(row);
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
