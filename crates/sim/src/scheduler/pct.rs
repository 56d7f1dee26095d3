//! Probabilistic concurrency testing: random priorities, and a few random moments at which the first becomes the last.
//!
//! Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding
//! bugs", ASPLOS 2010. Whoever of those that may go has the highest priority goes. At `depth` − 1 micro-steps, drawn
//! from `steps` expected ones, whoever goes falls below everybody. A bug of depth `d`, one that shows itself whenever `d`
//! operations come in a certain order, is found by a run with `n` parties and `k` micro-steps with a probability of at
//! least 1/(n·k^(d−1)).
//!
//! That holds for parties that always come to an end. Ours wait in loops now and then, for a ticket that is on its way
//! or for a task that another must run; at the highest priority such a loop would never end. So whoever
//! has gone on alone for twice the steps that were expected of the whole run falls below everybody, too; and after 32 times as
//! many steps in all, whoever has gone on for one.

use super::{Dice, Stretch};
use crate::schedule::{Moment, Strategy};

/// Picks whoever has the highest priority.
#[derive(Clone, Debug)]
pub struct Pct {
    dice: Dice,
    /// Parties, the highest priority first.
    order: Vec<usize>,
    /// Micro-steps at which whoever goes falls, soonest last.
    changes: Vec<u64>,
    step: u64,
    stretch: Stretch,
}

impl Pct {
    /// From `seed`, for bugs of a depth of `depth` in runs of some `steps` micro-steps.
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

    fn fall(&mut self, party: usize) {
        self.order.retain(|&other| other != party);
        self.order.push(party);
    }
}

impl Strategy for Pct {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        for party in self.order.len()..moment.parties() {
            let place = self.dice.below(party + 1);
            self.order.insert(place, party);
        }
        if let Some(last) = moment.last() {
            self.step += 1;
            let changes = self.changes.pop_if(|change| *change <= self.step).is_some();
            if changes || self.stretch.is_over() {
                self.fall(last);
            }
        }
        let party = self
            .order
            .iter()
            .copied()
            .find(|&party| moment.is_runnable(party))
            .expect("somebody may go");
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

    /// Who goes, of two parties that may both go until the end.
    fn walk(seed: u64, depth: u32, steps: u32, length: usize) -> Vec<usize> {
        let parties = [Side::Worker(0), Side::Worker(1)].map(Party::new);
        let mut pct = Pct::new(seed, depth, steps);
        let mut last = None;
        let mut walk = Vec::new();
        for _ in 0..length {
            let party = pct.pick(&Moment::new(&[0, 1], &[], &parties, last));
            last = Some(party);
            walk.push(party);
        }
        walk
    }

    fn switches(walk: &[usize]) -> usize {
        walk.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    #[test]
    fn depth_one_never_preempts_and_each_party_is_first_now_and_then() {
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
        let mut parties = [Side::Worker(0), Side::Worker(1)].map(Party::new);
        let mut pct = Pct::new(0, 1, 100);
        let first = pct.pick(&Moment::new(&[0, 1], &[], &parties, None));
        parties[first].state = State::Finished;
        assert_eq!(
            pct.pick(&Moment::new(&[1 - first], &[], &parties, Some(first))),
            1 - first
        );
    }
}
