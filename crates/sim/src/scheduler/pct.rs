//! Probabilistic concurrency testing: random priorities, with a few random moments of change.
//!
//! Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with probabilistic
//! guarantees of finding bugs", ASPLOS 2010. The runnable actor with the highest priority goes. At
//! `depth` − 1 random steps it falls below all others. In a run of `n` actors and `k` steps it
//! finds a bug that `d` operations in a certain order show with a probability of at least
//! 1/(n·k^(d−1)).
//!
//! Our actors may wait in a loop, so an actor that goes alone for twice the expected steps also
//! falls below all others, and after 32 times as many in all, after every step.

use super::{Dice, Stretch};
use crate::schedule::{Moment, Strategy};

/// Picks the actor with the highest priority.
#[derive(Clone, Debug)]
pub struct Pct {
    dice: Dice,
    /// Actors, the highest priority first.
    order: Vec<usize>,
    /// Steps at which the current actor falls, soonest last.
    changes: Vec<u64>,
    step: u64,
    stretch: Stretch,
}

impl Pct {
    /// From `seed`, for bugs of depth `depth` in runs of about `steps` steps.
    #[must_use]
    pub fn new(seed: u64, depth: u32, steps: u32) -> Self {
        let mut dice = Dice::new(seed);
        let changes = super::moments(&mut dice, depth.saturating_sub(1), steps);
        Self {
            dice,
            order: Vec::new(),
            changes,
            step: 0,
            stretch: Stretch::new(steps),
        }
    }

    fn fall(&mut self, actor: usize) {
        self.order.retain(|&other| other != actor);
        self.order.push(actor);
    }
}

impl Strategy for Pct {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        for actor in self.order.len()..moment.actors() {
            let place = self.dice.below(actor + 1);
            self.order.insert(place, actor);
        }
        if let Some(last) = moment.last() {
            self.step += 1;
            let changes = self.changes.pop_if(|change| *change <= self.step).is_some();
            if changes || self.stretch.is_over() {
                self.fall(last);
            }
        }
        let actor = self
            .order
            .iter()
            .copied()
            .find(|&actor| moment.is_runnable(actor))
            .expect("an actor is runnable");
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

    fn walk(seed: u64, depth: u32, steps: u32, length: usize) -> Vec<usize> {
        let actors = [ActorKind::Worker(0), ActorKind::Worker(1)].map(Actor::new);
        let mut pct = Pct::new(seed, depth, steps);
        let mut last = None;
        let mut walk = Vec::new();
        for _ in 0..length {
            let actor = pct.pick(&Moment::new(&[0, 1], &[], &actors, last));
            last = Some(actor);
            walk.push(actor);
        }
        walk
    }

    fn switches(walk: &[usize]) -> usize {
        walk.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    #[test]
    fn depth_one_never_preempts_and_each_actor_is_first_now_and_then() {
        let firsts: Vec<usize> = (0..64)
            .map(|seed| {
                let walk = walk(seed, 1, 100, 100);
                assert_eq!(switches(&walk), 0);
                walk[0]
            })
            .collect();
        assert!(firsts.contains(&0) && firsts.contains(&1));
    }

    #[test]
    fn there_are_as_many_preemptions_as_change_points() {
        for seed in 0..64 {
            assert_eq!(switches(&walk(seed, 4, 100, 110)), 3, "seed {seed}");
        }
    }

    #[test]
    fn who_goes_on_for_too_long_falls() {
        assert_eq!(switches(&walk(0, 1, 10, 70)), 3);
    }

    #[test]
    fn the_highest_of_those_that_may_go_goes() {
        let mut actors = [ActorKind::Worker(0), ActorKind::Worker(1)].map(Actor::new);
        let mut pct = Pct::new(0, 1, 100);
        let first = pct.pick(&Moment::new(&[0, 1], &[], &actors, None));
        actors[first].state = State::Finished;
        assert_eq!(
            pct.pick(&Moment::new(&[1 - first], &[], &actors, Some(first))),
            1 - first
        );
    }
}
