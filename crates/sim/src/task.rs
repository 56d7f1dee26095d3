//! What a running task may touch in the simulator: the worker itself, as core and as the user see it.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;

use executor_core::{ExecTraceEvent, Spawner, TraceHooks, WorkerCtxLike, WorkerMetricsLocal};

use crate::fault::{Fault, InjectedPanic};
use crate::mark::Mark;
use crate::ports::SimPorts;
use crate::trace::{Object, Op};
use crate::world::World;

/// What a running task may touch. It is a [`TaskCtx`](executor_core::TaskCtx), so that a runner that is generic over
/// that runs here and on threads, and knows virtual time besides.
pub struct SimCtx<'y, T, S> {
    spawner: Spawner<T, SimPorts<'y, T>>,
    scratch: S,
    metrics: WorkerMetricsLocal,
}

impl<'y, T, S> SimCtx<'y, T, S> {
    pub(crate) fn new(worker: usize, ports: SimPorts<'y, T>, scratch: S) -> Self {
        Self {
            spawner: Spawner::new(worker, ports),
            scratch,
            metrics: WorkerMetricsLocal::default(),
        }
    }

    /// Takes `cost_ns` of virtual time, in which others may go.
    pub fn work(&mut self, cost_ns: u64) {
        self.spawner.ports().handle.pass(Op::Work, cost_ns);
    }

    /// The worker's virtual time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.with(|world, me| world.clock_ns(me))
    }

    /// The worker's ports.
    pub(crate) fn ports(&self) -> &SimPorts<'y, T> {
        self.spawner.ports()
    }

    /// Runs one task, under the eyes of the oracles.
    pub(crate) fn run_task(&mut self, task: T, runner: &impl Fn(T, &mut Self)) {
        self.with(|world, worker| match world.oracles.tasks.started(worker) {
            Ok(id) => world.did(worker, Op::Start, Object::Task(id), id),
            Err(violation) => world.judge(Err(violation)),
        });
        self.maybe_panic();
        runner(task, self);
        self.maybe_panic();
        self.with(|world, worker| {
            match world.oracles.tasks.ran(worker) {
                Ok(id) => world.did(worker, Op::End, Object::Task(id), id),
                Err(violation) => world.judge(Err(violation)),
            }
            world.oracles.count.ended(worker);
        });
    }

    /// What is left of a worker: its scratch, its counters, and the tasks that it handed back.
    pub(crate) fn into_parts(mut self) -> (S, WorkerMetricsLocal, Vec<T>) {
        let handed_back = self.spawner.take_handed_back();
        (self.scratch, self.metrics, handed_back)
    }

    fn maybe_panic(&self) {
        if self.with(|world, _| world.strikes(Fault::Panic)) {
            resume_unwind(Box::new(InjectedPanic));
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut World, usize) -> R) -> R {
        let handle = &self.spawner.ports().handle;
        handle.with(|world| f(world, handle.party()))
    }
}

impl<'y, T, S> WorkerCtxLike<T, S> for SimCtx<'y, T, S> {
    type Ports = SimPorts<'y, T>;

    fn spawner(&mut self) -> &mut Spawner<T, SimPorts<'y, T>> {
        &mut self.spawner
    }

    fn worker_id(&self) -> usize {
        self.spawner.worker_id()
    }

    fn scratch(&mut self) -> &mut S {
        &mut self.scratch
    }

    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.metrics
    }

    fn below(&mut self, bound: usize) -> usize {
        self.with(|world, _| world.schedule.below(bound))
    }
}

impl<T, S> std::fmt::Debug for SimCtx<'_, T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimCtx")
            .field("worker", &self.spawner.worker_id())
            .finish_non_exhaustive()
    }
}

/// Tells the oracles what core says through its trace.
pub(crate) struct Hooks {
    pub(crate) world: Rc<RefCell<World>>,
    pub(crate) worker: usize,
}

impl<T> TraceHooks<T> for Hooks {
    type Tag = ();

    fn tag(&mut self, _task: &T) {}

    fn event(&mut self, event: ExecTraceEvent<()>) {
        let (mut world, worker) = (self.world.borrow_mut(), self.worker);
        match event {
            ExecTraceEvent::HandedBack { .. } => {
                world.marks.hit(Mark::HandedBack);
                match world.oracles.tasks.handed_back(worker) {
                    Ok(task) => world.did(worker, Op::HandBack, Object::Task(task), task),
                    Err(violation) => world.judge(Err(violation)),
                }
                world.oracles.count.ended(worker);
            }
            ExecTraceEvent::Awake { woken: false } if !world.is_done() => {
                world.marks.hit(Mark::FoundInLastLook);
            }
            _ => {}
        }
    }
}
