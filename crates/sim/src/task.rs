//! What a running task may touch in the simulator: the worker itself, as core and as the user see it.
//!
//! The two see different tasks. Towards the user a task is a `T`; towards core it is a `T` with its number, so that the
//! oracles know every task again wherever core had it in the meantime.

use std::any::Any;
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::Duration;

use executor_core::ports::Faults;
use executor_core::{
    ExecTraceEvent, IdleAction, IdleHooks, IdleRound, Rest, Spawner, TaskCtx, TraceHooks, WorkerCtxLike,
    WorkerMetricsLocal,
};

use crate::fault::{Fault, InjectedHookPanic, InjectedPanic};
use crate::mark::Mark;
use crate::oracle::{Origin, TaskId};
use crate::ports::SimPorts;
use crate::profile::Reached;
use crate::queues::Tracked;
use crate::trace::{Object, Op};
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
        self.maybe_panic(Fault::PanicInside);
        self.spawner.ports().handle.work(cost_ns);
        self.with(World::task_acted);
    }

    /// The worker's virtual time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.with(|world, me| world.clock_ns(me))
    }

    /// How far along its path the running task is: what a task that has to wait for this one [comes after](SimCtx::comes_after). The run's
    /// [`Profile`](crate::Profile) and its virtual time go by it, and nothing else.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use sim::{Reached, Simulation, TaskCtx};
    ///
    /// // Two halves of different length, and whoever ends last spawns what comes after both.
    /// let (left, join) = (Cell::new(2), Cell::new(Reached::default()));
    /// let report = Simulation::new(1).workers(2).run([30, 50], |_| (), move |ns: u64, cx| {
    ///     cx.comes_after(if ns == 7 { join.get() } else { Reached::default() });
    ///     cx.work(ns);
    ///     if ns != 7 {
    ///         join.set(join.get().max(cx.reached()));
    ///         left.set(left.get() - 1);
    ///         if left.get() == 0 {
    ///             cx.spawn_local(7);
    ///         }
    ///     }
    /// }).expect("no race here");
    /// assert_eq!((report.profile.work_ns, report.profile.span_ns), (87, 57));
    /// ```
    #[must_use]
    pub fn reached(&self) -> Reached {
        self.with(|world, me| world.path(me))
    }

    /// What the running task does from now on comes after `reached` as well, though no task that reached it has spawned this one.
    pub fn comes_after(&mut self, reached: Reached) {
        self.with(|world, me| world.comes_after(me, reached));
    }

    /// The worker's ports.
    pub(crate) fn ports(&self) -> &SimPorts<'y, T> {
        self.spawner.ports()
    }

    /// Runs one task, under the eyes of the oracles.
    pub(crate) fn run_task(&mut self, Tracked { id, task, .. }: Tracked<T>, runner: &impl Fn(T, &mut Self)) {
        self.with(|world, worker| world.started(worker, id));
        self.maybe_panic(Fault::Panic);
        runner(task, self);
        self.maybe_panic(Fault::Panic);
        self.with(|world, worker| world.ran(worker, id));
    }

    /// What is left of a worker: its scratch, its counters, and the tasks that it handed back.
    pub(crate) fn into_parts(mut self) -> (S, WorkerMetricsLocal, Vec<Tracked<T>>) {
        let handed_back = self.spawner.take_handed_back();
        (self.scratch, self.metrics, handed_back)
    }

    /// Between two operations of a task.
    fn maybe_panic(&self, fault: Fault) {
        if self.with(|world, _| world.strikes(fault)) {
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
        self.maybe_panic(Fault::PanicInside);
        let task = self.ports().track(task, Origin::Task);
        let id = task.id;
        self.spawner.spawn_local(task);
        self.with(|world, worker| world.spawned(worker, id));
        self.with(World::task_acted);
    }

    fn spawn_global(&mut self, task: T) {
        self.maybe_panic(Fault::PanicInside);
        let task = self.ports().track(task, Origin::Task);
        self.spawner.spawn_global(task);
        self.with(World::task_acted);
    }

    fn publish(&mut self) {
        self.maybe_panic(Fault::PanicInside);
        self.with(World::publishes);
        self.spawner.publish();
        self.with(World::published);
    }

    fn somebody_is_hungry(&mut self) -> bool {
        self.maybe_panic(Fault::PanicInside);
        self.spawner.somebody_is_hungry()
    }

    fn access<R>(&mut self, what: &'static str, operation: impl FnOnce() -> R) -> R {
        let handle = &self.spawner.ports().handle;
        handle.step();
        // Not under the world's eyes: it may panic.
        let result = operation();
        handle.with(|world| {
            let me = handle.party();
            world.did(me, Op::Access, Object::Label(what), 0);
            world.task_acted(me);
        });
        result
    }

    fn wait_until(&mut self, what: &'static str, mut ready: impl FnMut() -> bool) -> bool {
        self.publish();
        let handle = &self.spawner.ports().handle;
        let me = handle.party();
        // What the task did before it waits, others may wait for.
        handle.with(|world| world.task_acted(me));
        loop {
            handle.step();
            let is_ready = ready();
            let is_aborting = handle.with(|world| {
                world.did(me, Op::Await, Object::Label(what), is_ready.into());
                let is_aborting = world.is_aborting();
                if !is_ready && !is_aborting {
                    world.await_change(me, what);
                }
                is_aborting
            });
            if is_ready || is_aborting {
                return is_ready;
            }
            handle.wait();
        }
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
        self.with(|world, _| world.marks.hit(Mark::PanicIsolated));
        if self.with(|world, _| world.strikes(Fault::HookPanic)) {
            resume_unwind(Box::new(InjectedHookPanic));
        }
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

/// Tells the oracles what core says through its trace. Now and then it panics instead, as a user's may.
#[derive(Clone)]
pub(crate) struct Hooks {
    pub(crate) world: Rc<RefCell<World>>,
    pub(crate) worker: usize,
}

impl Hooks {
    fn maybe_panic(&self, before: impl FnOnce(&mut World)) {
        let strikes = {
            let mut world = self.world.borrow_mut();
            let strikes = world.strikes(Fault::HookPanic);
            if strikes {
                before(&mut world);
            }
            strikes
        };
        if strikes {
            resume_unwind(Box::new(InjectedHookPanic));
        }
    }
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
        let mut told_of_start = None;
        match event {
            ExecTraceEvent::TaskStart { tag, .. } => told_of_start = Some(tag),
            ExecTraceEvent::HandedBack { tag } => self.world.borrow_mut().handed_back(self.worker, tag),
            ExecTraceEvent::Awake { woken: false } => {
                let mut world = self.world.borrow_mut();
                if !world.is_done() {
                    world.marks.hit(Mark::FoundInLastLook);
                }
            }
            _ => {}
        }
        self.maybe_panic(|world| {
            if let Some(task) = told_of_start {
                world.dropped(self.worker, task);
            }
        });
    }
}

/// Idle hooks, and what the oracles hear of them.
pub(crate) struct Watched<I> {
    pub(crate) idle: I,
    pub(crate) hooks: Hooks,
}

impl<I: IdleHooks> IdleHooks for Watched<I> {
    fn on_idle(&mut self, round: IdleRound) -> IdleAction {
        self.hooks
            .world
            .borrow_mut()
            .searched_in_vain(self.hooks.worker, round.searching);
        self.hooks.maybe_panic(|_| {});
        self.idle.on_idle(round)
    }

    fn on_work(&mut self, idle: Duration) {
        let worker = self.hooks.worker;
        self.hooks.maybe_panic(|world| {
            if let Some(task) = world.oracles.tasks.in_hand(worker) {
                world.dropped(worker, task);
            }
        });
        self.idle.on_work(idle);
    }
}
