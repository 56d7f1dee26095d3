//! Numbers by seed, for generated inputs: SplitMix64, so that another version of a crate cannot
//! change them.

#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Less than `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A rank below `end`, each about as often as its reciprocal (Zipf's law).
    pub(crate) fn rank(&mut self, end: u64) -> u64 {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (((end + 1) as f64).powf(part) as u64 - 1).min(end - 1)
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_seed() {
        assert_eq!(Random::new(1_234_567).next(), 6_457_827_717_110_365_317);
        let mut random = Random::new(7);
        let mut seen = [0; 5];
        (0..1_000).for_each(|_| seen[random.below(5) as usize] += 1);
        assert!(seen.iter().all(|count| *count > 150), "{seen:?}");

        let mut ranks = [0; 3];
        (0..8_000).for_each(|_| ranks[random.rank(3) as usize] += 1);
        assert!(ranks.is_sorted_by(|one, next| one > next), "{ranks:?}");
    }
}
