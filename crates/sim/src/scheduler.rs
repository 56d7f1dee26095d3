//! Strategies, a file each. All of them answer questions of chance from a seeded generator.

mod delay;
mod earliest;
mod pct;
mod random;
mod replay;
mod round_robin;

pub use delay::DelayBounded;
pub use earliest::Earliest;
pub use pct::Pct;
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

/// `count` moments among the first `steps` micro-steps, the soonest last. The very first of all choices is none: nobody
/// goes yet.
fn moments(dice: &mut Dice, count: u32, steps: u32) -> Vec<u64> {
    let mut moments: Vec<u64> = (0..count)
        .map(|_| 1 + dice.below(steps.max(1) as usize) as u64)
        .collect();
    moments.sort_unstable_by(|a, b| b.cmp(a));
    moments
}

/// For how many micro-steps in a row the same party has gone, against starvation by one that waits in a loop; and for how many
/// all have, against starvation by two that wake each other.
#[derive(Clone, Debug)]
struct Stretch {
    party: usize,
    steps: u32,
    steps_max: u32,
    all: u64,
    all_max: u64,
}

impl Stretch {
    /// Over after twice the `steps` that were expected of the whole run. After 32 times as many in all, every stretch is over after
    /// a step.
    fn new(steps: u32) -> Self {
        Self {
            all: 0,
            all_max: 32 * u64::from(steps),
            party: usize::MAX,
            steps: 0,
            steps_max: 2 * steps.clamp(1, u32::MAX / 2),
        }
    }

    fn is_over(&self) -> bool {
        self.steps >= self.steps_max || self.all >= self.all_max
    }

    fn goes(&mut self, party: usize) {
        if party != self.party || self.is_over() {
            (self.party, self.steps) = (party, 0);
        }
        self.steps += 1;
        self.all += 1;
    }
}
