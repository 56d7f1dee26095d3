//! A worker's random numbers: one generator for its tasks, one for its victims.
//!
//! They are two, so that a task that draws numbers does not change whom its worker steals from.

use rand_core::SeedableRng;
use rand_xorshift::XorShiftRng;

/// 32 random bits as a number below `bound`.
#[inline]
pub(crate) fn below(random: u32, bound: usize) -> usize {
    // Lemire, "Fast Random Integer Generation in an Interval", 2019: the high half of the product.
    // Its bias for at most 32,767 workers is below one in a hundred thousand.
    ((u64::from(random) * bound as u64) >> 32) as usize
}

pub(crate) fn victim_rng(seed: u64, worker: usize) -> XorShiftRng {
    let first = splitmix64(seed ^ splitmix64(worker as u64));
    let second = splitmix64(first);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    XorShiftRng::from_seed(bytes)
}

pub(crate) fn task_rng(seed: u64, worker: usize) -> XorShiftRng {
    victim_rng(!seed, worker)
}

/// A step of SplitMix64. Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014.
fn splitmix64(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    #[test]
    fn splitmix64_gives_the_published_numbers() {
        // The first outputs of the reference implementation from state 0.
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn workers_draw_different_numbers_and_the_same_worker_the_same() {
        let draw = |seed, worker| {
            let mut rng = victim_rng(seed, worker);
            [(); 4].map(|()| rng.next_u64())
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
        assert_ne!(draw(7, 0), draw(8, 0));
    }

    #[test]
    fn tasks_and_victims_are_drawn_from_different_numbers() {
        assert_ne!(task_rng(7, 0), victim_rng(7, 0));
    }
}
