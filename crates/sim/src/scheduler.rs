//! Strategies, a file each. All of them answer questions of chance from a seeded generator.

mod earliest;
mod random;
mod replay;
mod round_robin;

pub use earliest::Earliest;
pub use random::RandomWalk;
pub use replay::Replay;
pub use round_robin::RoundRobin;

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

/// A seeded generator of numbers below a bound.
#[derive(Clone, Debug)]
pub(crate) struct Dice(XorShiftRng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(XorShiftRng::seed_from_u64(seed))
    }

    /// A number below `bound`, which is not 0. For the small bounds of a schedule the bias of multiplying
    /// instead of rejecting is far below anything that could matter.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no number below 0");
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }
}
