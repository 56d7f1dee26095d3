//! The context of a running task in the simulator.
//!
//! To core a task is the user's `T` with its number, so that oracles can follow it.

use std::any::Any;
use std::cell::RefCell;
use std::hash::Hash;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::Duration;

use executor_core::ports::{Access, Faults};
use executor_core::{
    ExecTraceEvent, IdleAction, IdleHooks, IdleRound, NextTask, TaskCtx, TraceHooks, WorkerCtxLike,
    WorkerMetricsLocal, WorkerState,
};

use crate::coverage::CoveragePoint;
use crate::fault::{Fault, InjectedHookPanic, InjectedPanic};
use crate::oracle::{Origin, TaskId};
use crate::ports::SimPorts;
use crate::profile::Reached;
use crate::queues::Tracked;
use crate::trace::{Object, Op};
use crate::world::World;

/// The context of a running task: a [`TaskCtx`](executor_core::TaskCtx) with virtual time.
pub struct SimCtx<'y, T, S> {
    state: WorkerState<Tracked<T>, SimPorts<'y, T>>,
    scratch: S,
    metrics: WorkerMetricsLocal,
}

impl<'y, T, S> SimCtx<'y, T, S> {
    pub(crate) fn new(worker: usize, ports: SimPorts<'y, T>, scratch: S) -> Self {
        Self {
            state: WorkerState::new(worker, ports),
            scratch,
            metrics: WorkerMetricsLocal::default(),
        }
    }

    /// Takes `cost_ns` of virtual time, in which others may go.
    pub fn work(&mut self, cost_ns: u64) {
        self.maybe_panic(Fault::PanicInside);
        self.state.ports().handle.work(cost_ns);
        self.with(World::task_acted);
    }

    /// The worker's virtual time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.with(|world, me| world.clock_ns(me))
    }

    /// The position of the running task on its path, for a task that waits for this one and [comes
    /// after](SimCtx::comes_after).
    ///
    /// ```
    /// use std::cell::Cell;
    /// use sim::{Reached, Simulation, TaskCtx};
    ///
    /// // Two halves of different length. The one that ends last spawns what comes after both.
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

    /// From now on the running task also comes after `reached`.
    pub fn comes_after(&mut self, reached: Reached) {
        self.with(|world, me| world.comes_after(me, reached));
    }

    pub(crate) fn ports(&self) -> &SimPorts<'y, T> {
        self.state.ports()
    }

    /// Returns the task that runs next.
    pub(crate) fn run_task<N: NextTask<T>>(
        &mut self,
        Tracked { id, task, .. }: Tracked<T>,
        runner: &impl Fn(T, &mut Self) -> N,
    ) -> Option<Tracked<T>> {
        self.with(|world, worker| world.started(worker, id));
        self.maybe_panic(Fault::Panic);
        let next = runner(task, self).next_task();
        self.maybe_panic(Fault::Panic);
        // Numbered before its parent ends, so that it comes after that one.
        let next = next.map(|task| self.ports().track(task, Origin::Task));
        self.with(|world, worker| {
            world.ran(worker, id);
            if let Some(next) = &next {
                world.returned(worker, next.id);
            }
        });
        next
    }

    fn spawn_tracked(&mut self, task: Tracked<T>) {
        let id = task.id;
        self.state.spawn_local(task);
        self.with(|world, worker| world.spawned(worker, id));
    }

    pub(crate) fn into_parts(mut self) -> (S, WorkerMetricsLocal, Vec<Tracked<T>>) {
        let handed_back = self.state.take_returned();
        (self.scratch, self.metrics, handed_back)
    }

    fn maybe_panic(&self, fault: Fault) {
        if self.with(|world, _| world.strikes(fault)) {
            resume_unwind(Box::new(InjectedPanic));
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut World, usize) -> R) -> R {
        let handle = &self.state.ports().handle;
        handle.with(|world| f(world, handle.actor()))
    }
}

impl<T, S> Access for SimCtx<'_, T, S> {
    fn access<R>(&mut self, what: &'static str, operation: impl FnOnce() -> R) -> R {
        let handle = &self.state.ports().handle;
        handle.step();
        // Outside of the world, since it may panic.
        let result = operation();
        handle.with(|world| {
            let me = handle.actor();
            world.did(me, Op::Access, Object::Label(what), 0);
            world.task_acted(me);
        });
        result
    }
}

impl<T, S> TaskCtx<T, S> for SimCtx<'_, T, S> {
    fn worker_id(&self) -> usize {
        self.state.worker_id()
    }

    fn scratch(&mut self) -> &mut S {
        &mut self.scratch
    }

    fn spawn_local(&mut self, task: T) {
        self.maybe_panic(Fault::PanicInside);
        let task = self.ports().track(task, Origin::Task);
        self.spawn_tracked(task);
        self.with(World::task_acted);
    }

    fn spawn_local_all<const N: usize>(&mut self, tasks: [T; N]) {
        self.maybe_panic(Fault::PanicInside);
        let tasks = tasks.map(|task| self.ports().track(task, Origin::Task));
        let (worker, mut ids) = (self.worker_id(), tasks.each_ref().map(|task| task.id).into_iter());
        self.state.spawn_local_all(tasks, |ports| {
            let id = ids.next().expect("a task has a number");
            ports.handle.with(|world| world.spawned(worker, id));
        });
        self.with(World::task_acted);
    }

    fn spawn_global(&mut self, task: T) {
        self.maybe_panic(Fault::PanicInside);
        let task = self.ports().track(task, Origin::Task);
        self.state.spawn_global(task);
        self.with(World::task_acted);
    }

    fn publish(&mut self) {
        self.maybe_panic(Fault::PanicInside);
        self.with(World::publishes);
        self.state.publish();
        self.with(World::published);
    }

    fn has_idle_workers(&mut self) -> bool {
        self.maybe_panic(Fault::PanicInside);
        self.state.has_idle_workers()
    }

    fn wait_until(&mut self, what: &'static str, mut ready: impl FnMut() -> bool) -> bool {
        self.publish();
        let handle = &self.state.ports().handle;
        let me = handle.actor();
        // Other tasks may wait for what this one did before it waits.
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

    fn state(&mut self) -> &mut WorkerState<Tracked<T>, SimPorts<'y, T>> {
        &mut self.state
    }

    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.metrics
    }

    fn begin_search(&mut self) {
        let state = &self.state;
        self.with(|world, _| world.at_rest(|hasher| state.hash(hasher)));
    }

    fn spawn_next(&mut self, task: Tracked<T>) {
        self.with(|world, _| world.coverage.hit(CoveragePoint::NextSpawned));
        self.spawn_tracked(task);
    }

    fn isolate(&mut self, payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        self.ports().record_panic(payload);
        self.with(|world, _| world.coverage.hit(CoveragePoint::PanicIsolated));
        if self.with(|world, _| world.strikes(Fault::HookPanic)) {
            resume_unwind(Box::new(InjectedHookPanic));
        }
        Ok(())
    }
}

impl<T, S> std::fmt::Debug for SimCtx<'_, T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimCtx")
            .field("worker", &self.state.worker_id())
            .finish_non_exhaustive()
    }
}

/// They sometimes panic, as a user's hook may.
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

    fn tag(&mut self, task: &Tracked<T>) -> TaskId {
        task.id
    }

    fn event(&mut self, event: ExecTraceEvent<TaskId>) {
        let mut told_of_start = None;
        match event {
            ExecTraceEvent::TaskStart { tag, .. } => told_of_start = Some(tag),
            ExecTraceEvent::Returned { tag } => self.world.borrow_mut().handed_back(self.worker, tag),
            ExecTraceEvent::Awake { woken: false } => {
                let mut world = self.world.borrow_mut();
                if !world.is_done() {
                    world.coverage.hit(CoveragePoint::FoundInLastLook);
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
