//! What a running task may touch in the simulator: the worker itself, as core and as the user see it.
//!
//! The two see different tasks. Towards the user a task is a `T`; towards core it is a `T` with its number, so that the
//! oracles know every task again wherever core had it in the meantime.

use std::any::Any;
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;

use executor_core::ports::Faults;
use executor_core::{ExecTraceEvent, Rest, Spawner, TaskCtx, TraceHooks, WorkerCtxLike, WorkerMetricsLocal};

use crate::fault::{Fault, InjectedPanic};
use crate::mark::Mark;
use crate::oracle::{Origin, TaskId};
use crate::ports::SimPorts;
use crate::queues::Tracked;
use crate::trace::Op;
use crate::world::World;

/// What a running task may touch. It is a [`TaskCtx`](executor_core::TaskCtx), so that a runner that is generic over
/// that runs here and on threads, and knows virtual time besides.
pub struct SimCtx<'y, T, S> {
    spawner: Spawner<Tracked<T>, SimPorts<'y, T>>,
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
    pub(crate) fn run_task(&mut self, Tracked { id, task, .. }: Tracked<T>, runner: &impl Fn(T, &mut Self)) {
        self.with(|world, worker| world.started(worker, id));
        self.maybe_panic();
        runner(task, self);
        self.maybe_panic();
        self.with(|world, worker| world.ran(worker, id));
    }

    /// What is left of a worker: its scratch, its counters, and the tasks that it handed back.
    pub(crate) fn into_parts(mut self) -> (S, WorkerMetricsLocal, Vec<Tracked<T>>) {
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

impl<T, S> TaskCtx<T, S> for SimCtx<'_, T, S> {
    fn worker_id(&self) -> usize {
        self.spawner.worker_id()
    }

    fn scratch(&mut self) -> &mut S {
        &mut self.scratch
    }

    fn spawn_local(&mut self, task: T) {
        let task = self.ports().track(task, Origin::Task);
        let id = task.id;
        self.spawner.spawn_local(task);
        self.with(|world, worker| world.spawned(worker, id));
    }

    fn spawn_global(&mut self, task: T) {
        let task = self.ports().track(task, Origin::Task);
        self.spawner.spawn_global(task);
    }

    fn publish(&mut self) {
        self.with(World::publishes);
        self.spawner.publish();
        self.with(World::published);
    }

    fn somebody_is_hungry(&mut self) -> bool {
        self.spawner.somebody_is_hungry()
    }
}

impl<'y, T, S> WorkerCtxLike<Tracked<T>, S> for SimCtx<'y, T, S> {
    type Ports = SimPorts<'y, T>;

    fn spawner(&mut self) -> &mut Spawner<Tracked<T>, SimPorts<'y, T>> {
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
        self.with(|world, _| world.below(bound))
    }

    /// Tells the oracles; the scratch value stays as the task has left it.
    fn isolate(&mut self, payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        self.ports().record_panic(payload);
        Ok(())
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

impl<T> TraceHooks<Tracked<T>> for Hooks {
    type Tag = TaskId;

    fn at_rest<P>(&mut self, rest: Rest<'_, Tracked<T>, P>) {
        self.world.borrow_mut().at_rest(|state| rest.hash_state(state));
    }

    fn tag(&mut self, task: &Tracked<T>) -> TaskId {
        task.id
    }

    fn event(&mut self, event: ExecTraceEvent<TaskId>) {
        match event {
            ExecTraceEvent::HandedBack { tag } => self.world.borrow_mut().handed_back(self.worker, tag),
            ExecTraceEvent::Awake { woken: false } => {
                let mut world = self.world.borrow_mut();
                if !world.is_done() {
                    world.marks.hit(Mark::FoundInLastLook);
                }
            }
            _ => {}
        }
    }
}
