//! A user's own tasks under many schedules: find, shrink, and say how to have it again.
//!
//! ```text
//!   seeds ─► run, run, run … ─► a failure ─► shrink ─► a line, a table, a sentence
//! ```
//!
//! What is run is a function from a [`Simulation`] to what came of it. It is called with the settings that the exploration
//! begins with, and later with smaller ones, so it sets nothing itself and makes what its tasks share anew in each
//! call.

use crate::line::{Fields, ReplayLine};
use crate::oracle::{Oracle, Violation};
use crate::report::{Failure, Report};
use crate::schedule::StrategyKind;
use crate::setup::Setup;
use crate::shrink::{Shrink, Subject};
use crate::simulation::Simulation;

impl Simulation {
    /// Runs `scene` under a schedule from each of `seeds`, until one fails, and gives that failure in its smallest
    /// form; or how many schedules all went well.
    ///
    /// The schedules are random walks, every other one [sticky](StrategyKind::Sticky), unless another
    /// [strategy](Simulation::strategy) was set. The first failure's panic, if it is one, is reported as usual, those on
    /// the way to the smallest are not.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use std::rc::Rc;
    /// use sim::{Failure, Simulation, TaskCtx};
    ///
    /// /// Reads, and writes back one more. Somebody else may have done so in between.
    /// fn add_one<C: TaskCtx<(), ()>>(total: &Cell<u32>, cx: &mut C) {
    ///     let seen = cx.access("read the total", || total.get());
    ///     cx.access("write one more", || total.set(seen + 1));
    /// }
    ///
    /// fn two_add_one(simulation: Simulation) -> Result<(), Failure> {
    ///     let total = Rc::new(Cell::new(0));
    ///     let shared = Rc::clone(&total);
    ///     let report = simulation.run([(), ()], |_| (), move |(), cx| add_one(&shared, cx))?;
    ///     report.ensure(total.get() == 2, || format!("the total is {}", total.get()))?;
    ///     Ok(())
    /// }
    ///
    /// let failure = Simulation::new(0).workers(2).explore(0..1_000, two_add_one).expect_err("one is lost");
    /// assert_eq!(failure.message, "the total is 1");
    /// // One line is the whole run.
    /// let line = failure.course.line.to_string();
    /// let again = two_add_one(Simulation::replay(&line)?).expect_err("the same again");
    /// assert_eq!(again.course.trace_hash, failure.course.trace_hash);
    /// # Ok::<(), sim::LineError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The smallest failure that was found from the first.
    pub fn explore<R>(
        &self,
        seeds: impl IntoIterator<Item = u64>,
        scene: impl Fn(Self) -> Result<R, Failure>,
    ) -> Result<u64, Failure> {
        let own = Own {
            base: self,
            scene: |simulation| scene(simulation).map(|_| ()),
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
            if let Err(failure) = own.run(&line, false) {
                return Err(Shrink::default().shrink(&own, &failure));
            }
            schedules += 1;
        }
        Ok(schedules)
    }

    /// As [`explore`](Simulation::explore), for a test: panics with the failure, which prints how to have it again.
    ///
    /// # Panics
    ///
    /// When a run fails.
    pub fn check<R>(&self, seeds: impl IntoIterator<Item = u64>, scene: impl Fn(Self) -> Result<R, Failure>) {
        if let Err(failure) = self.explore(seeds, scene) {
            panic!("{failure}");
        }
    }
}

impl<T, S> Report<T, S> {
    /// The report itself, if what its reader expects of the run `holds`.
    ///
    /// # Errors
    ///
    /// Else a failure of the run like any other, with a line and a schedule, that says `message`.
    pub fn ensure(self, holds: bool, message: impl FnOnce() -> String) -> Result<Self, Failure> {
        if holds {
            return Ok(self);
        }
        let violation = Violation::new(Oracle::Expectation, message());
        Err(Failure::new(violation, self.course))
    }
}

/// Somebody's own tasks.
struct Own<'a, F> {
    base: &'a Simulation,
    scene: F,
}

impl<F: Fn(Simulation) -> Result<(), Failure>> Subject for Own<'_, F> {
    fn settle(&self, mut fields: Fields) -> Option<Fields> {
        let label: Option<String> = fields.take("scenario").ok()?;
        let setup = Setup::read(&mut fields).ok()?;
        fields.end().ok()?;
        // Whether there are tasks to hand over only the scene knows.
        let makes_sense = label.as_deref() == Some("own") && setup.producers > 0;
        makes_sense.then(|| self.base.with_setup(setup).fields())
    }

    fn run(&self, line: &ReplayLine, keep_events: bool) -> Result<(), Failure> {
        let simulation = self.base.of_line(line).expect("its fields have been settled");
        (self.scene)(simulation.keep_events(keep_events))
    }
}
