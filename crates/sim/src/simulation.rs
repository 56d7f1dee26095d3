//! A simulation as a user sets it up: settings, then tasks and a runner.
//!
//! ```text
//!   initial tasks ─► producers ─► gate ─► injector ─► workers (core's run loop) ─► scratches
//!                       closer: close, abort          tasks spawn more
//! ```

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use executor_core::{ExecutorConfig, NextTask, WorkerMetricsLocal};
use pipeline_exec::policy::{JobSpec, PipelineConfig};

use crate::actor::ActorKind;
use crate::choices::Choices;
use crate::clock::Costs;
use crate::environment;
use crate::fault::Faults;
use crate::line::{Fields, LineError, ReplayLine};
use crate::oracle::Oracle;
use crate::pipeline::{Claimed, Extras};
use crate::report::{Course, Failure, Report};
use crate::run::{Finished, Run};
use crate::scenario::{Submitted, Summary};
use crate::schedule::{Strategy, StrategyKind};
use crate::scheduler::Replay;
use crate::search::DepthFirstDriver;
use crate::setup::{Ending, Setup};
use crate::task::SimCtx;
use crate::world::World;

/// A run to set up and start.
///
/// The replay line has everything except the tasks and the runner.
#[derive(Clone, Debug)]
pub struct Simulation {
    setup: Setup,
    strategy: StrategyKind,
    seed: u64,
    choices: Option<Choices>,
    keep_events: bool,
    silenced: Option<Oracle>,
    keep_choices: bool,
    driver: Option<DepthFirstDriver>,
    meter: Arc<AtomicU64>,
    /// The kind of tasks, for the replay line.
    label: Fields,
}

impl Simulation {
    /// One worker, one producer, a random walk from `seed`, no faults.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut label = Fields::default();
        label.push("scenario", "own");
        Self::of(Setup::default(), StrategyKind::Random, seed, label)
    }

    pub(crate) fn of(setup: Setup, strategy: StrategyKind, seed: u64, label: Fields) -> Self {
        Self {
            setup,
            strategy,
            seed,
            choices: None,
            keep_events: false,
            silenced: None,
            keep_choices: true,
            driver: None,
            meter: Arc::default(),
            label,
        }
    }

    /// The run of a failure's replay line. Tasks and runner must be the same as then.
    ///
    /// ```
    /// let line = "windlass-sim 1 scenario=own,workers=2 random 7";
    /// let report = sim::Simulation::replay(line)?.run([1, 2, 3], |_| (), |_: u32, _| {}).expect("no race here");
    /// assert_eq!(report.metrics.executed(), 3);
    /// # Ok::<(), sim::LineError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with the line.
    pub fn replay(line: &str) -> Result<Self, LineError> {
        Self::new(0).of_line(&line.parse()?)
    }

    pub(crate) fn of_line(&self, line: &ReplayLine) -> Result<Self, LineError> {
        let mut fields = line.fields.clone();
        let scenario: String = fields.take("scenario")?.unwrap_or_default();
        if scenario != "own" {
            return Err(LineError(format!(
                "this line is of the scenario `{scenario}`, which `windlass-sim --replay` runs"
            )));
        }
        let setup = Setup::read(&mut fields)?;
        fields.end()?;
        Ok(Self {
            setup,
            strategy: line.strategy,
            seed: line.seed,
            choices: line.choices.clone(),
            ..self.clone()
        })
    }

    pub(crate) fn with_setup(&self, setup: Setup) -> Self {
        Self {
            setup,
            ..self.clone()
        }
    }

    pub(crate) fn fields(&self) -> Fields {
        let mut fields = self.label.clone();
        self.setup.write(&mut fields);
        fields
    }

    pub(crate) fn metered(mut self, meter: Arc<AtomicU64>) -> Self {
        self.meter = meter;
        self
    }

    pub(crate) fn strategy_kind(&self) -> StrategyKind {
        self.strategy
    }

    /// The seed, for a test body that draws its tasks from it.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Number of workers.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.setup.config.workers = workers;
        self
    }

    /// All settings of the executor, except its seed, which is not used.
    #[must_use]
    pub fn config(mut self, config: ExecutorConfig) -> Self {
        self.setup.config = config;
        self
    }

    /// The timeout of a worker's park.
    #[must_use]
    pub fn park_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.setup.config.tuning.park_timeout = timeout;
        self
    }

    /// Sets [`Setup::producers`].
    #[must_use]
    pub fn producers(mut self, producers: usize) -> Self {
        self.setup.producers = producers;
        self
    }

    /// Sets [`Setup::batch`].
    #[must_use]
    pub fn batch(mut self, batch: usize) -> Self {
        self.setup.batch = batch;
        self
    }

    /// How the run ends.
    #[must_use]
    pub fn ending(mut self, ending: Ending) -> Self {
        self.setup.ending = ending;
        self
    }

    /// Sets [`Setup::waiters`].
    #[must_use]
    pub fn waiters(mut self, waiters: usize) -> Self {
        self.setup.waiters = waiters;
        self
    }

    /// Budgets of the faults.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.setup.faults = faults;
        self
    }

    /// Sets [`Setup::panics_allowed`].
    #[must_use]
    pub fn panics_allowed(mut self, allowed: bool) -> Self {
        self.setup.panics_allowed = allowed;
        self
    }

    /// Sets [`Setup::step_limit`].
    #[must_use]
    pub fn step_limit(mut self, steps: u64) -> Self {
        self.setup.step_limit = steps;
        self
    }

    /// What operations cost in virtual time.
    #[must_use]
    pub fn costs(mut self, costs: Costs) -> Self {
        self.setup.costs = costs;
        self
    }

    /// Sets [`Setup::begin_ns`].
    #[must_use]
    pub fn begin_ns(mut self, begin_ns: u64) -> Self {
        self.setup.begin_ns = begin_ns;
        self
    }

    /// The strategy that makes the choices.
    #[must_use]
    pub fn strategy(mut self, strategy: StrategyKind) -> Self {
        self.strategy = strategy;
        self
    }

    /// Choices that replace the strategy's.
    #[must_use]
    pub fn choices(mut self, choices: Choices) -> Self {
        self.choices = Some(choices);
        self
    }

    pub(crate) fn driven_by(mut self, driver: DepthFirstDriver) -> Self {
        self.driver = Some(driver);
        self
    }

    /// Keeps every operation instead of the last ones.
    #[must_use]
    pub fn keep_events(mut self, keep: bool) -> Self {
        self.keep_events = keep;
        self
    }

    pub(crate) fn silence(mut self, oracle: Option<Oracle>) -> Self {
        self.silenced = oracle;
        self
    }

    pub(crate) fn silenced_as(self, other: &Simulation) -> Self {
        self.silence(other.silenced)
    }

    pub(crate) fn hears(&self, oracle: Oracle) -> bool {
        self.silenced != Some(oracle)
    }

    /// Whether choices are recorded (the default). A run without still replays from its line.
    #[must_use]
    pub fn keep_choices(mut self, keep: bool) -> Self {
        self.keep_choices = keep;
        self
    }

    /// Runs `initial_tasks`, and what they spawn, to the end.
    ///
    /// `scratch_init` makes each worker's scratch value from its number.
    ///
    /// # Errors
    ///
    /// The failure, if an oracle finds one, with its replay line.
    ///
    /// # Panics
    ///
    /// When the executor's configuration is not valid, or there are tasks and no producers.
    pub fn run<T, S, R, N>(
        self,
        initial_tasks: impl IntoIterator<Item = T>,
        scratch_init: impl FnMut(usize) -> S,
        runner: R,
    ) -> Result<Report<T, S>, Failure>
    where
        T: 'static,
        S: 'static,
        R: for<'c> Fn(T, &mut SimCtx<'c, T, S>) -> N + 'static,
        N: NextTask<T> + 'static,
    {
        let Setup {
            producers,
            batch,
            ending,
            waiters,
            ..
        } = self.setup;
        let mut run = self.start();
        run.workers(scratch_init, runner);
        for (producer, tasks) in environment::deal(initial_tasks, producers)
            .into_iter()
            .enumerate()
        {
            let start_failed = run.start_failed;
            run.add(ActorKind::Producer(producer), move |ports| {
                if start_failed {
                    environment::keep_all(&ports, tasks);
                } else {
                    environment::produce(&ports, tasks, batch);
                }
            });
        }
        for waiter in 0..waiters {
            run.add(ActorKind::Waiter(waiter), |ports| {
                environment::pause(&ports.handle);
                ports.queues.scheduler.wait_idle(&ports);
            });
        }
        if run.start_failed {
            run.add(ActorKind::Closer, |ports| environment::give_up(&ports));
        } else {
            run.add(ActorKind::Closer, move |ports| environment::end(&ports, ending));
        }
        if self.setup.faults.overflows > 0 {
            run.add(ActorKind::Filler, |ports| environment::weigh_down(&ports));
        }
        let Finished {
            world,
            left,
            refused,
            violation,
        } = run.finish();
        let mut world = world.borrow_mut();
        let makespan_ns = world.makespan_ns();
        let profile = world.profiler.profile(self.setup.begin_ns);
        let panics = world.take_panics();
        let course = self.course(&mut world);
        if let Some(violation) = violation {
            return Err(Failure::new(violation, course));
        }
        let mut report = Report {
            scratches: Vec::new(),
            handed_back: Vec::new(),
            refused,
            exits: Vec::new(),
            metrics: WorkerMetricsLocal::default(),
            panics,
            makespan_ns,
            profile,
            course,
        };
        for gone in left {
            report.scratches.push(gone.scratch);
            report.exits.push(gone.exit);
            report.metrics.merge(&gone.metrics);
            let handed_back = gone.handed_back.into_iter();
            report.handed_back.extend(handed_back.map(|tracked| tracked.task));
        }
        Ok(report)
    }

    /// Runs one job on the pipeline executor, on `config.main + config.reserve` workers. Its slots
    /// take `slot_ns` nanoseconds of virtual time, by stage and slot.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use pipeline_exec::{JobId, Stage, StageGraph, StepCx, StepError};
    /// use pipeline_exec::policy::{Class, JobSpec, PipelineConfig};
    /// use sim::{Simulation, StrategyKind};
    ///
    /// struct Slots(usize);
    ///
    /// impl Stage for Slots {
    ///     fn slots(&self) -> usize { self.0 }
    ///     fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> { Ok(()) }
    /// }
    ///
    /// let mut stages = StageGraph::default();
    /// stages.then(Arc::new(Slots(10)));
    /// stages.then(Arc::new(Slots(1)));
    /// let job = JobSpec::new("numbers", JobId::new(0), stages);
    /// let config = PipelineConfig { main: 3, reserve: 1, quantum: Duration::from_millis(2), capacity: 1 };
    /// let summary = Simulation::new(1).strategy(StrategyKind::Earliest)
    ///     .run_job(config, job, |stage, _slot| if stage == 0 { 50_000 } else { 20_000 })
    ///     .expect("no race here");
    /// assert_eq!((summary.profile.work_ns, summary.profile.span_ns), (520_000, 70_000));
    /// assert!(summary.profile.elapsed_ns >= summary.profile.lower_bound_ns(4));
    /// ```
    ///
    /// # Errors
    ///
    /// The failure, if an oracle finds one.
    pub fn run_job(
        self,
        config: PipelineConfig,
        job: JobSpec,
        slot_ns: impl Fn(usize, usize) -> u64 + 'static,
    ) -> Result<Summary, Failure> {
        let (summary, _claims) =
            self.run_jobs(config, vec![job], move |_job, stage, slot| slot_ns(stage, slot))?;
        Ok(summary)
    }

    /// Runs `jobs`, which one producer submits in order, and returns all claims, too.
    ///
    /// # Errors
    ///
    /// The failure, if an oracle finds one.
    pub fn run_jobs(
        mut self,
        config: PipelineConfig,
        jobs: Vec<JobSpec>,
        slot_ns: impl Fn(&JobSpec, usize, usize) -> u64 + 'static,
    ) -> Result<(Summary, Vec<Claimed>), Failure> {
        self.setup.config.workers = config.main + config.reserve;
        let claims: Rc<RefCell<Vec<Claimed>>> = Rc::default();
        let submitted = Submitted {
            hands: vec![jobs.into_iter().map(Into::into).collect()],
            cancels: 0,
            lends: false,
            slot_ns: Box::new(slot_ns),
            claims: Some(Rc::clone(&claims)),
            extras: Extras::default(),
            grows: false,
            complaints: Arc::default(),
        };
        let summary = submitted.run(&self, config, || None)?;
        Ok((summary, claims.take()))
    }

    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    pub(crate) fn start<T: 'static, S: 'static>(&self) -> Run<T, S> {
        let strategy: Box<dyn Strategy> = match (self.choices.clone(), self.driver.clone()) {
            (Some(choices), _) => Box::new(Replay::new(choices)),
            (None, Some(driver)) => Box::new(driver),
            (None, None) => self.strategy.build(self.seed),
        };
        let run = Run::new(&self.setup, strategy, self.keep_events);
        {
            let mut world = run.world.borrow_mut();
            world.silence(self.silenced);
            if !self.keep_choices {
                world.schedule.forget();
            }
            if self.strategy.is_timeless() {
                world.stop_time(self.driver.is_some());
            }
        }
        run
    }

    pub(crate) fn course(&self, world: &mut World) -> Course {
        // Ordering: Relaxed. A count, read after the run was joined.
        self.meter.fetch_add(world.steps(), Ordering::Relaxed);
        let choices = world.schedule.take_choices();
        Course {
            line: ReplayLine {
                fields: self.fields(),
                strategy: self.strategy,
                seed: self.seed,
                choices: self.choices.as_ref().map(|given| choices.as_far_as(given)),
            },
            trace_hash: world.trace.hash(),
            cut: world.is_cut(),
            steps: world.steps(),
            choices,
            coverage: world.coverage.clone(),
            faults: world.faults.struck(),
            actors: world.actor_names(),
            events: if self.keep_events {
                world.trace.take_all()
            } else {
                world.trace.tail()
            },
            jobs: world.trace.take_jobs(),
            is_complete: self.keep_events,
        }
    }
}
