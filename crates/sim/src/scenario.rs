//! Scenarios: what a swarm runs, as plain data that fits into a replay line.
//!
//! A scenario is a load and a [`Setup`]: [tasks](Tasks) on the executor alone, or [jobs](Jobs) and
//! [traffic](Traffic) on the pipeline executor above it.

mod jobs;
mod tasks;
mod traffic;

use std::str::FromStr;

use executor_core::WorkerMetricsLocal;

pub use jobs::Jobs;
pub(crate) use jobs::Submitted;
pub use tasks::{Shape, Tasks};
pub use traffic::{Figures, Latency, Traffic};

use crate::choices::Choices;
use crate::line::{Fields, LineError, ReplayLine};
use crate::oracle::Oracle;
use crate::profile::Profile;
use crate::report::{Course, Failure};
use crate::schedule::StrategyKind;
use crate::search::DepthFirstDriver;
use crate::setup::Setup;
use crate::simulation::Simulation;

/// A load and its setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// What is run.
    pub load: Load,
    /// How it is run.
    pub setup: Setup,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// Tasks on the executor alone.
    Tasks(Tasks),
    /// Jobs on the pipeline executor.
    Jobs(Jobs),
    /// Short jobs beside heavy ones, in virtual time.
    Traffic(Traffic),
}

/// The figures of a scenario's run that passed.
#[derive(Debug)]
pub struct Summary {
    /// The sum of the workers' counters.
    pub metrics: WorkerMetricsLocal,
    /// Virtual time until the last worker had left.
    pub makespan_ns: u64,
    /// Work, span and elapsed virtual time.
    pub profile: Profile,
    /// The run itself.
    pub course: Course,
}

/// Options of a scenario's run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Replaces the strategy's choices.
    pub choices: Option<Choices>,
    /// Keeps every operation instead of the last ones.
    pub keep_events: bool,
    /// An oracle that is ignored, to see which other fails the run.
    pub silenced: Option<Oracle>,
}

impl Scenario {
    /// The scenario of a replay line.
    ///
    /// # Errors
    ///
    /// What is wrong with the line.
    pub fn from_line(line: &ReplayLine) -> Result<Self, LineError> {
        Self::from_fields(line.fields.clone())
    }

    /// The scenario that `fields` describe.
    ///
    /// # Errors
    ///
    /// The first field that is unknown, missing or out of its range.
    pub fn from_fields(mut fields: Fields) -> Result<Self, LineError> {
        let name: Option<String> = fields.take("scenario")?;
        let known = Shape::ALL.map(|shape| shape.to_string()).join(", ");
        let Some(name) = name else {
            return Err(LineError(format!(
                "the field `scenario` is missing; there are jobs, traffic, {known}"
            )));
        };
        let load = match (name.as_str(), Shape::from_str(&name)) {
            ("jobs", _) => Load::Jobs(Jobs::read(&mut fields)?),
            ("traffic", _) => Load::Traffic(Traffic::read(&mut fields)?),
            (_, Ok(shape)) => Load::Tasks(Tasks::read(shape, &mut fields)?),
            ("own", _) => {
                return Err(LineError(
                    "`scenario=own` is a run of a user's own tasks: replay it there, with `Simulation::replay`"
                        .to_owned(),
                ));
            }
            _ => {
                return Err(LineError(format!(
                    "`{name}` is no scenario; there are jobs, traffic, {known}"
                )));
            }
        };
        let setup = Setup::read(&mut fields)?;
        fields.end()?;
        if setup.producers == 0 {
            return Err(LineError(
                "`producers=0`: there is no producer to hand the tasks over".to_owned(),
            ));
        }
        let scenario = Self { load, setup };
        match &scenario.load {
            Load::Tasks(tasks) => tasks.check(&scenario.setup)?,
            Load::Jobs(jobs) => jobs.check(&scenario.setup)?,
            Load::Traffic(traffic) => traffic.check(&scenario.setup)?,
        }
        Ok(scenario)
    }

    /// The fields that describe it.
    #[must_use]
    pub fn fields(&self) -> Fields {
        let mut fields = self.label();
        self.setup.write(&mut fields);
        fields
    }

    fn label(&self) -> Fields {
        let mut label = Fields::default();
        match &self.load {
            Load::Tasks(tasks) => tasks.write(&mut label),
            Load::Jobs(jobs) => jobs.write(&mut label),
            Load::Traffic(traffic) => traffic.write(&mut label),
        }
        label
    }

    /// Runs it.
    ///
    /// # Errors
    ///
    /// The failure, if an oracle finds one.
    pub fn run(&self, strategy: StrategyKind, seed: u64, options: RunOptions) -> Result<Summary, Failure> {
        let mut simulation = self
            .simulation(strategy, seed)
            .keep_events(options.keep_events)
            .silence(options.silenced);
        if let Some(choices) = options.choices {
            simulation = simulation.choices(choices);
        }
        self.run_as(simulation, seed)
    }

    pub(crate) fn drive(
        &self,
        driver: DepthFirstDriver,
        seed: u64,
        keep_events: bool,
    ) -> Result<Summary, Failure> {
        let simulation = self.simulation(StrategyKind::Exhaustive, seed);
        self.run_as(simulation.driven_by(driver).keep_events(keep_events), seed)
    }

    fn simulation(&self, strategy: StrategyKind, seed: u64) -> Simulation {
        Simulation::of(self.setup.clone(), strategy, seed, self.label())
    }

    fn run_as(&self, simulation: Simulation, seed: u64) -> Result<Summary, Failure> {
        match &self.load {
            Load::Tasks(tasks) => tasks.run(simulation),
            Load::Jobs(jobs) => jobs.run(simulation, seed),
            Load::Traffic(traffic) => traffic.run(&simulation, seed),
        }
    }
}
