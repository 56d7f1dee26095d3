//! Delay-bounded scheduling: everybody goes until they must wait, but for a few random moments.
//!
//! Emmi, Qadeer and Rakamarić, "Delay-bounded scheduling", POPL 2011. The scheduler beneath is deterministic: whoever goes
//! goes on until it must wait, and then it is the turn of the next by number. A delay makes whoever is due lose its
//! turn to the next. `delays` of them are placed at random among `steps` expected micro-steps. So few delays reach what
//! takes many preemptions, as long as most of these come in the order of the turns.
//!
//! Whoever has gone on alone for twice the steps that were expected of the whole run loses its turn as well: a
//! party that waits in a loop would else wait for ever. After 32 times as many steps in all, everybody goes in turn.

use super::{Dice, Stretch};
use crate::schedule::{Moment, Strategy};

/// Picks the party that went last, or whoever is next.
#[derive(Clone, Debug)]
pub struct DelayBounded {
    dice: Dice,
    /// Micro-steps at which whoever is due loses its turn, soonest last.
    delays: Vec<u64>,
    step: u64,
    /// Whose turn it is.
    due: usize,
    stretch: Stretch,
}

impl DelayBounded {
    /// From `seed`, with `delays` delays in the first `steps` micro-steps.
    #[must_use]
    pub fn new(seed: u64, delays: u32, steps: u32) -> Self {
        let mut dice = Dice::new(seed);
        let delays = super::moments(&mut dice, delays, steps);
        Self {
            dice,
            delays,
            step: 0,
            due: 0,
            stretch: Stretch::new(steps),
        }
    }
}

impl Strategy for DelayBounded {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        self.step += 1;
        let mut party = moment.next_from(self.due);
        if self.stretch.is_over() {
            party = moment.next_from(party + 1);
        }
        while self.delays.pop_if(|delay| *delay <= self.step).is_some() {
            party = moment.next_from(party + 1);
        }
        self.due = party;
        self.stretch.goes(party);
        party
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice.below(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::party::{Party, Side, State};

    /// Who goes, of three parties that may all go until the end.
    fn walk(seed: u64, delays: u32, steps: u32, length: usize) -> Vec<usize> {
        let parties = [Side::Worker(0), Side::Worker(1), Side::Worker(2)].map(Party::new);
        let mut strategy = DelayBounded::new(seed, delays, steps);
        let mut last = None;
        let mut walk = Vec::new();
        for _ in 0..length {
            let party = strategy.pick(&Moment::new(&[0, 1, 2], &[], &parties, last));
            last = Some(party);
            walk.push(party);
        }
        walk
    }

    #[test]
    fn without_delays_the_first_goes_until_it_must_wait() {
        assert_eq!(walk(5, 0, 100, 100), vec![0; 100]);
        let mut parties = [Side::Worker(0), Side::Worker(1)].map(Party::new);
        let mut strategy = DelayBounded::new(5, 0, 100);
        parties[0].state = State::Joining;
        assert_eq!(strategy.pick(&Moment::new(&[1], &[], &parties, None)), 1);
        parties[0].state = State::Runnable;
        let moment = Moment::new(&[1, 0], &[], &parties, Some(1));
        assert_eq!(strategy.pick(&moment), 1, "it has its turn until it waits");
    }

    #[test]
    fn each_delay_passes_the_turn_on() {
        for seed in 0..64 {
            let walk = walk(seed, 5, 100, 101);
            assert_eq!(walk.last(), Some(&(5 % 3)), "seed {seed}");
        }
    }

    #[test]
    fn who_goes_on_for_too_long_loses_the_turn() {
        assert_eq!(walk(0, 0, 1, 7), [0, 0, 1, 1, 2, 2, 0]);
    }
}
