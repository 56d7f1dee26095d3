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
    /// Micro-steps in all of them, about: a run that goes well is reckoned as long as the last that did not.
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

    /// Runs what `line` says.
    fn run(&self, line: &ReplayLine, keep_events: bool) -> Result<(), Failure>;
}

/// The scenarios that a line can name.
struct Scenarios;

impl Subject for Scenarios {
    fn settle(&self, fields: Fields) -> Option<Fields> {
        Scenario::from_fields(fields)
            .ok()
            .map(|scenario| scenario.fields())
    }

    fn run(&self, line: &ReplayLine, keep_events: bool) -> Result<(), Failure> {
        let options = RunOptions {
            choices: line.choices.clone(),
            keep_events,
            ..RunOptions::default()
        };
        let scenario = Scenario::from_line(line).expect("its fields have been settled");
        scenario.run(line.strategy, line.seed, options).map(|_| ())
    }
}

/// Walks that each smaller scenario is tried under, of each kind.
const WALKS: u64 = 16;

/// Walks from which the schedule is shrunk, and how many of those that fail are.
const STARTS: u64 = 128;
const STARTS_KEPT: usize = 3;

/// Times that the scenario is shrunk and then the schedule.
const ROUNDS: u64 = 3;

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
    /// Micro-steps of the last run that failed.
    usual: u64,
    tried: u64,
    /// So many micro-steps without an end are none.
    limit: Option<u64>,
    /// Scenarios that did not fail, in this round.
    hopeless: HashSet<String>,
}

impl<'a, S: Subject> Shrinker<'a, S> {
    fn new(budget: &Shrink, subject: &'a S, failure: &Failure) -> Self {
        Self {
            subject,
            oracle: failure.oracle,
            left: budget.clone(),
            usual: failure.course.micro_steps,
            tried: 0,
            limit: (failure.oracle == Oracle::Liveness).then_some(ENDLESS),
            hopeless: HashSet::new(),
        }
    }

    fn run(mut self, failure: &Failure) -> Failure {
        let steps = failure.course.line.fields.get("steps").map(str::to_owned);
        loop {
            if let Some(smallest) = self.smallest(failure) {
                let line = ReplayLine {
                    fields: match self.limit {
                        Some(_) => smallest.line.fields.with("steps", steps.as_deref()),
                        None => smallest.line.fields,
                    },
                    ..smallest.line
                };
                self.tried += 1;
                // The last run is with all operations kept, and without an early end: if it had one, what looked endless
                // was only long.
                match self.subject.run(&line, true) {
                    Err(mut shrunk) if shrunk.oracle == self.oracle => {
                        shrunk.found = Some(Box::new(Found {
                            line: failure.course.line.clone(),
                            micro_steps: failure.course.micro_steps,
                            switches: failure.course.choices.switches(),
                            runs: self.tried,
                        }));
                        return shrunk;
                    }
                    _ => {}
                }
            }
            match self.limit {
                Some(limit) if self.is_left() && limit < failure.course.micro_steps => {
                    self.limit = Some(limit.saturating_mul(16));
                }
                _ => return failure.clone(),
            }
        }
    }

    /// The smallest that was found, if the failure comes again at all.
    fn smallest(&mut self, failure: &Failure) -> Option<Failing> {
        let mut line = failure.course.line.clone();
        line.fields = self.subject.settle(self.limited(line.fields))?;
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
            if found.is_some() {
                return found;
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

    fn limited(&self, fields: Fields) -> Fields {
        match self.limit {
            Some(limit) => fields.with("steps", Some(&limit.to_string())),
            None => fields,
        }
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
        if self
            .limit
            .is_some_and(|limit| choices.picks.len() as u64 > limit / 4)
        {
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
        if self.limit.is_none() {
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
        let outcome = self.subject.run(line, false);
        if let Err(failure) = &outcome {
            self.usual = failure.course.micro_steps;
        }
        self.left.micro_steps = self.left.micro_steps.saturating_sub(self.usual);
        let course = outcome
            .err()
            .filter(|failure| failure.oracle == self.oracle)?
            .course;
        let choices = match (&line.choices, self.limit) {
            // What comes after the list of an endless run is not part of it.
            (Some(given), Some(_)) => course.choices.as_far_as(given),
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
