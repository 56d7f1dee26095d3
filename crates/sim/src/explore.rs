//! A user's own tasks under many schedules: find a failure, shrink it, print its replay line.
//!
//! ```text
//!   seeds ─► run, run, run … ─► a failure ─► shrink ─► a line, a table, a sentence
//! ```
//!
//! Shrinking calls a test body with smaller settings, so the body must not change them, and must
//! make what its tasks share anew in each call.

use std::env::VarError;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::line::{Fields, ReplayLine};
use crate::oracle::{Oracle, Violation};
use crate::report::{Failure, Report};
use crate::schedule::StrategyKind;
use crate::setup::Setup;
use crate::shrink::{Shrink, Subject, quietly};
use crate::simulation::Simulation;

impl Simulation {
    /// Runs `body` under a schedule from each of `seeds` until one fails, and shrinks that failure.
    /// Returns the number of schedules if all pass.
    ///
    /// The schedules are random walks, every other one [sticky](StrategyKind::Sticky), unless
    /// another [strategy](Simulation::strategy) was set. Only the first failure's panic reaches the
    /// panic hook.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use sim::{Access, Failure, Oracle, Simulation, TaskCtx};
    ///
    /// #[derive(Clone, Copy)]
    /// enum Step {
    ///     Sender,
    ///     Receiver,
    /// }
    ///
    /// /// A receiver waits for the sender. If all workers wait, none is left to run the sender.
    /// fn step<C: TaskCtx<Step, ()> + Access>(step: Step, sent: &Cell<bool>, cx: &mut C) {
    ///     match step {
    ///         Step::Sender => cx.access("send", || sent.set(true)),
    ///         Step::Receiver => assert!(cx.wait_until("something was sent", || sent.get())),
    ///     }
    /// }
    ///
    /// fn two_receivers(simulation: Simulation) -> Result<(), Failure> {
    ///     let sent = Cell::new(false);
    ///     let tasks = [Step::Receiver, Step::Receiver, Step::Sender];
    ///     simulation.run(tasks, |_| (), move |task, cx| step(task, &sent, cx))?;
    ///     Ok(())
    /// }
    ///
    /// let failure = Simulation::new(0).workers(2).explore(0..1_000, two_receivers).expect_err("all wait");
    /// assert_eq!(failure.oracle, Oracle::Deadlock);
    /// assert!(failure.sentence().contains("waits until something was sent"));
    /// // One line is the whole run.
    /// let line = failure.course.line.to_string();
    /// let again = two_receivers(Simulation::replay(&line)?).expect_err("the same again");
    /// assert_eq!(again.course.trace_hash, failure.course.trace_hash);
    /// # Ok::<(), sim::LineError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The smallest failure found. If the first does not recur from its own line, that is the
    /// failure: `body` depends on more than its schedule.
    pub fn explore<R>(
        &self,
        seeds: impl IntoIterator<Item = u64>,
        body: impl Fn(Self) -> Result<R, Failure>,
    ) -> Result<u64, Failure> {
        let own = Own {
            base: self,
            body: |simulation| body(simulation).map(|_| ()),
        };
        let mut schedules = 0;
        for seed in seeds {
            let strategy = match self.strategy_kind() {
                StrategyKind::Random if seed % 2 == 1 => StrategyKind::Sticky,
                strategy => strategy,
            };
            let line = ReplayLine {
                fields: self.fields(),
                strategy,
                seed,
                choices: None,
            };
            if let (_, Err(failure)) = own.run(&line, false) {
                let (_, again) = quietly(|| own.run(&line, false));
                return Err(match differs(&failure, again.err().as_ref()) {
                    None => Shrink::default().shrink(&own, &failure),
                    Some(message) => {
                        Failure::new(Violation::new(Oracle::Determinism, message), *failure.course)
                    }
                });
            }
            schedules += 1;
        }
        Ok(schedules)
    }

    /// Runs `body` for each replay line in `corpus`. Skips empty lines and lines that begin with
    /// `#`. Returns the number of runs.
    ///
    /// # Panics
    ///
    /// When a run fails, or a line cannot be read.
    pub fn check_corpus<R>(corpus: &str, body: impl Fn(Self) -> Result<R, Failure>) -> usize {
        let lines = corpus.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let run = lines.map(|line| {
            let simulation = Self::replay(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            if let Err(failure) = body(simulation) {
                panic!("{failure}");
            }
        });
        run.count()
    }

    /// [`explore`](Simulation::explore) for a test: panics with the failure and its replay line.
    ///
    /// # Panics
    ///
    /// When a run fails.
    pub fn check<R>(&self, seeds: impl IntoIterator<Item = u64>, body: impl Fn(Self) -> Result<R, Failure>) {
        if let Err(failure) = self.explore(seeds, body) {
            panic!("{failure}");
        }
    }
}

impl<T, S> Report<T, S> {
    /// Returns the report if `holds`.
    ///
    /// # Errors
    ///
    /// Otherwise a [`Failure`] with `message`, line and schedule.
    pub fn ensure(self, holds: bool, message: impl FnOnce() -> String) -> Result<Self, Failure> {
        if holds {
            return Ok(self);
        }
        let violation = Violation::new(Oracle::Expectation, message());
        Err(Failure::new(violation, self.course))
    }
}

/// The seeds that a test runs: 0 to `default`, unless `WINDLASS_SIM_SEEDS` and
/// `WINDLASS_SIM_SEED_BASE` in the environment say otherwise.
///
/// ```
/// assert_eq!(sim::seeds(200), 0..200);
/// ```
///
/// # Panics
///
/// When a variable is no whole number.
#[must_use]
pub fn seeds(default: u64) -> Range<u64> {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}=`{text}`: not a whole number of 64 bits")),
        Err(VarError::NotPresent) => default,
        Err(error) => panic!("{name}: {error}"),
    };
    let base = number("WINDLASS_SIM_SEED_BASE", 0);
    base..base.saturating_add(number("WINDLASS_SIM_SEEDS", default))
}

fn differs(first: &Failure, second: Option<&Failure>) -> Option<String> {
    let was = format!("a run failed with `{}`, and the same run again", first.sentence());
    match second {
        None => Some(format!("{was} went well")),
        Some(second) if second.course.trace_hash != first.course.trace_hash => {
            Some(format!("{was} took another way"))
        }
        Some(_) => None,
    }
}

struct Own<'a, F> {
    base: &'a Simulation,
    body: F,
}

impl<F: Fn(Simulation) -> Result<(), Failure>> Subject for Own<'_, F> {
    fn settle(&self, mut fields: Fields) -> Option<Fields> {
        let label: Option<String> = fields.take("scenario").ok()?;
        let setup = Setup::read(&mut fields).ok()?;
        fields.end().ok()?;
        // Only the body knows whether there are tasks to hand over.
        let makes_sense = label.as_deref() == Some("own") && setup.producers > 0;
        makes_sense.then(|| self.base.with_setup(setup).fields())
    }

    fn run(&self, line: &ReplayLine, keep_events: bool) -> (u64, Result<(), Failure>) {
        let simulation = self.base.of_line(line).expect("its fields have been settled");
        let meter = Arc::default();
        let outcome = (self.body)(simulation.keep_events(keep_events).metered(Arc::clone(&meter)));
        // Ordering: Relaxed. The run was in this thread.
        (meter.load(Ordering::Relaxed), outcome)
    }
}
