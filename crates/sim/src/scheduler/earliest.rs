//! Always the party whose clock is earliest: a discrete-event simulation of a machine with a core for each party.
//!
//! With this order the makespan is one that such a machine could show. Equal clocks go by number.

use super::Dice;
use crate::schedule::{Moment, Strategy};

/// Picks whoever is furthest behind in virtual time.
#[derive(Clone, Debug)]
pub struct Earliest {
    dice: Dice,
}

impl Earliest {
    /// Questions of chance are answered from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
        }
    }
}

impl Strategy for Earliest {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        let behind = moment.runnable().iter().copied();
        behind
            .min_by_key(|&party| (moment.clock_ns(party), party))
            .expect("somebody may go")
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice.below(bound)
    }
}
