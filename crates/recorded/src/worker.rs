//! A worker of a recorded run.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc::Sender;

use executor_core::ports::{Access, Faults, Native};
use executor_core::{
    NextTask, TaskCtx, TieredIdle, WorkerCtxLike, WorkerMetricsLocal, WorkerState, run_worker,
};

use crate::event::{Event, TaskId};
use crate::log::Log;
use crate::ports::{LogHooks, Numbered, Recorded};
use crate::recording::UnrecordedPorts;
use crate::word::Versioned;

type Ports<T> = Recorded<UnrecordedPorts<T>, Native, Rc<Log>>;

/// The context of a task of a recorded run.
// On a cache line of its own, as an executor's context is.
#[repr(align(128))]
pub struct RecordedCtx<T, S> {
    /// The worker's scratch value.
    pub scratch: S,
    metrics: WorkerMetricsLocal,
    state: WorkerState<Numbered<T>, Ports<T>>,
}

pub(crate) struct WorkerOutput<S> {
    pub(crate) scratch: S,
    pub(crate) metrics: WorkerMetricsLocal,
    pub(crate) returned: Vec<TaskId>,
    pub(crate) log: Log,
}

pub(crate) fn work<T, S, N: NextTask<T>>(
    worker: usize,
    slot: UnrecordedPorts<T>,
    entries: usize,
    ready: Sender<()>,
    scratch_init: &impl Fn(usize) -> S,
    runner: &impl Fn(T, &mut RecordedCtx<T, S>) -> N,
) -> WorkerOutput<S> {
    let shared = slot.shared().clone();
    // Declared first, so it is dropped last.
    let _latch = shared.join_latch.count_down_on_drop();
    let config = shared.scheduler().config();
    let log = Rc::new(Log::new(worker, entries));
    let ports = Recorded::new(slot, Versioned(Native), Rc::clone(&log));
    let mut cx = RecordedCtx {
        scratch: scratch_init(worker),
        metrics: WorkerMetricsLocal::default(),
        state: WorkerState::new(worker, ports),
    };
    // The builder listens until all workers have reported; otherwise the report does not matter.
    let _ = ready.send(());
    drop(ready);
    let run = |Numbered { task, .. }: Numbered<T>, cx: &mut RecordedCtx<T, S>| {
        let next = runner(task, cx).next_task();
        next.map(|task| cx.number(task))
    };
    let mut idle = TieredIdle::of(config);
    let mut hooks = LogHooks(Rc::clone(&log));
    // Unwind safety: the state is only read after a panic.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        run_worker(&mut cx, &run, &mut idle, &mut hooks)
    }));
    if let Err(payload) = ran {
        // A failed assertion of the policy: the count may never reach zero.
        let ports = cx.state.ports();
        ports.record_panic(payload);
        shared.scheduler().abort(ports);
        shared.scheduler().sleep().finish(ports);
    }
    log.event(Event::Left);
    let RecordedCtx {
        scratch,
        metrics,
        mut state,
        ..
    } = cx;
    let returned = state.take_returned();
    drop((state, hooks));
    WorkerOutput {
        scratch,
        metrics,
        returned: returned.iter().map(|task| task.id).collect(),
        log: Rc::into_inner(log).expect("ports and hooks are dropped"),
    }
}

impl<T, S> RecordedCtx<T, S> {
    #[inline]
    fn number(&self, task: T) -> Numbered<T> {
        let id = self.state.ports().log().next_task();
        Numbered { id, task }
    }

    #[inline]
    fn spawn_numbered(&mut self, task: Numbered<T>) {
        self.state.spawn_local(task);
        self.state.ports().log().spawned();
    }
}

impl<T, S> Access for RecordedCtx<T, S> {}

impl<T, S> TaskCtx<T, S> for RecordedCtx<T, S> {
    #[inline]
    fn worker_id(&self) -> usize {
        self.state.worker_id()
    }

    #[inline]
    fn scratch(&mut self) -> &mut S {
        &mut self.scratch
    }

    #[inline]
    fn spawn_local(&mut self, task: T) {
        let task = self.number(task);
        self.spawn_numbered(task);
    }

    #[inline]
    fn spawn_local_all<const N: usize>(&mut self, tasks: [T; N]) {
        let mut next = self.state.ports().log().next_task();
        let tasks = tasks.map(|task| {
            let id = next;
            next = id.following();
            Numbered { id, task }
        });
        self.state.spawn_local_all(tasks, |ports| ports.log().spawned());
    }

    #[inline]
    fn spawn_global(&mut self, task: T) {
        let task = self.number(task);
        self.state.spawn_global(task);
        self.state.ports().log().spawned();
    }

    #[inline]
    fn publish(&mut self) {
        self.state.publish();
    }

    #[inline]
    fn has_idle_workers(&mut self) -> bool {
        self.state.has_idle_workers()
    }

    #[inline]
    fn wait_until(&mut self, _what: &'static str, ready: impl FnMut() -> bool) -> bool {
        self.state.wait_until(ready)
    }
}

impl<T, S> WorkerCtxLike<Numbered<T>, S> for RecordedCtx<T, S> {
    type Ports = Ports<T>;

    #[inline]
    fn state(&mut self) -> &mut WorkerState<Numbered<T>, Ports<T>> {
        &mut self.state
    }

    #[inline]
    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.metrics
    }

    #[inline]
    fn spawn_next(&mut self, task: Numbered<T>) {
        self.spawn_numbered(task);
    }

    fn isolate(&mut self, _payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        self.state.ports().log().panicked();
        Ok(())
    }
}

impl<T, S> fmt::Debug for RecordedCtx<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedCtx")
            .field("worker", &self.state.worker_id())
            .finish_non_exhaustive()
    }
}
