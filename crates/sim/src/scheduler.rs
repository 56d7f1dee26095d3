//! Strategies, a file each. All draw random numbers from a seeded generator.

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

#[derive(Clone, Debug)]
pub(crate) struct Dice(XorShiftRng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(XorShiftRng::seed_from_u64(seed))
    }

    /// `bound` is not 0. The bias of multiplying is negligible for such small bounds.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no number below 0");
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }
}

/// Soonest last. The first choice is excluded, as no actor has gone before it.
fn moments(dice: &mut Dice, count: u32, steps: u32) -> Vec<u64> {
    let mut moments: Vec<u64> = (0..count)
        .map(|_| 1 + dice.below(steps.max(1) as usize) as u64)
        .collect();
    moments.sort_unstable_by(|a, b| b.cmp(a));
    moments
}

/// Steps in a row of one actor, against starvation by one that waits in a loop; and of all, against
/// two that wake each other.
#[derive(Clone, Debug)]
struct Stretch {
    actor: usize,
    steps: u32,
    steps_max: u32,
    all: u64,
    all_max: u64,
}

impl Stretch {
    fn new(steps: u32) -> Self {
        Self {
            all: 0,
            all_max: 32 * u64::from(steps),
            actor: usize::MAX,
            steps: 0,
            steps_max: 2 * steps.clamp(1, u32::MAX / 2),
        }
    }

    fn is_over(&self) -> bool {
        self.steps >= self.steps_max || self.all >= self.all_max
    }

    fn goes(&mut self, actor: usize) {
        if actor != self.actor || self.is_over() {
            (self.actor, self.steps) = (actor, 0);
        }
        self.steps += 1;
        self.all += 1;
    }
}
