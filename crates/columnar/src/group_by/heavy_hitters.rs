//! The choice to group rows or pass them through.

use std::sync::{Arc, Mutex};

use pipeline_exec::lock;

use super::table::GroupTable;
use crate::partition::inner;

/// Fraction of new keys from which rows pass through: a lookup in a slot that finds fewer keys does
/// not pay, because the merge looks each group up again. A key without a fixed width is cheaper to
/// find in its slot, where its bytes are in the cache.
const MOSTLY_NEW: f64 = 0.5;
const MOSTLY_NEW_LONG: f64 = 0.75;
/// Rows per row of a heavy hitter, at most.
const HEAVY_ONE_IN: usize = 64;
/// Rows per row of another key, at most, to pass rows through.
const OTHERS_ONE_IN: usize = 8;
/// Heavy hitters at most: a row whose key has the mark of one is compared with all of them.
const HEAVY_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct KeySample(Mutex<Option<Arc<Mode>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// All rows are grouped.
    Grouped,
    /// Rows of other keys than these are grouped later.
    PassThrough(HeavyHitters),
}

/// Frequent keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeavyHitters {
    fixed_keys: Vec<u128>,
    /// Hashes of keys without a fixed width. A rare key may share one, and is grouped as well.
    long: Vec<u64>,
    marks: Marks,
}

/// One of 256 bits for each key. Of other keys one in 32 has such a bit too, so most rows need one
/// look instead of a comparison with each heavy hitter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Marks([u64; 4]);

impl HeavyHitters {
    pub(crate) fn of(
        fixed_keys: impl IntoIterator<Item = u128>,
        long: impl IntoIterator<Item = u64>,
    ) -> Self {
        let fixed_keys: Vec<u128> = fixed_keys.into_iter().collect();
        let long: Vec<u64> = long.into_iter().collect();
        let mut marks = Marks::default();
        fixed_keys.iter().for_each(|&key| marks.set(folded(key)));
        long.iter().for_each(|&hash| marks.set(hash));
        Self {
            fixed_keys,
            long,
            marks,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fixed_keys.is_empty() && self.long.is_empty()
    }

    #[inline]
    pub(super) fn has(&self, fixed_key: u128) -> bool {
        self.marks.has(folded(fixed_key)) && self.fixed_keys.contains(&fixed_key)
    }

    #[inline]
    pub(super) fn has_long(&self, hash: u64) -> bool {
        self.marks.has(hash) && self.long.contains(&hash)
    }
}

impl Marks {
    #[inline]
    fn bit(key: u64) -> (usize, u64) {
        // The top eight bits of a product depend on all bits of the key.
        let bit = inner(key) >> 56;
        (bit as usize / 64, 1 << (bit % 64))
    }

    fn set(&mut self, key: u64) {
        let (word, bit) = Self::bit(key);
        self.0[word] |= bit;
    }

    #[inline]
    fn has(&self, key: u64) -> bool {
        let (word, bit) = Self::bit(key);
        self.0[word] & bit != 0
    }
}

#[inline]
fn folded(fixed_key: u128) -> u64 {
    fixed_key as u64 ^ (fixed_key >> 64) as u64
}

impl Mode {
    /// Chooses from a slot's first `rows` rows; the last `count` are still looked up in `keys`.
    pub(super) fn of(keys: &GroupTable, rows: usize, count: usize) -> Self {
        let mut rows_of = vec![0usize; keys.len()];
        keys.groups()
            .iter()
            .for_each(|&group| rows_of[group as usize] += 1);
        let is_heavy = |rows: usize| rows > 1 && rows * HEAVY_ONE_IN >= count;
        let mut heavy: Vec<u32> = (0..rows_of.len() as u32)
            .filter(|&group| is_heavy(rows_of[group as usize]))
            .collect();
        heavy.sort_by_key(|&group| std::cmp::Reverse(rows_of[group as usize]));
        heavy.truncate(HEAVY_MAX);
        let heavy_rows: usize = heavy.iter().map(|&group| rows_of[group as usize]).sum();
        let others = rows - heavy_rows;
        let new = keys.len() - heavy.len();
        let mostly_new = match keys.is_mostly_long() {
            true => MOSTLY_NEW_LONG,
            false => MOSTLY_NEW,
        };
        if others * OTHERS_ONE_IN < rows || (new as f64) < mostly_new * others as f64 {
            return Self::Grouped;
        }
        Self::PassThrough(HeavyHitters::of(
            heavy.iter().filter_map(|&group| keys.fixed_key(group)),
            heavy.iter().filter_map(|&group| keys.long_hash(group)),
        ))
    }
}

impl KeySample {
    pub(super) fn known(&self) -> Option<Arc<Mode>> {
        lock(&self.0).clone()
    }

    pub(super) fn learn(&self, mode: Mode) -> Arc<Mode> {
        let mode = Arc::new(mode);
        *lock(&self.0) = Some(Arc::clone(&mode));
        mode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_hitters_are_found_and_no_other_key_even_with_their_mark() {
        let keys = (0..HEAVY_MAX as u128).map(|at| (at << 70 | at) * 3 + 1);
        let hashes = (1..=HEAVY_MAX as u64).map(|at| at.wrapping_mul(0x1234_5678_9abc_def1));
        let heavy = HeavyHitters::of(keys.clone(), hashes.clone());
        assert!(keys.clone().all(|key| heavy.has(key)));
        assert!(hashes.clone().all(|hash| heavy.has_long(hash)));
        let others = 10_000..20_000u64;
        assert!(
            others
                .clone()
                .all(|key| !heavy.has(key.into()) && !heavy.has_long(key))
        );
        let marked = others.filter(|&key| heavy.marks.has(key)).count();
        // Sixteen of 256 bits, at most.
        assert!((1..1_000).contains(&marked), "{marked} of 10,000");
    }
}
