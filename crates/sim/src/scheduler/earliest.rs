//! The actor with the earliest clock: a discrete-event simulation of a machine with a core for each
//! actor.
//! Equal clocks go by number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Dice;
use crate::schedule::{Moment, Strategy};

/// Picks the actor that is furthest behind in virtual time.
#[derive(Clone, Debug)]
pub struct Earliest {
    dice: Dice,
    /// Runnable actors with their clocks, without the last: only its clock and those of arrivals
    /// have moved.
    others: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Earliest {
    /// Draws random numbers from `seed`.
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
        let at = |actor| Reverse((moment.clock_ps(actor), actor));
        let last = moment.last().filter(|&last| moment.is_runnable(last));
        let arrived = moment.arrived().iter().copied();
        self.others
            .extend(arrived.filter(|&actor| Some(actor) != last).map(at));
        match (last.map(at), self.others.peek()) {
            // The greater of the two is the earlier.
            (Some(last), next) if next.is_none_or(|next| *next < last) => last.0.1,
            (Some(last), _) => {
                let mut next = self.others.peek_mut().expect("it was compared");
                std::mem::replace(&mut *next, last).0.1
            }
            (None, _) => self.others.pop().expect("an actor is runnable").0.1,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice.below(bound)
    }
}
