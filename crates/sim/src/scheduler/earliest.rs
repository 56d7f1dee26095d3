//! Always the party whose clock is earliest: a discrete-event simulation of a machine with a core for each party.
//!
//! With this order the makespan is one that such a machine could show. Equal clocks go by number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Dice;
use crate::schedule::{Moment, Strategy};

/// Picks whoever is furthest behind in virtual time.
#[derive(Clone, Debug)]
pub struct Earliest {
    dice: Dice,
    /// Who may go, with their clocks, but for the party that went last: it alone and those that arrive have clocks that have moved.
    others: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Earliest {
    /// Questions of chance are answered from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            others: BinaryHeap::new(),
        }
    }
}

impl Strategy for Earliest {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        let at = |party| Reverse((moment.clock_ps(party), party));
        let last = moment.last().filter(|&last| moment.is_runnable(last));
        let arrived = moment.arrived().iter().copied();
        self.others
            .extend(arrived.filter(|&party| Some(party) != last).map(at));
        match (last.map(at), self.others.peek()) {
            // The greater of the two is the earlier.
            (Some(last), next) if next.is_none_or(|next| *next < last) => last.0.1,
            (Some(last), _) => {
                let mut next = self.others.peek_mut().expect("it was compared");
                std::mem::replace(&mut *next, last).0.1
            }
            (None, _) => self.others.pop().expect("somebody may go").0.1,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice.below(bound)
    }
}
