//! Round-robin, one step for each actor in turn: the most regular of all schedules.

use super::Dice;
use crate::schedule::{Moment, Strategy};

/// Picks the next actor by number.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    dice: Dice,
}

impl RoundRobin {
    /// Draws random numbers from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
        }
    }
}

impl Strategy for RoundRobin {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        moment.next_from(moment.last().map_or(0, |last| last + 1))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice.below(bound)
    }
}
