//! The choice to group rows or pass them through.

use super::table::GroupTable;
use crate::partition::{bits_of, hash_fixed_key};

/// Fraction of new keys from which rows pass through: a lookup in a slot that finds fewer keys does
/// not pay, because the merge looks each group up again.
const MOSTLY_NEW: f64 = 0.5;
/// The same for keys without a fixed width. Their bytes are in the slot's cache, and a merge that
/// compares them waits for memory.
const MOSTLY_NEW_LONG: f64 = 0.9;
/// Rows per row of a heavy hitter, at most.
const HEAVY_ONE_IN: usize = 512;
/// Rows per row of another key, at most, to pass rows through.
const OTHERS_ONE_IN: usize = 8;
/// Heavy hitters at most.
const HEAVY_MAX: usize = 64;
/// Marks of heavy hitters: few share one.
const MARK_BITS: u32 = 10;

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
    fixed_keys: Marked<u128>,
    /// Hashes of keys without a fixed width. A rare key may share one, and is grouped as well.
    long: Marked<u64>,
}

impl HeavyHitters {
    /// Of two keys with one mark, the first is kept.
    pub(crate) fn of(
        fixed_keys: impl IntoIterator<Item = u128>,
        long: impl IntoIterator<Item = u64>,
    ) -> Self {
        Self {
            fixed_keys: Marked::of(fixed_keys, hash_fixed_key),
            long: Marked::of(long, |hash| hash),
        }
    }

    /// How many of them have a fixed-width key.
    pub(super) fn len(&self) -> usize {
        self.fixed_keys.keys.len()
    }

    pub(super) fn fixed_key(&self, number: u8) -> u128 {
        self.fixed_keys.keys[usize::from(number)]
    }

    /// The number of the only heavy hitter that a key can [be](Self::is). `hash` is [`hash_fixed_key`]
    /// of the key.
    #[inline]
    pub(super) fn number(&self, hash: u64) -> u8 {
        self.fixed_keys.number(hash)
    }

    #[inline]
    pub(super) fn is(&self, number: u8, fixed_key: u128) -> bool {
        self.fixed_keys.is(number, fixed_key)
    }

    #[inline]
    pub(super) fn has_long(&self, hash: u64) -> bool {
        self.long.is(self.long.number(hash), hash)
    }
}

/// A mark for each key. A row's key is compared with the one that has its mark: a loop over all would
/// end where no processor can guess.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Marked<K> {
    keys: Vec<K>,
    /// The number of the key with each mark, and 0 for a mark that none has.
    numbers: Box<[u8; 1 << MARK_BITS]>,
}

impl<K> Default for Marked<K> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            numbers: Box::new([0; 1 << MARK_BITS]),
        }
    }
}

impl<K: Copy + PartialEq> Marked<K> {
    fn of(keys: impl IntoIterator<Item = K>, hash: impl Fn(K) -> u64) -> Self {
        let mut marked = Self::default();
        for key in keys {
            let mark = mark(hash(key));
            let is_taken = marked.keys.iter().any(|&known| self::mark(hash(known)) == mark);
            if !is_taken {
                marked.numbers[mark] = marked.keys.len() as u8;
                marked.keys.push(key);
            }
        }
        marked
    }

    #[inline]
    fn number(&self, hash: u64) -> u8 {
        self.numbers[mark(hash)]
    }

    #[inline]
    fn is(&self, number: u8, key: K) -> bool {
        self.keys.get(usize::from(number)) == Some(&key)
    }
}

#[inline]
fn mark(hash: u64) -> usize {
    bits_of(hash, MARK_BITS)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn is_heavy(heavy: &HeavyHitters, key: u128) -> bool {
        heavy.is(heavy.number(hash_fixed_key(key)), key)
    }

    #[test]
    fn heavy_hitters_are_found_and_no_other_key_even_with_their_mark() {
        let keys = (0..HEAVY_MAX as u128).map(|at| (at << 70 | at) * 3 + 1);
        let hashes = (1..=HEAVY_MAX as u64).map(|at| at.wrapping_mul(0x1234_5678_9abc_def1));
        let heavy = HeavyHitters::of(keys.clone(), hashes.clone());
        assert_eq!(
            keys.clone().filter(|&key| is_heavy(&heavy, key)).count(),
            heavy.fixed_keys.keys.len()
        );
        assert_eq!(
            hashes.clone().filter(|&hash| heavy.has_long(hash)).count(),
            heavy.long.keys.len()
        );
        // Those that are not kept have the mark of one before.
        assert!(heavy.fixed_keys.keys.len() > HEAVY_MAX * 7 / 8);
        assert!(heavy.long.keys.len() > HEAVY_MAX * 7 / 8);
        for other in 10_000..20_000u64 {
            assert!(!is_heavy(&heavy, other.into()) && !heavy.has_long(other));
        }
    }

    #[test]
    fn of_two_keys_with_one_mark_the_first_is_kept() {
        let first = 7;
        let second = (8..).find(|&key| mark(key) == mark(first)).expect("one in 1,024");
        let heavy = HeavyHitters::of([], [first, second]);
        assert!(heavy.has_long(first) && !heavy.has_long(second));
    }

    #[test]
    fn without_heavy_hitters_no_key_is_one() {
        let none = HeavyHitters::default();
        assert!(!is_heavy(&none, 0) && !none.has_long(0));
    }
}
