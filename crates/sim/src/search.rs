//! Exhaustive search: every run of a small configuration.
//!
//! A [`Search`] runs a scenario with new choices until none are left: then the scenario is
//! *closed*. [The depth-first driver](depth_first) says what need not run again, and
//! [`crate::fingerprint`] what makes two states equal.
//!
//! To have an end, these runs have no time: no operation takes any, no actor pauses, no park times
//! out. That excludes the policy's decisions by time.
//!
//! A bound limits the preemptions of a run (Musuvathi and Qadeer, "Iterative context bounding for
//! systematic testing of multithreaded programs", PLDI 2007). Two or three find most bugs.

pub(crate) mod configurations;
mod depth_first;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::line::LineError;
use crate::report::Failure;
use crate::scenario::{Load, Scenario, Shape, Summary};

pub use configurations::Configuration;
pub(crate) use depth_first::{DepthFirst, DepthFirstDriver, Reductions};

/// A search through all runs of a scenario.
#[derive(Clone, Debug)]
pub struct Search {
    scenario: Scenario,
    reductions: Reductions,
    keep_events: bool,
    /// Seed of what the scenario itself draws, such as the stages of its jobs.
    pub seed: u64,
    /// Preemptions of a run, at most.
    pub preemptions: Option<u32>,
    /// Runs before it gives up.
    pub schedules_max: u64,
    /// Time before it gives up.
    pub time_max: Duration,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchReport {
    /// Every run within the bound was made, or would have reached a known state.
    pub closed: bool,
    /// Distinct states.
    pub states: u64,
    /// Choices with more than one branch.
    pub choices: u64,
    /// Runs.
    pub schedules: u64,
    /// Steps in all runs.
    pub steps: u64,
    /// Elapsed wall-clock time.
    pub elapsed: Duration,
    /// The failed run that ended the search.
    pub failure: Option<Failure>,
}

impl Search {
    /// A search through all runs of `scenario`.
    ///
    /// # Errors
    ///
    /// The scenario has a setting with which no search ends.
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

    /// The scenario that is searched.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Searches, and calls `progress` now and then.
    pub fn run(&self, progress: impl FnMut(&SearchReport)) -> SearchReport {
        self.run_seeing(progress, |_, _| ())
    }

    /// `see` gets each run that passed, and its number of searched steps.
    pub(crate) fn run_seeing(
        &self,
        mut progress: impl FnMut(&SearchReport),
        mut see: impl FnMut(&Summary, u64),
    ) -> SearchReport {
        let start = Instant::now();
        let search = Rc::new(RefCell::new(DepthFirst::new(self.preemptions, self.reductions)));
        let mut report = SearchReport::default();
        loop {
            let driver = DepthFirstDriver(Rc::clone(&search));
            let outcome = self.scenario.drive(driver, self.seed, self.keep_events);
            let mut search = search.borrow_mut();
            report.schedules += 1;
            report.states = search.states();
            report.choices = search.choices();
            match outcome {
                Ok(summary) => {
                    report.steps += summary.course.steps;
                    see(&summary, search.steps());
                }
                Err(failure) => {
                    report.steps += failure.course.steps;
                    report.failure = Some(failure);
                }
            }
            if report.failure.is_some() {
                break;
            }
            if !search.turn() {
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

const PROGRESS_EVERY: u64 = 1 << 10;

/// Faults that take no time.
const SEARCHED: [Fault; 4] = [
    Fault::SpuriousWake,
    Fault::Retry,
    Fault::Panic,
    Fault::PanicInside,
];

/// Actors of a search, at most: a bit each.
const ACTORS_MAX: usize = 32;

fn check(scenario: &Scenario) -> Result<(), LineError> {
    let setup = &scenario.setup;
    let others = match &scenario.load {
        Load::Tasks(_) | Load::Traffic(_) => 0,
        Load::Jobs(jobs) => jobs.cancels + usize::from(jobs.tasks > 0),
    };
    let unending = Fault::ALL
        .iter()
        .find(|&&fault| setup.faults.of(fault) > 0 && !SEARCHED.contains(&fault));
    let actors = setup.config.workers + setup.producers + setup.waiters + others + 1;
    let problem = match &scenario.load {
        _ if setup.config.tuning.park_timeout.is_some() => {
            "`timeout_ns`: time stands still in a search".to_owned()
        }
        _ if unending.is_some() => {
            let keys = SEARCHED.map(Fault::key).join(", ");
            format!("of faults, a search knows {keys}: nothing is held up where time stands still")
        }
        _ if setup.config.tuning.spin_iters > 0 => {
            "`spin`: what a worker makes of its idle times is not known in a search; it takes `spin=0`"
                .to_owned()
        }
        _ if actors > ACTORS_MAX => {
            format!("{actors} actors; a search has {ACTORS_MAX} at most, and comes to no end with far fewer")
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
