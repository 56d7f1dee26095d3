//! The partition of a key: the top bits of a mixed hash with fixed seeds.
//!
//! ```text
//!   hash  ┌ 8 bits ─┬────────────┬── up to 32 bits ──┐
//!         │partition│            │ place in an index │
//!         └─────────┴────────────┴───────────────────┘
//! ```
//!
//! All keys of a partition agree in its bits, so an index of one partition must not use them.
//!
//! | user | bits |
//! |---|---|
//! | [`partition_index`] of n partitions | the top ones, as many as n has: the product of hash and n, above 64 bits |
//! | GROUP BY | the top 8; ranges of partitions are the top 4 to 8 of them |
//! | [`HashIndex`](crate::memory::HashIndex), distinct words | the low ones, as many as there are places |

use std::hash::{Hash, Hasher};

/// Digits of pi.
const SEED: u64 = 0x243f_6a88_85a3_08d3;
/// Odd, with spread bits: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Odd, with bits that look random (SplitMix64).
const FACTOR_2: u64 = 0xbf58_476d_1ce4_e5b9;

/// The partition of `key`, out of `partitions`.
///
/// It depends on the key's value alone, for slices of integers wider than a byte also on byte
/// order. Integers of all widths hash by their value.
///
/// The seeds are public: an adversary can choose keys that all fall into one partition.
///
/// ```
/// use columnar::sharding::partition_index;
///
/// assert_eq!(partition_index(&("A", 7), 16), partition_index(&("A", 7), 16));
/// assert!((0..1_000).all(|key| partition_index(&key, 3) < 3));
/// // Twice as many partitions split each in two.
/// assert_eq!(partition_index("Ulm", 32) / 2, partition_index("Ulm", 16));
/// ```
///
/// # Panics
///
/// If there are no partitions.
#[must_use]
pub fn partition_index<K: Hash + ?Sized>(key: &K, partitions: usize) -> usize {
    assert!(partitions > 0, "a key has a place only if there is a partition");
    let mut hasher = StableHasher::new();
    key.hash(&mut hasher);
    ((u128::from(hasher.finish()) * partitions as u128) >> 64) as usize
}

/// A hasher with fixed seeds: the same values hash alike in every run and on every machine of one
/// byte order.
#[derive(Clone, Debug)]
pub struct StableHasher(u64);

impl StableHasher {
    /// A hasher that has read nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self(SEED)
    }

    #[inline]
    fn add(&mut self, value: u64) {
        self.0 = fold(self.0 ^ value, FACTOR);
    }
}

impl Default for StableHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher for StableHasher {
    #[inline]
    fn finish(&self) -> u64 {
        fold(self.0, FACTOR_2)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length is added too, so that trailing zeros count.
        self.add(u64::from_le_bytes(last));
        self.add(bytes.len() as u64);
    }

    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.add(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_u128(&mut self, value: u128) {
        self.add(value as u64);
        self.add((value >> 64) as u64);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    fn write_i8(&mut self, value: i8) {
        self.add(value as u64);
    }

    fn write_i16(&mut self, value: i16) {
        self.add(value as u64);
    }

    fn write_i32(&mut self, value: i32) {
        self.add(value as u64);
    }

    fn write_i64(&mut self, value: i64) {
        self.add(value as u64);
    }

    fn write_i128(&mut self, value: i128) {
        self.write_u128(value as u128);
    }

    fn write_isize(&mut self, value: isize) {
        self.add(value as u64);
    }
}

/// No product has two factors from the key, because one of them could make it zero.
#[inline]
pub(crate) fn hash_fixed_key(word: u128) -> u64 {
    let low = fold(SEED ^ word as u64, FACTOR);
    fold(low ^ (word >> 64) as u64, FACTOR_2)
}

/// For tables of words alone: partitions take [`hash_fixed_key`].
#[inline]
pub(crate) fn hash_word(word: u64) -> u64 {
    fold(SEED ^ word, FACTOR)
}

/// Four words at a time, because a product waits for the one before.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut lanes = [SEED, FACTOR_2, SEED.rotate_left(16), FACTOR_2.rotate_left(16)];
    let mut add = |first: &[u8; 16], second: &[u8; 16]| {
        let words = [*first, *second].map(u128::from_le_bytes);
        let words = words.map(|pair| [pair as u64, (pair >> 64) as u64]);
        for (lane, word) in lanes.iter_mut().zip(words.as_flattened()) {
            *lane = fold(*lane ^ word, FACTOR);
        }
    };
    // The last bytes, some of them once more, are read without a loop.
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) if bytes.len() <= 32 => add(first, last),
        (Some(_), Some(last)) => {
            let (chunks, _) = bytes.as_chunks::<16>();
            let (pairs, _) = chunks.as_chunks::<2>();
            pairs.iter().for_each(|[first, second]| add(first, second));
            let before = bytes[..bytes.len() - 16].last_chunk();
            add(before.expect("more than 32 bytes"), last);
        }
        _ => {
            let mut last = [0; 16];
            last[..bytes.len()].copy_from_slice(bytes);
            add(&last, &[0; 16]);
        }
    }
    // The length is added too, so that trailing zeros count.
    let [a, b, c, d] = lanes;
    let first = fold(a ^ b.rotate_left(32) ^ bytes.len() as u64, FACTOR);
    fold(first ^ c ^ d.rotate_left(32), FACTOR_2)
}

#[inline]
pub(crate) fn bits_of(hash: u64, bits: u32) -> usize {
    (hash >> (u64::BITS - bits)) as usize
}

/// Bits for a small number that are far from those of its neighbours.
#[inline]
pub(crate) fn spread(number: u64) -> u64 {
    number.wrapping_mul(FACTOR)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(indices: impl Iterator<Item = usize>) -> (f64, f64) {
        let mut counts = [0usize; 64];
        let mut all = 0;
        for index in indices {
            counts[index] += 1;
            all += 1;
        }
        let share = |count: Option<&usize>| *count.unwrap_or(&0) as f64 * 64.0 / all as f64;
        (share(counts.iter().min()), share(counts.iter().max()))
    }

    #[test]
    fn the_place_of_a_key_never_changes() {
        // A change here invalidates every partition number that was stored.
        let places: Vec<usize> = (0..8u64).map(|key| partition_index(&key, 256)).collect();
        assert_eq!(places, [255, 7, 32, 140, 39, 134, 251, 80]);
        assert_eq!(partition_index("supplier", 256), 14);
        assert_eq!(partition_index(&7i64, 256), partition_index(&7u8, 256));
    }

    #[test]
    fn consecutive_numbers_multiples_and_negative_ones_spread_evenly() {
        for step in [1i64, 4, 64, 1 << 20, 1 << 32, -1, -4_096] {
            let (least, most) = shares((0..100_000i64).map(|n| partition_index(&(n * step), 64)));
            assert!(least > 0.85 && most < 1.15, "{step}: {least} to {most}");
            let words = (0..100_000i64).map(|n| bits_of(hash_fixed_key(u128::from((n * step) as u64)), 6));
            let (least, most) = shares(words);
            assert!(least > 0.85 && most < 1.15, "{step}: {least} to {most}");
        }
    }

    #[test]
    fn the_hashes_of_a_partition_spread_in_their_low_bits() {
        for step in [1, 8, 1_000, 1 << 40] {
            let hashes = (0..400_000u128).map(|number| hash_fixed_key(number * step));
            let own: Vec<u64> = hashes.filter(|&hash| bits_of(hash, 4) == 5).collect();
            for shift in [0, 8, 16] {
                let (least, most) = shares(own.iter().map(|hash| (hash >> shift & 63) as usize));
                assert!(least > 0.8 && most < 1.2, "{step}, {shift}: {least} to {most}");
            }
        }
    }

    #[test]
    fn texts_that_differ_in_zeros_at_the_end_have_different_hashes() {
        let hash = |bytes: &[u8]| {
            let mut hasher = StableHasher::new();
            hasher.write(bytes);
            hasher.finish()
        };
        assert_ne!(hash(b"a"), hash(b"a\0"));
        assert_ne!(hash(b"12345678"), hash(b"12345678\0"));
    }

    #[test]
    fn each_byte_of_a_text_of_any_length_counts_and_hashes_spread_evenly() {
        for len in 0..80 {
            let text: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let hash = hash_bytes(&text);
            for at in 0..len {
                let mut other = text.clone();
                other[at] ^= 0x40;
                assert_ne!(hash_bytes(&other), hash, "byte {at} of {len}");
            }
            let longer = [&text[..], &[0]].concat();
            assert_ne!(hash_bytes(&longer), hash, "{len}");
            let texts = (0..20_000u32).map(|n| [&text[..], &n.to_string().into_bytes()].concat());
            for shift in [0, 29, 58] {
                let hashes = texts
                    .clone()
                    .map(|text| (hash_bytes(&text) >> shift & 63) as usize);
                let (least, most) = shares(hashes);
                assert!(least > 0.7 && most < 1.3, "{len}, {shift}: {least} to {most}");
            }
        }
    }
}
