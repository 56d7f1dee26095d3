//! Delay-bounded scheduling: each actor goes until it must wait, except at a few random moments.
//!
//! Emmi, Qadeer and Rakamarić, "Delay-bounded scheduling", POPL 2011. Without delays the actors go
//! in order of their numbers; a delay passes the due actor's turn to the next.
//!
//! An actor that goes alone for twice the expected steps loses its turn as well, as it may wait in
//! a loop. After 32 times as many steps in all, the actors go round-robin.

use super::{Dice, Stretch};
use crate::schedule::{Moment, Strategy};

/// Picks the last actor, or the next that is due.
#[derive(Clone, Debug)]
pub struct DelayBounded {
    dice: Dice,
    /// Steps of the delays, soonest last.
    delays: Vec<u64>,
    step: u64,
    due: usize,
    stretch: Stretch,
}

impl DelayBounded {
    /// From `seed`, with `delays` delays in the first `steps` steps.
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
        let mut actor = moment.next_from(self.due);
        if self.stretch.is_over() {
            actor = moment.next_from(actor + 1);
        }
        while self.delays.pop_if(|delay| *delay <= self.step).is_some() {
            actor = moment.next_from(actor + 1);
        }
        self.due = actor;
        self.stretch.goes(actor);
        actor
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice.below(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::{Actor, ActorKind, State};

    fn walk(seed: u64, delays: u32, steps: u32, length: usize) -> Vec<usize> {
        let actors = [ActorKind::Worker(0), ActorKind::Worker(1), ActorKind::Worker(2)].map(Actor::new);
        let mut strategy = DelayBounded::new(seed, delays, steps);
        let mut last = None;
        let mut walk = Vec::new();
        for _ in 0..length {
            let actor = strategy.pick(&Moment::new(&[0, 1, 2], &[], &actors, last));
            last = Some(actor);
            walk.push(actor);
        }
        walk
    }

    #[test]
    fn without_delays_the_first_goes_until_it_must_wait() {
        assert_eq!(walk(5, 0, 100, 100), vec![0; 100]);
        let mut actors = [ActorKind::Worker(0), ActorKind::Worker(1)].map(Actor::new);
        let mut strategy = DelayBounded::new(5, 0, 100);
        actors[0].state = State::Joining;
        assert_eq!(strategy.pick(&Moment::new(&[1], &[], &actors, None)), 1);
        actors[0].state = State::Runnable;
        let moment = Moment::new(&[1, 0], &[], &actors, Some(1));
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
