//! One run: its parties are set up, let go, and judged when all have come to their end.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use executor_core::{
    IdleAction, IdleHooks, IdleRound, Nap, TieredIdle, WorkerExit, WorkerMetricsLocal, run_worker,
};

use crate::fault::{Fault, FaultBudget};
use crate::mark::Mark;
use crate::oracle::{Oracle, Totals, Violation};
use crate::party::{Crew, Side};
use crate::ports::SimPorts;
use crate::queues::{Queues, Tracked};
use crate::schedule::{Schedule, Strategy};
use crate::setup::Setup;
use crate::task::{Hooks, SimCtx, Watched};
use crate::trace::Trace;
use crate::word::Glass;
use crate::world::World;

/// A run that is being set up.
pub(crate) struct Run<T: 'static, S: 'static> {
    pub(crate) world: Rc<RefCell<World>>,
    queues: Rc<Queues<T>>,
    crew: Crew,
    left: Rc<RefCell<Vec<Gone<T, S>>>>,
    /// Workers sleep until there is something to do.
    asleep: bool,
    /// A worker's thread could not be started, so there is no executor for anybody to use.
    pub(crate) start_failed: bool,
}

/// A run that is over.
pub(crate) struct Finished<T, S> {
    pub(crate) world: Rc<RefCell<World>>,
    /// What the workers left behind, by worker.
    pub(crate) left: Vec<Gone<T, S>>,
    /// Tasks that the gate refused.
    pub(crate) refused: Vec<T>,
    /// What was wrong with it.
    pub(crate) violation: Option<Violation>,
}

/// What a worker leaves behind.
pub(crate) struct Gone<T, S> {
    pub(crate) worker: usize,
    pub(crate) exit: WorkerExit,
    pub(crate) scratch: S,
    pub(crate) metrics: WorkerMetricsLocal,
    pub(crate) handed_back: Vec<Tracked<T>>,
}

impl<T: 'static, S: 'static> Run<T, S> {
    /// A world with an executor and without any party.
    pub(crate) fn new(setup: &Setup, strategy: Box<dyn Strategy>, keep_events: bool) -> Self {
        let world = Rc::new(RefCell::new(World::new(
            Schedule::new(strategy),
            FaultBudget::new(setup.faults),
            setup.step_limit,
            setup.panics_allowed,
            Trace::new(keep_events),
        )));
        let queues = Rc::new(Queues::new(setup.config.clone()));
        world.borrow_mut().watch(Rc::clone(&queues.scheduler));
        world.borrow_mut().set_time(setup.costs.clone(), setup.begin_ns);
        Self {
            crew: Crew::new(Rc::clone(&world)),
            world,
            queues,
            left: Rc::default(),
            asleep: setup.begin_ns > 0,
            start_failed: false,
        }
    }

    /// Adds the workers. They come first: a worker's party has the worker's number.
    pub(crate) fn workers<R>(&mut self, scratch_init: impl FnMut(usize) -> S, runner: R)
    where
        R: for<'c> Fn(T, &mut SimCtx<'c, T, S>) + 'static,
    {
        let workers = self.queues.scheduler.config().workers;
        let runner = Rc::new(runner);
        let asleep = self.asleep;
        for (worker, scratch) in (0..workers).map(scratch_init).enumerate() {
            let (left, runner) = (Rc::clone(&self.left), Rc::clone(&runner));
            let hooks = Hooks {
                world: Rc::clone(&self.world),
                worker,
            };
            // After the first one that fails no other is started.
            self.start_failed |= self.world.borrow_mut().strikes(Fault::FailedStart);
            let starts = !self.start_failed;
            self.outside(Side::Worker(worker), move |ports| {
                if starts {
                    let idle = Watched {
                        idle: AsleepAtFirst {
                            idle: TieredIdle::of(ports.queues.scheduler.config()),
                            asleep,
                        },
                        hooks: hooks.clone(),
                    };
                    let gone = work(worker, ports, scratch, &*runner, idle, hooks);
                    left.borrow_mut().push(gone);
                }
            });
            self.world.borrow_mut().maybe_start_late(worker);
        }
    }

    /// Adds a party that does `body`.
    pub(crate) fn outside(&mut self, side: Side, body: impl for<'y> FnOnce(SimPorts<'y, T>) + 'static) {
        let queues = Rc::clone(&self.queues);
        self.crew
            .add(side, move |handle| body(SimPorts::new(handle, queues)));
    }

    /// Lets all go to their end.
    pub(crate) fn finish(self) -> Finished<T, S> {
        let Self {
            world,
            queues,
            mut crew,
            left,
            asleep: _,
            start_failed: _,
        } = self;
        crew.run();
        drop(crew);
        let mut left = Rc::into_inner(left)
            .expect("all parties have finished")
            .into_inner();
        left.sort_by_key(|gone| gone.worker);
        let violation = world.borrow_mut().take_violation();
        let violation = violation.or_else(|| judge_end(&world.borrow(), &queues, &left).err());
        Finished {
            world,
            left,
            refused: queues
                .refused
                .take()
                .into_iter()
                .map(|tracked| tracked.task)
                .collect(),
            violation,
        }
    }
}

/// A worker: core's own run loop.
fn work<'y, T, S>(
    worker: usize,
    ports: SimPorts<'y, T>,
    scratch: S,
    runner: &impl Fn(T, &mut SimCtx<'y, T, S>),
    mut idle: Watched<AsleepAtFirst>,
    mut hooks: Hooks,
) -> Gone<T, S> {
    ports.handle.with(|world| {
        if world.is_done() {
            world.marks.hit(Mark::BeganAfterEnd);
        }
    });
    let mut cx = SimCtx::new(worker, ports, scratch);
    let run_task = |task: Tracked<T>, cx: &mut SimCtx<'y, T, S>| cx.run_task(task, runner);
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

/// The default idle hooks, and before them, if work is to find its worker asleep, a park without any spinning. How the worker goes on when it
/// has had work is the same.
struct AsleepAtFirst {
    idle: TieredIdle,
    asleep: bool,
}

impl IdleHooks for AsleepAtFirst {
    fn on_idle(&mut self, round: IdleRound) -> IdleAction {
        if self.asleep {
            IdleAction::Park(Nap::default())
        } else {
            self.idle.on_idle(round)
        }
    }

    fn on_work(&mut self, idle: Duration) {
        self.asleep = false;
        self.idle.on_work(idle);
    }
}

/// Nothing may be left over.
fn judge_end<T, S>(world: &World, queues: &Queues<T>, left: &[Gone<T, S>]) -> Result<(), Violation> {
    if world.is_cut() {
        return Ok(());
    }
    let handed_back = left.iter().flat_map(|gone| &gone.handed_back);
    let verdicts = [
        world.oracles.tasks.end(handed_back.map(|task| task.id)),
        world
            .oracles
            .count
            .end(queues.scheduler.state().in_flight(&Glass)),
        judge_counters(world, left),
    ];
    let mut violations = verdicts.into_iter().filter_map(Result::err);
    match violations.find(|violation| world.hears(violation.oracle)) {
        Some(violation) => Err(violation),
        None => Ok(()),
    }
}

/// The workers have counted what was seen.
fn judge_counters<T, S>(world: &World, left: &[Gone<T, S>]) -> Result<(), Violation> {
    let mut metrics = WorkerMetricsLocal::default();
    left.iter().for_each(|gone| metrics.merge(&gone.metrics));
    let Totals {
        spawned,
        ran,
        panicked,
        handed_back,
        dropped,
    } = world.oracles.tasks.totals();
    let counters = [
        ("executed", metrics.executed(), ran + panicked + dropped),
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
