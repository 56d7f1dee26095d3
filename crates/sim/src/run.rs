//! One run: its actors are set up, run and judged.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use executor_core::{
    IdleAction, IdleHooks, IdleRound, NextTask, Park, TieredIdle, WorkerExit, WorkerMetricsLocal, run_worker,
};

use crate::actor::{ActorKind, Actors};
use crate::coverage::CoveragePoint;
use crate::fault::{Fault, FaultBudget};
use crate::oracle::{Oracle, Totals, Violation};
use crate::ports::SimPorts;
use crate::queues::{Queues, Tracked};
use crate::schedule::{Schedule, Strategy};
use crate::setup::Setup;
use crate::task::{Hooks, SimCtx, Watched};
use crate::trace::Trace;
use crate::word::Glass;
use crate::world::World;

pub(crate) struct Run<T: 'static, S: 'static> {
    pub(crate) world: Rc<RefCell<World>>,
    queues: Rc<Queues<T>>,
    actors: Actors,
    left: Rc<RefCell<Vec<Gone<T, S>>>>,
    asleep: bool,
    pub(crate) start_failed: bool,
}

pub(crate) struct Finished<T, S> {
    pub(crate) world: Rc<RefCell<World>>,
    pub(crate) left: Vec<Gone<T, S>>,
    pub(crate) refused: Vec<T>,
    pub(crate) violation: Option<Violation>,
}

pub(crate) struct Gone<T, S> {
    pub(crate) worker: usize,
    pub(crate) exit: WorkerExit,
    pub(crate) scratch: S,
    pub(crate) metrics: WorkerMetricsLocal,
    pub(crate) handed_back: Vec<Tracked<T>>,
}

impl<T: 'static, S: 'static> Run<T, S> {
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
            actors: Actors::new(Rc::clone(&world)),
            world,
            queues,
            left: Rc::default(),
            asleep: setup.begin_ns > 0,
            start_failed: false,
        }
    }

    /// The workers come first, so that a worker's actor has the worker's number.
    pub(crate) fn workers<R, N>(&mut self, scratch_init: impl FnMut(usize) -> S, runner: R)
    where
        R: for<'c> Fn(T, &mut SimCtx<'c, T, S>) -> N + 'static,
        N: NextTask<T> + 'static,
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
            self.start_failed |= self.world.borrow_mut().strikes(Fault::FailedStart);
            let starts = !self.start_failed;
            self.add(ActorKind::Worker(worker), move |ports| {
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

    pub(crate) fn add(&mut self, kind: ActorKind, body: impl for<'y> FnOnce(SimPorts<'y, T>) + 'static) {
        let queues = Rc::clone(&self.queues);
        self.actors
            .add(kind, move |handle| body(SimPorts::new(handle, queues)));
    }

    pub(crate) fn finish(self) -> Finished<T, S> {
        let Self {
            world,
            queues,
            mut actors,
            left,
            asleep: _,
            start_failed: _,
        } = self;
        actors.run();
        drop(actors);
        let mut left = Rc::into_inner(left)
            .expect("all actors have finished")
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

fn work<'y, T, S, N: NextTask<T>>(
    worker: usize,
    ports: SimPorts<'y, T>,
    scratch: S,
    runner: &impl Fn(T, &mut SimCtx<'y, T, S>) -> N,
    mut idle: Watched<AsleepAtFirst>,
    mut hooks: Hooks,
) -> Gone<T, S> {
    ports.handle.with(|world| {
        if world.is_done() {
            world.coverage.hit(CoveragePoint::BeganAfterEnd);
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

/// The default idle hooks. If workers begin asleep, the first park comes without spinning.
struct AsleepAtFirst {
    idle: TieredIdle,
    asleep: bool,
}

impl IdleHooks for AsleepAtFirst {
    fn on_idle(&mut self, round: IdleRound) -> IdleAction {
        if self.asleep {
            IdleAction::Park(Park::default())
        } else {
            self.idle.on_idle(round)
        }
    }

    fn on_work(&mut self, idle: Duration) {
        self.asleep = false;
        self.idle.on_work(idle);
    }
}

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
        ("handed_back", metrics.returned, handed_back),
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
