//! One run of one executor: its parties are set up, let go, and judged.
//!
//! ```text
//!   initial tasks ─► producers ─► gate ─► injector ─► workers (core's run loop) ─► scratches
//!                       closer: close, abort          tasks spawn more
//! ```

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use executor_core::{ExecutorConfig, Rejected, TieredIdle, WorkerExit, WorkerMetricsLocal, run_worker};

use crate::fault::{FaultBudget, Faults};
use crate::handle::Handle;
use crate::line::{Fields, LineError, ReplayLine};
use crate::mark::Mark;
use crate::oracle::{Oracle, Totals, Violation};
use crate::party::{Crew, Side};
use crate::ports::SimPorts;
use crate::queues::Queues;
use crate::report::{Course, Failure, Report};
use crate::schedule::{Choices, Schedule, StrategyKind};
use crate::scheduler::Replay;
use crate::setup::{Ending, Setup};
use crate::task::{Hooks, SimCtx};
use crate::trace::Trace;
use crate::word::Glass;
use crate::world::World;

/// A run, to be set up and let go.
///
/// Everything but the tasks and the runner is in the replay line. [`Simulation::replay`] makes one from a line.
#[derive(Clone, Debug)]
pub struct Simulation {
    setup: Setup,
    strategy: StrategyKind,
    seed: u64,
    choices: Option<Choices>,
    keep_events: bool,
    /// What the tasks are, for the replay line.
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
            label,
        }
    }

    /// The run that a failure's replay line tells of. The tasks and the runner must be the same as then.
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
        let line: ReplayLine = line.parse()?;
        let mut fields = line.fields;
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
            ..Self::new(line.seed)
        })
    }

    /// Number of workers.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.setup.config.workers = workers;
        self
    }

    /// All settings of the executor. Its seed is not used, and hundreds of spins take long and show nothing.
    #[must_use]
    pub fn config(mut self, config: ExecutorConfig) -> Self {
        self.setup.config = config;
        self
    }

    /// How long a worker parks before it looks again by itself.
    #[must_use]
    pub fn park_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.setup.config.park_timeout = timeout;
        self
    }

    /// Parties outside that hand over the initial tasks, at the same time.
    #[must_use]
    pub fn producers(mut self, producers: usize) -> Self {
        self.setup.producers = producers;
        self
    }

    /// Tasks that a producer hands over at once; 0 for one by one.
    #[must_use]
    pub fn batch(mut self, batch: usize) -> Self {
        self.setup.batch = batch;
        self
    }

    /// How it ends.
    #[must_use]
    pub fn ending(mut self, ending: Ending) -> Self {
        self.setup.ending = ending;
        self
    }

    /// Further parties that wait for idleness, each from some moment on.
    #[must_use]
    pub fn waiters(mut self, waiters: usize) -> Self {
        self.setup.waiters = waiters;
        self
    }

    /// What goes wrong.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.setup.faults = faults;
        self
    }

    /// Whether a task that panics by itself is no failure of the run.
    #[must_use]
    pub fn panics_allowed(mut self, allowed: bool) -> Self {
        self.setup.panics_allowed = allowed;
        self
    }

    /// After so many micro-steps it is a failure that there is no end.
    #[must_use]
    pub fn step_limit(mut self, steps: u64) -> Self {
        self.setup.step_limit = steps;
        self
    }

    /// Who makes the choices.
    #[must_use]
    pub fn strategy(mut self, strategy: StrategyKind) -> Self {
        self.strategy = strategy;
        self
    }

    /// Makes these choices instead of the strategy's.
    #[must_use]
    pub fn choices(mut self, choices: Choices) -> Self {
        self.choices = Some(choices);
        self
    }

    /// Keeps every operation, and not only the last ones.
    #[must_use]
    pub fn keep_events(mut self, keep: bool) -> Self {
        self.keep_events = keep;
        self
    }

    /// Runs `initial_tasks`, and what they spawn, to the end.
    ///
    /// `scratch_init` makes each worker's scratch value from its number. `runner` is the same as on threads.
    ///
    /// # Errors
    ///
    /// What the first oracle that found fault said, and how to have it again.
    ///
    /// # Panics
    ///
    /// When the executor's configuration is not valid, or there are tasks and no producer to hand them over.
    pub fn run<T, S, R>(
        self,
        initial_tasks: impl IntoIterator<Item = T>,
        scratch_init: impl FnMut(usize) -> S,
        runner: R,
    ) -> Result<Report<T, S>, Failure>
    where
        T: 'static,
        S: 'static,
        R: for<'c> Fn(T, &mut SimCtx<'c, T, S>) + 'static,
    {
        let Setup {
            config,
            producers,
            batch,
            ending,
            waiters,
            faults,
            panics_allowed,
            step_limit,
        } = self.setup.clone();
        let strategy = match self.choices.clone() {
            Some(choices) => Box::new(Replay::new(choices)),
            None => self.strategy.build(self.seed),
        };
        let world = Rc::new(RefCell::new(World::new(
            Schedule::new(strategy),
            FaultBudget::new(faults),
            step_limit,
            panics_allowed,
            Trace::new(self.keep_events),
        )));
        let queues = Rc::new(Queues::new(config.clone()));
        world.borrow_mut().watch(Rc::clone(&queues.scheduler));

        let mut crew = Crew::new(Rc::clone(&world));
        let left = Rc::new(RefCell::new(Vec::new()));
        let runner = Rc::new(runner);
        for (worker, scratch) in (0..config.workers).map(scratch_init).enumerate() {
            let (queues, left, runner) = (Rc::clone(&queues), Rc::clone(&left), Rc::clone(&runner));
            let hooks = Hooks {
                world: Rc::clone(&world),
                worker,
            };
            crew.add(Side::Worker(worker), move |handle| {
                let gone = work(worker, SimPorts { handle, queues }, scratch, &*runner, hooks);
                left.borrow_mut().push(gone);
            });
        }
        for (producer, tasks) in deal(initial_tasks, producers).into_iter().enumerate() {
            let queues = Rc::clone(&queues);
            crew.add(Side::Producer(producer), move |handle| {
                produce(&SimPorts { handle, queues }, tasks, batch);
            });
        }
        for waiter in 0..waiters {
            let queues = Rc::clone(&queues);
            crew.add(Side::Waiter(waiter), move |handle| {
                pause(&handle);
                let ports = SimPorts { handle, queues };
                ports.queues.scheduler.wait_idle(&ports);
            });
        }
        {
            let queues = Rc::clone(&queues);
            crew.add(Side::Closer, move |handle| {
                end(&SimPorts { handle, queues }, ending)
            });
        }

        crew.run();
        drop(crew);

        let mut left = Rc::into_inner(left)
            .expect("all parties have finished")
            .into_inner();
        left.sort_by_key(|gone: &Gone<T, S>| gone.worker);
        let refused = queues.refused.take();
        let mut world = world.borrow_mut();
        let violation = world
            .take_violation()
            .or_else(|| judge_end(&world, &queues, &left).err());
        let makespan_ns = world.makespan_ns();
        let panics = world.take_panics();
        let course = self.course(&mut world);
        if let Some(Violation { oracle, message }) = violation {
            return Err(Failure {
                oracle,
                message,
                course: Box::new(course),
            });
        }
        let mut report = Report {
            scratches: Vec::new(),
            handed_back: Vec::new(),
            refused,
            exits: Vec::new(),
            metrics: WorkerMetricsLocal::default(),
            panics,
            makespan_ns,
            course,
        };
        for gone in left {
            report.scratches.push(gone.scratch);
            report.exits.push(gone.exit);
            report.metrics.merge(&gone.metrics);
            report.handed_back.extend(gone.handed_back);
        }
        Ok(report)
    }

    fn course(&self, world: &mut World) -> Course {
        let mut fields = self.label.clone();
        self.setup.write(&mut fields);
        Course {
            line: ReplayLine {
                fields,
                strategy: self.strategy,
                seed: self.seed,
            },
            trace_hash: world.trace.hash(),
            micro_steps: world.steps(),
            choices: world.schedule.take_choices(),
            marks: world.marks.clone(),
            faults: world.faults.struck(),
            parties: world.party_names(),
            events: if self.keep_events {
                world.trace.take_all()
            } else {
                world.trace.tail()
            },
        }
    }
}

/// What a worker leaves behind.
struct Gone<T, S> {
    worker: usize,
    exit: WorkerExit,
    scratch: S,
    metrics: WorkerMetricsLocal,
    handed_back: Vec<T>,
}

/// A worker: core's own run loop.
fn work<'y, T, S>(
    worker: usize,
    ports: SimPorts<'y, T>,
    scratch: S,
    runner: &impl Fn(T, &mut SimCtx<'y, T, S>),
    mut hooks: Hooks,
) -> Gone<T, S> {
    let config = ports.queues.scheduler.config();
    let mut idle = TieredIdle::new(config.spin_iters, config.park_timeout);
    let mut cx = SimCtx::new(worker, ports, scratch);
    let run_task = |task: T, cx: &mut SimCtx<'y, T, S>| cx.run_task(task, runner);
    let exit = run_worker(&mut cx, &run_task, &mut idle, &mut hooks);
    let (scratch, metrics, handed_back) = cx.into_parts();
    Gone {
        worker,
        exit,
        scratch,
        metrics,
        handed_back,
    }
}

/// A producer: hands over its tasks, one by one or in batches, and keeps what the gate refuses.
fn produce<T>(ports: &SimPorts<'_, T>, tasks: Vec<T>, batch: usize) {
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let mut tasks = tasks.into_iter();
    while tasks.len() > 0 {
        let offered = tasks.len().min(batch.max(1));
        ports.handle.with(|world| {
            world.oracles.count.begin_hand_over(ports.handle.party());
            world.outside_call(true);
        });
        let refused = if batch == 0 {
            let task = tasks.next().expect("there is one");
            let refused = scheduler.spawn_external(ports, task);
            refused.err().map(|Rejected(task)| vec![task])
        } else {
            let some = tasks.by_ref().take(batch).collect();
            let refused = scheduler.spawn_external_batch(ports, some);
            refused.err().map(|Rejected(tasks)| tasks)
        };
        ports.handle.with(|world| {
            let mark = if batch == 0 {
                Mark::Refused
            } else {
                Mark::BatchRefused
            };
            if refused.is_some() {
                world.marks.hit(mark);
            }
            let verdict = judge_hand_over(world, ports, offered, refused.as_ref().map(Vec::len));
            world.judge(verdict);
            world.outside_call(false);
        });
        ports
            .queues
            .refused
            .borrow_mut()
            .extend(refused.into_iter().flatten());
    }
}

/// All or nothing, and refused only by a closed gate.
fn judge_hand_over<T>(
    world: &World,
    ports: &SimPorts<'_, T>,
    offered: usize,
    refused: Option<usize>,
) -> Result<(), Violation> {
    let me = ports.handle.party();
    world.oracles.count.outside_is_even(me)?;
    let queued = world.oracles.count.queued_by(me);
    let expected = if refused.is_some() { 0 } else { offered };
    if queued != expected as u64 || refused.is_some_and(|refused| refused != offered) {
        return Err(Violation::new(
            Oracle::ExactlyOnce,
            format!(
                "of {offered} tasks handed over at once, {queued} were queued and {} came back",
                refused.unwrap_or(0)
            ),
        ));
    }
    if refused.is_some() && ports.queues.scheduler.state().is_accepting(&Glass) {
        return Err(Violation::new(Oracle::Gate, "a task was refused by an open gate"));
    }
    Ok(())
}

/// The one who ends it.
fn end<T>(ports: &SimPorts<'_, T>, ending: Ending) {
    let scheduler = Rc::clone(&ports.queues.scheduler);
    let call = |what: &dyn Fn()| {
        ports.handle.with(|world| world.outside_call(true));
        what();
        ports.handle.with(|world| world.outside_call(false));
    };
    match ending {
        Ending::Join => {
            ports.handle.wait_for_producers();
            call(&|| scheduler.close(ports));
        }
        Ending::Idle => {
            ports.handle.wait_for_producers();
            scheduler.wait_idle(ports);
            call(&|| scheduler.close(ports));
        }
        Ending::Close => {
            pause(&ports.handle);
            call(&|| scheduler.close(ports));
        }
        Ending::Abort => {
            pause(&ports.handle);
            call(&|| scheduler.abort(ports));
        }
        Ending::CloseThenAbort => {
            pause(&ports.handle);
            call(&|| scheduler.close(ports));
            pause(&ports.handle);
            call(&|| scheduler.abort(ports));
        }
    }
}

/// Lets others go for some micro-steps: few or many, each order of magnitude equally likely.
fn pause(handle: &Handle<'_>) {
    handle.pause(|world| {
        let magnitude = world.schedule.below(13);
        world.schedule.below(1 << magnitude) as u64
    });
}

/// Nothing may be left over.
fn judge_end<T, S>(world: &World, queues: &Queues<T>, left: &[Gone<T, S>]) -> Result<(), Violation> {
    world
        .oracles
        .tasks
        .end(left.iter().map(|gone| gone.handed_back.len()).sum())?;
    world
        .oracles
        .count
        .end(queues.scheduler.state().in_flight(&Glass))?;
    let mut metrics = WorkerMetricsLocal::default();
    left.iter().for_each(|gone| metrics.merge(&gone.metrics));
    let Totals {
        spawned,
        ran,
        panicked,
        handed_back,
    } = world.oracles.tasks.totals();
    let counters = [
        ("executed", metrics.executed(), ran + panicked),
        ("panicked", metrics.panicked, panicked),
        ("handed_back", metrics.handed_back, handed_back),
        ("spawned", metrics.spawned, spawned),
    ];
    for (name, counted, seen) in counters {
        if counted != seen {
            return Err(Violation::new(
                Oracle::ExactlyOnce,
                format!("the counter `{name}` says {counted}, but {seen} were seen"),
            ));
        }
    }
    Ok(())
}

/// Deals tasks out, one to each producer in turn.
fn deal<T>(tasks: impl IntoIterator<Item = T>, producers: usize) -> Vec<Vec<T>> {
    let mut hands: Vec<Vec<T>> = (0..producers).map(|_| Vec::new()).collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert!(producers > 0, "there are tasks and no producer to hand them over");
        hands[n % producers].push(task);
    }
    hands
}
