//! Exhaustive search: every run that a small configuration can make.
//!
//! A [`Search`] runs a scenario again and again, each time with choices that it has not made before, until there are none
//! left: then the scenario is *closed*. Every run is under the oracles. What is not run again is in [the walk](walk), and
//! what makes two states the same in [`crate::history`].
//!
//! So that there is an end, time stands still in these runs: no operation takes any, nobody pauses, no
//! park times out. What that leaves out is what the policy does with time: which tasks are short, which jobs are late, how long a
//! worker stays with one. A fault strikes or does not, wherever it may.
//!
//! With a bound, only runs in which so many times a party was left that could have gone on are made
//! (Musuvathi and Qadeer, "Iterative context bounding for systematic testing of multithreaded programs", PLDI 2007): a bound of two or
//! three finds most of what there is to find, and closes where all runs are too many.

pub(crate) mod configurations;
mod walk;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::line::LineError;
use crate::report::Failure;
use crate::scenario::{Load, Scenario, Shape, Summary};

pub use configurations::Configuration;
pub(crate) use walk::{Reductions, Walk, Walking};

/// A search through all runs of a scenario.
#[derive(Clone, Debug)]
pub struct Search {
    scenario: Scenario,
    reductions: Reductions,
    keep_events: bool,
    /// What a scenario draws for itself, such as the stages of its jobs, is drawn from this.
    pub seed: u64,
    /// Only runs with at most so many preemptions.
    pub preemptions: Option<u32>,
    /// It gives up after so many runs.
    pub schedules_max: u64,
    /// It gives up after so long.
    pub time_max: Duration,
}

/// What a search came to.
#[derive(Clone, Debug, Default)]
pub struct SearchReport {
    /// Every run within the bound was made, or would have led to what was seen.
    pub closed: bool,
    /// Different states that were found.
    pub states: u64,
    /// Choices with more than one branch.
    pub choices: u64,
    /// Runs.
    pub schedules: u64,
    /// Micro-steps in all runs.
    pub micro_steps: u64,
    /// How long it took, on the clock on the wall.
    pub elapsed: Duration,
    /// The first run that an oracle found fault with. It ends the search.
    pub failure: Option<Failure>,
}

impl Search {
    /// Through all runs of `scenario`.
    ///
    /// # Errors
    ///
    /// The scenario has something that no search comes to an end with.
    pub fn new(scenario: Scenario) -> Result<Self, LineError> {
        check(&scenario)?;
        Ok(Self {
            scenario,
            reductions: Reductions::ALL,
            keep_events: false,
            seed: 0,
            preemptions: None,
            schedules_max: u64::MAX,
            time_max: Duration::MAX,
        })
    }

    /// What is searched.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Searches, and calls `progress` now and then.
    pub fn run(&self, progress: impl FnMut(&SearchReport)) -> SearchReport {
        self.run_seeing(progress, |_, _| ())
    }

    /// As [`Search::run`]; `see` is called with each run that went well, and with how many of its micro-steps were searched.
    pub(crate) fn run_seeing(
        &self,
        mut progress: impl FnMut(&SearchReport),
        mut see: impl FnMut(&Summary, u64),
    ) -> SearchReport {
        let start = Instant::now();
        let walk = Rc::new(RefCell::new(Walk::new(self.preemptions, self.reductions)));
        let mut report = SearchReport::default();
        loop {
            let walking = Walking(Rc::clone(&walk));
            let outcome = self.scenario.walk(walking, self.seed, self.keep_events);
            let mut walk = walk.borrow_mut();
            report.schedules += 1;
            report.states = walk.states();
            report.choices = walk.choices();
            match outcome {
                Ok(summary) => {
                    report.micro_steps += summary.course.micro_steps;
                    see(&summary, walk.steps());
                }
                Err(failure) => {
                    report.micro_steps += failure.course.micro_steps;
                    report.failure = Some(failure);
                }
            }
            if report.failure.is_some() {
                break;
            }
            if !walk.turn() {
                report.closed = true;
                break;
            }
            if report.schedules.is_multiple_of(PROGRESS_EVERY) {
                report.elapsed = start.elapsed();
                progress(&report);
                if report.elapsed >= self.time_max {
                    break;
                }
            }
            if report.schedules >= self.schedules_max {
                break;
            }
        }
        report.elapsed = start.elapsed();
        report
    }
}

#[cfg(test)]
mod tests;

/// Runs between two looks at the clock.
const PROGRESS_EVERY: u64 = 1 << 10;

/// The faults that strike or do not, and take no time.
const SEARCHED: [Fault; 4] = [
    Fault::SpuriousWake,
    Fault::Retry,
    Fault::Panic,
    Fault::PanicInside,
];

/// As many as there are bits for parties.
const PARTIES_MAX: usize = 32;

fn check(scenario: &Scenario) -> Result<(), LineError> {
    let setup = &scenario.setup;
    let others = match &scenario.load {
        Load::Tasks(_) | Load::Traffic(_) => 0,
        Load::Jobs(jobs) => jobs.cancels + usize::from(jobs.tasks > 0),
    };
    let unending = Fault::ALL
        .iter()
        .find(|&&fault| setup.faults.of(fault) > 0 && !SEARCHED.contains(&fault));
    let parties = setup.config.workers + setup.producers + setup.waiters + others + 1;
    let problem = match &scenario.load {
        _ if setup.config.park_timeout.is_some() => "`timeout_ns`: time stands still in a search".to_owned(),
        _ if unending.is_some() => {
            let keys = SEARCHED.map(Fault::key).join(", ");
            format!("of faults, a search knows {keys}: nothing is held up where time stands still")
        }
        _ if setup.config.spin_iters > 0 => {
            "`spin`: what a worker makes of its idle times is not known in a search; it takes `spin=0`"
                .to_owned()
        }
        _ if parties > PARTIES_MAX => {
            format!(
                "{parties} parties; a search has {PARTIES_MAX} at most, and comes to no end with far fewer"
            )
        }
        Load::Tasks(tasks) if tasks.shape == Shape::Meeting => {
            "`scenario=meeting`: a task that waits beside the ports is none for a search".to_owned()
        }
        Load::Jobs(jobs) if jobs.troubles => "`troubles=true`: time stands still in a search".to_owned(),
        Load::Traffic(_) => "`scenario=traffic`: time stands still in a search".to_owned(),
        Load::Tasks(_) | Load::Jobs(_) => return Ok(()),
    };
    Err(LineError(problem))
}
