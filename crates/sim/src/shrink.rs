//! Shrinks a failure: fewer actors, tasks and faults, simpler settings, then the shortest schedule
//! with the fewest switches that still fails the same oracle.
//!
//! ```text
//!   failure ─► scenario: one field at a time, each tried under several schedules ─┐
//!                 ▲                                                               ▼
//!                 └──── once more, from the shorter list ◄──── schedule: segments taken out, joined and
//!                                                              cut, numbers set to 0 (delta debugging)
//! ```
//!
//! Taking out ever smaller chunks is Zeller and Hildebrandt's ddmin ("Simplifying and isolating
//! failure-inducing input", 2002). The chunks are segments: cutting single picks would lead to a
//! switch at every step. Shrinking is deterministic: its budget is runs and steps, not time.

mod quiet;
mod renumbering;
mod segments;
mod smaller;

use std::collections::HashSet;

use crate::choices::Choices;
use crate::line::{Fields, LineError, ReplayLine};
use crate::oracle::Oracle;
use crate::report::{Failure, Found};
use crate::scenario::{RunOptions, Scenario};
use crate::schedule::StrategyKind;

use renumbering::Renumbering;
use segments::Segments;

pub(crate) use quiet::quietly;

/// The budget of shrinking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrink {
    /// Runs, at most.
    pub runs: u64,
    /// Steps of all runs, at most.
    pub steps: u64,
}

impl Default for Shrink {
    /// A second or two in a release build.
    fn default() -> Self {
        Self {
            runs: 30_000,
            steps: 10_000_000,
        }
    }
}

impl Shrink {
    /// Shrinks a scenario's failure to a small one of the same oracle, or returns the failure
    /// itself if its line does not reproduce it.
    ///
    /// # Errors
    ///
    /// The failure's line is of a user's own tasks:
    /// [`Simulation::explore`](crate::Simulation::explore) shrinks those.
    pub fn scenario(&self, failure: &Failure) -> Result<Failure, LineError> {
        Scenario::from_line(&failure.course.line)?;
        Ok(self.shrink(&Scenarios, failure))
    }

    pub(crate) fn shrink(&self, subject: &impl Subject, failure: &Failure) -> Failure {
        // A difference between two runs is no property of one.
        if failure.oracle == Oracle::Determinism {
            return failure.clone();
        }
        quietly(|| Shrinker::new(self, subject, failure).run(failure))
    }
}

pub(crate) trait Subject {
    /// `None` if the fields make no sense.
    fn settle(&self, fields: Fields) -> Option<Fields>;

    /// Returns the steps, too.
    fn run(&self, line: &ReplayLine, keep_events: bool) -> (u64, Result<(), Failure>);
}

struct Scenarios;

impl Subject for Scenarios {
    fn settle(&self, fields: Fields) -> Option<Fields> {
        Scenario::from_fields(fields)
            .ok()
            .map(|scenario| scenario.fields())
    }

    fn run(&self, line: &ReplayLine, keep_events: bool) -> (u64, Result<(), Failure>) {
        let options = RunOptions {
            choices: line.choices.clone(),
            keep_events,
            ..RunOptions::default()
        };
        let scenario = Scenario::from_line(line).expect("its fields have been settled");
        match scenario.run(line.strategy, line.seed, options) {
            Ok(summary) => (summary.course.steps, Ok(())),
            Err(failure) => (failure.course.steps, Err(failure)),
        }
    }
}

/// Random walks of each kind for each smaller scenario.
const WALKS: u64 = 16;

/// Random walks to shrink the schedule from; failing ones that are used.
const STARTS: u64 = 128;
const STARTS_KEPT: usize = 3;

/// Rounds of shrinking the scenario and then the schedule.
const ROUNDS: u64 = 3;

const STEPS: &str = "steps";

const UNDISTURBED: usize = 1_024;

/// Steps at which a run counts as endless while an endless one is shrunk.
const ENDLESS: u64 = 16_384;

/// A schedule's quality: switches, steps, random numbers that are not 0, their sum.
type Measure = (usize, usize, usize, u64);

#[derive(Clone, Debug)]
struct Failing {
    line: ReplayLine,
    measure: Measure,
}

impl Failing {
    fn choices(&self) -> &Choices {
        self.line.choices.as_ref().expect("a failing run has its choices")
    }
}

struct Shrinker<'a, S> {
    subject: &'a S,
    oracle: Oracle,
    left: Shrink,
    tried: u64,
    is_endless: bool,
    limit: u64,
    hopeless: HashSet<String>,
}

impl<'a, S: Subject> Shrinker<'a, S> {
    fn new(budget: &Shrink, subject: &'a S, failure: &Failure) -> Self {
        let is_endless = failure.oracle == Oracle::Liveness;
        let own_limit = failure
            .course
            .line
            .fields
            .get(STEPS)
            .and_then(|steps| steps.parse().ok());
        let far_longer = failure.course.steps.saturating_mul(4).saturating_add(ENDLESS / 4);
        Self {
            subject,
            oracle: failure.oracle,
            left: budget.clone(),
            tried: 0,
            is_endless,
            limit: match own_limit {
                _ if is_endless => ENDLESS,
                Some(own_limit) => far_longer.min(own_limit),
                None => far_longer,
            },
            hopeless: HashSet::new(),
        }
    }

    fn run(mut self, failure: &Failure) -> Failure {
        let own_limit = failure.course.line.fields.get(STEPS);
        loop {
            if let Some(smallest) = self.smallest(failure) {
                let line = ReplayLine {
                    fields: smallest.line.fields.with(STEPS, own_limit),
                    ..smallest.line
                };
                self.tried += 1;
                // With its own limit an endless run may end: then it was only long.
                if let (_, Err(mut shrunk)) = self.subject.run(&line, true)
                    && shrunk.oracle == self.oracle
                {
                    shrunk.found = Some(Box::new(Found {
                        line: failure.course.line.clone(),
                        steps: failure.course.steps,
                        switches: failure.course.choices.switches(),
                        runs: self.tried,
                    }));
                    return shrunk;
                }
            }
            if !self.is_endless || !self.is_left() || self.limit >= failure.course.steps {
                return failure.clone();
            }
            self.limit = self.limit.saturating_mul(16);
        }
    }

    /// `None` if the failure does not recur.
    fn smallest(&mut self, failure: &Failure) -> Option<Failing> {
        let mut line = failure.course.line.clone();
        let limit = self.limit.to_string();
        line.fields = self.subject.settle(line.fields.with(STEPS, Some(&limit)))?;
        let mut best = (self.attempt_undisturbed(&line))
            .or_else(|| self.attempt_with(&line, failure.course.choices.clone()))
            .or_else(|| self.walk(&line))?;
        for round in 0..ROUNDS {
            self.hopeless.clear();
            let before = best.line.to_string();
            best = self.smaller_scenario(best, round);
            best = self.shorter_schedule(best, round);
            if best.line.to_string() == before {
                break;
            }
        }
        Some(best)
    }

    fn smaller_scenario(&mut self, mut best: Failing, round: u64) -> Failing {
        loop {
            let mut improved = false;
            for name in smaller::names(&best.line.fields) {
                while let Some(found) = self.with_less_of(&name, &best, round) {
                    best = found;
                    improved = true;
                }
            }
            if !improved || !self.is_left() {
                return best;
            }
        }
    }

    fn with_less_of(&mut self, name: &str, best: &Failing, round: u64) -> Option<Failing> {
        for wanted in smaller::candidates(&best.line.fields, name) {
            let Some(fields) = self.subject.settle(wanted.clone()) else {
                continue;
            };
            // Some fields cannot be left out.
            if fields.get(name) != wanted.get(name) || !self.hopeless.insert(fields.to_string()) {
                continue;
            }
            let carried = Renumbering::of(&best.line.fields).carry(&Renumbering::of(&fields), best.choices());
            let line = ReplayLine {
                fields,
                ..best.line.clone()
            };
            let found = (self.attempt_undisturbed(&line))
                .or_else(|| self.attempt_with(&line, carried))
                .or_else(|| (0..WALKS).find_map(|walk| self.walk_both(&line, round * WALKS + walk)));
            // A simpler shape may stand for far more tasks.
            let most = 2 * best.measure.1 + 64;
            if let Some(found) = found.filter(|found| found.measure.1 <= most) {
                return Some(found);
            }
        }
        None
    }

    fn shorter_schedule(&mut self, best: Failing, round: u64) -> Failing {
        let mut starts = vec![best];
        for walk in 0..STARTS {
            let found = self.walk_both(&starts[0].line.clone(), round * STARTS + walk);
            starts.extend(found);
        }
        starts.sort_by_key(|start| start.measure);
        starts.dedup_by_key(|start| start.measure);
        starts.truncate(STARTS_KEPT);
        let shortest = starts
            .into_iter()
            .map(|start| Segments::new(self, start).shortest())
            .min_by_key(|failing| failing.measure);
        shortest.expect("there is one start at least")
    }

    fn is_left(&self) -> bool {
        self.left.runs > 0 && self.left.steps > 0
    }

    /// The workers go first, or the producer so that they find work.
    fn attempt_undisturbed(&mut self, line: &ReplayLine) -> Option<Failing> {
        let producer = Renumbering::of(&line.fields).first_producer();
        let producer_first = Choices::of_segments(&[(producer, UNDISTURBED)], Vec::new());
        (self.attempt_with(line, Choices::default())).or_else(|| self.attempt_with(line, producer_first))
    }

    fn attempt_with(&mut self, line: &ReplayLine, choices: Choices) -> Option<Failing> {
        // A list up to the limit would make any run endless.
        if self.is_endless && choices.picks.len() as u64 > self.limit / 4 {
            return None;
        }
        self.attempt(&ReplayLine {
            choices: Some(choices),
            ..line.clone()
        })
    }

    fn walk(&mut self, line: &ReplayLine) -> Option<Failing> {
        let failing = self.attempt(&ReplayLine {
            choices: None,
            ..line.clone()
        })?;
        if !self.is_endless {
            return Some(failing);
        }
        let all = failing.choices();
        [16, 128, 1024].into_iter().find_map(|picks| {
            let mut choices = all.clone();
            choices.picks.truncate(picks);
            self.attempt_with(line, choices)
        })
    }

    fn walk_both(&mut self, line: &ReplayLine, walk: u64) -> Option<Failing> {
        [StrategyKind::Sticky, StrategyKind::Random]
            .into_iter()
            .find_map(|strategy| {
                self.walk(&ReplayLine {
                    strategy,
                    seed: walk,
                    ..line.clone()
                })
            })
    }

    fn attempt(&mut self, line: &ReplayLine) -> Option<Failing> {
        if !self.is_left() {
            return None;
        }
        self.tried += 1;
        self.left.runs -= 1;
        let (steps, outcome) = self.subject.run(line, false);
        self.left.steps = self.left.steps.saturating_sub(steps);
        let course = outcome
            .err()
            .filter(|failure| failure.oracle == self.oracle)?
            .course;
        let choices = match &line.choices {
            // What follows the list of an endless run is no part of it.
            Some(given) if self.is_endless => course.choices.as_far_as(given),
            _ => course.choices.as_far_as(&course.choices),
        };
        let non_zero = choices.numbers.iter().filter(|&&number| number != 0);
        let measure = (
            choices.switches(),
            choices.picks.len(),
            non_zero.clone().count(),
            non_zero.fold(0, |sum: u64, number| sum.saturating_add(*number)),
        );
        Some(Failing {
            line: ReplayLine {
                choices: Some(choices),
                ..line.clone()
            },
            measure,
        })
    }
}
