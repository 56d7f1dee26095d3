//! A random walk: fair, and hard to beat at finding races.
//!
//! Thomson, Donaldson and Betts, "Concurrency testing using controlled schedulers", 2016, found it
//! at least as good as most systematic strategies. The sticky form adds long stretches, in which
//! one actor overtakes another in the middle of an operation.

use super::Dice;
use crate::schedule::{Moment, Strategy};

/// Picks any runnable actor.
#[derive(Clone, Debug)]
pub struct RandomWalk {
    dice: Dice,
    stay: usize,
}

impl RandomWalk {
    /// From `seed`. The last actor continues `stay` times out of `stay` + 1.
    #[must_use]
    pub fn new(seed: u64, stay: usize) -> Self {
        Self {
            dice: Dice::new(seed),
            stay,
        }
    }
}

impl Strategy for RandomWalk {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        if self.stay > 0
            && let Some(last) = moment.last()
            && moment.is_runnable(last)
            && self.dice.below(self.stay + 1) > 0
        {
            return last;
        }
        let runnable = moment.runnable();
        runnable[self.dice.below(runnable.len())]
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice.below(bound)
    }
}
