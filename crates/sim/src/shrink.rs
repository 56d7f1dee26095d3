//! From a failure to a small one: fewer parties and tasks, fewer faults, simpler settings, and then the shortest schedule
//! with the fewest switches that still makes the same oracle speak.
//!
//! ```text
//!   failure ─► scenario: one field at a time, each tried under several schedules ─┐
//!                 ▲                                                               ▼
//!                 └──── once more, from the shorter list ◄──── schedule: segments taken out, joined and
//!                                                              cut, numbers set to 0 (delta debugging)
//! ```
//!
//! Taking things out in ever smaller chunks is Zeller and Hildebrandt's ddmin ("Simplifying and isolating failure-inducing
//! input", 2002). What is taken out here are segments, the stretches in which one party goes on undisturbed: a list of
//! single picks would be cut into one that switches at every step. A failure on few switches is also the likelier one
//! (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007), and the one that a person can follow.
//!
//! The way is the same for the same failure: there is a budget of runs and of micro-steps, and no clock.

mod crew;
mod quiet;
mod segments;
mod smaller;

use std::collections::HashSet;

use crate::choices::Choices;
use crate::line::{Fields, LineError, ReplayLine};
use crate::oracle::Oracle;
use crate::report::{Failure, Found};
use crate::scenario::{RunOptions, Scenario};
use crate::schedule::StrategyKind;

use crew::Crew;
use segments::Segments;

pub(crate) use quiet::quietly;

/// How much may be tried. When it is used up, what has been reached is the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrink {
    /// Runs, at most.
    pub runs: u64,
    /// Micro-steps in all of them.
    pub micro_steps: u64,
}

impl Default for Shrink {
    /// A second or two in a release build.
    fn default() -> Self {
        Self {
            runs: 30_000,
            micro_steps: 10_000_000,
        }
    }
}

impl Shrink {
    /// A small failure of the same oracle, from a scenario's.
    ///
    /// The result is a run that has happened, with all its operations, and its line has its choices in it. It is the
    /// failure itself if its line does not lead to it again.
    ///
    /// # Errors
    ///
    /// The failure's line is of no scenario, but of somebody's own tasks: [`Simulation::explore`](crate::Simulation::explore)
    /// shrinks those.
    pub fn scenario(&self, failure: &Failure) -> Result<Failure, LineError> {
        Scenario::from_line(&failure.course.line)?;
        Ok(self.shrink(&Scenarios, failure))
    }

    pub(crate) fn shrink(&self, subject: &impl Subject, failure: &Failure) -> Failure {
        // Two runs that differ are no property of one.
        if failure.oracle == Oracle::Determinism {
            return failure.clone();
        }
        quietly(|| Shrinker::new(self, subject, failure).run(failure))
    }
}

/// What can be run from a line.
pub(crate) trait Subject {
    /// These fields as a line would have them, if they make sense.
    fn settle(&self, fields: Fields) -> Option<Fields>;

    /// Runs what `line` says. Gives how many micro-steps it took, too.
    fn run(&self, line: &ReplayLine, keep_events: bool) -> (u64, Result<(), Failure>);
}

/// The scenarios that a line can name.
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
            Ok(summary) => (summary.course.micro_steps, Ok(())),
            Err(failure) => (failure.course.micro_steps, Err(failure)),
        }
    }
}

/// Walks that each smaller scenario is tried under, of each kind.
const WALKS: u64 = 16;

/// Walks from which the schedule is shrunk, and how many of those that fail are.
const STARTS: u64 = 128;
const STARTS_KEPT: usize = 3;

/// Times that the scenario is shrunk and then the schedule.
const ROUNDS: u64 = 3;

/// The field of the step limit.
const STEPS: &str = "steps";

/// More micro-steps than somebody who hands over a few tasks takes.
const UNDISTURBED: usize = 1_024;

/// While a run without an end is shrunk, so many micro-steps are taken for none.
const ENDLESS: u64 = 16_384;

/// What makes a schedule good: few switches, few micro-steps, few and small answers to questions of chance.
type Measure = (usize, usize, usize, u64);

/// A run that fails as it should.
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
    /// Whether what is wrong is that there is no end.
    is_endless: bool,
    /// After so many micro-steps a run is given up, or taken for one without an end.
    limit: u64,
    /// Scenarios that did not fail, in this round.
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
        let far_longer = failure
            .course
            .micro_steps
            .saturating_mul(4)
            .saturating_add(ENDLESS / 4);
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
                // The last run is with all operations kept, and under its own limit: if it comes to an end then, what
                // looked endless was only long.
                if let (_, Err(mut shrunk)) = self.subject.run(&line, true)
                    && shrunk.oracle == self.oracle
                {
                    shrunk.found = Some(Box::new(Found {
                        line: failure.course.line.clone(),
                        micro_steps: failure.course.micro_steps,
                        switches: failure.course.choices.switches(),
                        runs: self.tried,
                    }));
                    return shrunk;
                }
            }
            if !self.is_endless || !self.is_left() || self.limit >= failure.course.micro_steps {
                return failure.clone();
            }
            self.limit = self.limit.saturating_mul(16);
        }
    }

    /// The smallest that was found, if the failure comes again at all.
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

    /// Makes the scenario smaller, one field at a time, until no field can be.
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
            // What comes back changed, as a field that cannot be left out does, is another scenario than was wanted.
            if fields.get(name) != wanted.get(name) || !self.hopeless.insert(fields.to_string()) {
                continue;
            }
            let carried = Crew::of(&best.line.fields).carry(&Crew::of(&fields), best.choices());
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

    /// Makes the schedule shorter, from the best list and from some walks.
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
        self.left.runs > 0 && self.left.micro_steps > 0
    }

    /// Everybody goes on until it cannot: the workers first, or whoever hands over, so that there is something to do when
    /// they come.
    fn attempt_undisturbed(&mut self, line: &ReplayLine) -> Option<Failing> {
        let producer = Crew::of(&line.fields).first_producer();
        let producer_first = Choices::of_segments(&[(producer, UNDISTURBED)], Vec::new());
        (self.attempt_with(line, Choices::default())).or_else(|| self.attempt_with(line, producer_first))
    }

    fn attempt_with(&mut self, line: &ReplayLine, choices: Choices) -> Option<Failing> {
        // A list that goes on to the limit would make any run endless; only what follows it is fair to everybody.
        if self.is_endless && choices.picks.len() as u64 > self.limit / 4 {
            return None;
        }
        self.attempt(&ReplayLine {
            choices: Some(choices),
            ..line.clone()
        })
    }

    /// The line's own strategy and seed.
    fn walk(&mut self, line: &ReplayLine) -> Option<Failing> {
        let failing = self.attempt(&ReplayLine {
            choices: None,
            ..line.clone()
        })?;
        if !self.is_endless {
            return Some(failing);
        }
        // As little of it as must be, and then everybody fairly.
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
        let (micro_steps, outcome) = self.subject.run(line, false);
        self.left.micro_steps = self.left.micro_steps.saturating_sub(micro_steps);
        let course = outcome
            .err()
            .filter(|failure| failure.oracle == self.oracle)?
            .course;
        let choices = match &line.choices {
            // What comes after the list of an endless run is not part of it.
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
