//! A random walk: the plain one is hard to beat at finding races, and it is fair.
//!
//! Thomson, Donaldson and Betts, "Concurrency testing using controlled schedulers", 2016, found it at least as good as
//! most systematic ways on their benchmark. The sticky form adds long undisturbed stretches, in which a party gets far
//! ahead of another that stands in the middle of something.

use super::Dice;
use crate::schedule::{Moment, Strategy};

/// Picks anybody who may go.
#[derive(Clone, Debug)]
pub struct RandomWalk {
    dice: Dice,
    stay: usize,
}

impl RandomWalk {
    /// From `seed`. The party that went last goes on `stay` times out of `stay` + 1.
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
