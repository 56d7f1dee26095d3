//! What a running task may touch: its worker's number, scratch, chance and counters, and the doors for new tasks.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use executor_core::{SeenByTasks, TimeHistogram, WorkerCtxLike, WorkerMetricsLocal};
use rand_xorshift::XorShiftRng;

use crate::handle::ExecutorHandle;
use crate::panic_handler::PanicHandler;
use crate::ports::ThreadPorts;
use crate::random::task_rng;

/// The worker that runs a task, as the task sees it.
///
/// It has no lifetime parameter, and every field that a task may change is a field of its own, so borrowing one
/// leaves the others free. For code that is to run in the simulator as well there is
/// [`TaskCtx`](executor_core::TaskCtx), which this implements.
// On a cache line of its own, so that what is on a short task's path lies the same way whatever is added here or comes before:
// eight bytes more at another place have cost 15 % of such a task's time.
#[repr(align(128))]
pub struct WorkerCtx<T, S> {
    /// Number of the worker, from 0.
    pub worker_id: usize,
    /// The worker's own value; only tasks on this worker see it.
    pub scratch: S,
    /// Random numbers for this worker's tasks, from the executor's seed and the worker's number. The policy draws
    /// from a generator of its own.
    pub rng: XorShiftRng,
    /// What the worker has counted. `spawned`, `wakes` and `idle` are brought up to date when the worker runs out of
    /// work, the last only when it leaves.
    pub metrics: WorkerMetricsLocal,
    on_panic: PanicHandler<S>,
    spawner: Spawner<T>,
}

impl<T, S> WorkerCtx<T, S> {
    pub(crate) fn new(
        worker_id: usize,
        scratch: S,
        seed: u64,
        on_panic: PanicHandler<S>,
        ports: ThreadPorts<T>,
    ) -> Self {
        Self {
            worker_id,
            scratch,
            rng: task_rng(seed, worker_id),
            metrics: WorkerMetricsLocal::default(),
            on_panic,
            spawner: Spawner(executor_core::WorkerState::new(worker_id, ports)),
        }
    }

    /// Adds a task to this worker's own queue. It runs here next unless somebody steals it, whether the executor
    /// still accepts tasks from outside or not. While the executor aborts it is handed back instead of run.
    #[inline]
    pub fn spawn_local(&mut self, task: T) {
        self.spawner.spawn_local(task);
    }

    /// Adds a task to the end of the global queue, so that it runs after what waits there.
    #[inline]
    pub fn spawn_global(&mut self, task: T) {
        self.spawner.spawn_global(task);
    }

    /// Makes every task of this worker visible to thieves: for a task that is about to take long or to wait.
    #[inline]
    pub fn publish(&mut self) {
        self.spawner.publish();
    }

    /// Whether some worker looks for work or sleeps: then a long task does well to split what is left of it, or to put it
    /// back. One relaxed load; advice, since a moment later it may be otherwise.
    #[inline]
    #[must_use]
    pub fn has_idle_workers(&self) -> bool {
        self.spawner.has_idle_workers()
    }

    /// A handle to the executor, to be kept or given away.
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle<T> {
        self.spawner.handle()
    }

    /// Scratch and spawner at the same time, for a task that spawns while it borrows from its scratch.
    ///
    /// ```
    /// use executor_threaded::{Executor, ExecutorConfig};
    ///
    /// let tables = |_worker| vec![1_u32, 2, 3];
    /// let executor = Executor::<u32>::new(ExecutorConfig::default(), tables, |task, cx| {
    ///     let (table, spawner) = cx.parts();
    ///     for entry in table.iter().filter(|&&entry| entry < task) {
    ///         spawner.spawn_local(*entry);
    ///     }
    /// })?;
    /// executor.spawn_external(3)?;
    /// assert_eq!(executor.join().total.executed(), 1 + 2 + 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn parts(&mut self) -> (&mut S, &mut Spawner<T>) {
        (&mut self.scratch, &mut self.spawner)
    }

    /// How long it took this worker to run after it was unparked.
    pub(crate) fn wake_delays(&self) -> TimeHistogram {
        self.spawner.0.ports().wake_delays()
    }

    /// The worker leaves: what it counted, what it took and did not run, and the scratch value.
    pub(crate) fn into_output(mut self) -> (WorkerMetricsLocal, Vec<T>, S) {
        let Spawner(mut spawner) = self.spawner;
        self.metrics.idle = spawner.ports().idle();
        (self.metrics, spawner.take_returned(), self.scratch)
    }
}

impl<T, S> fmt::Debug for WorkerCtx<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerCtx")
            .field("worker_id", &self.worker_id)
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

/// How a running task brings others into the world; half of [`WorkerCtx::parts`].
pub struct Spawner<T>(executor_core::WorkerState<T, ThreadPorts<T>>);

impl<T> Spawner<T> {
    /// See [`WorkerCtx::spawn_local`].
    #[inline]
    pub fn spawn_local(&mut self, task: T) {
        self.0.spawn_local(task);
    }

    /// See [`WorkerCtx::spawn_global`].
    #[inline]
    pub fn spawn_global(&mut self, task: T) {
        self.0.spawn_global(task);
    }

    /// See [`WorkerCtx::publish`].
    #[inline]
    pub fn publish(&mut self) {
        self.0.publish();
    }

    /// See [`WorkerCtx::has_idle_workers`].
    #[inline]
    #[must_use]
    pub fn has_idle_workers(&self) -> bool {
        self.0.has_idle_workers()
    }

    /// See [`WorkerCtx::handle`].
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle<T> {
        ExecutorHandle::new(Arc::clone(self.0.ports().shared()))
    }
}

impl<T> fmt::Debug for Spawner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawner").finish_non_exhaustive()
    }
}

impl<T, S> SeenByTasks for WorkerCtx<T, S> {}

impl<T, S> WorkerCtxLike<T, S> for WorkerCtx<T, S> {
    type Ports = ThreadPorts<T>;

    #[inline]
    fn state(&mut self) -> &mut executor_core::WorkerState<T, ThreadPorts<T>> {
        &mut self.spawner.0
    }

    #[inline]
    fn worker_id(&self) -> usize {
        self.worker_id
    }

    #[inline]
    fn scratch(&mut self) -> &mut S {
        &mut self.scratch
    }

    #[inline]
    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.metrics
    }

    fn isolate(&mut self, payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        (self.on_panic)(self.worker_id, payload, &mut self.scratch);
        Ok(())
    }
}
