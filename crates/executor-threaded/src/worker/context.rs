//! The context of a running task.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use executor_core::ports::Access;
use executor_core::{TaskCtx, TimeHistogram, WorkerCtxLike, WorkerMetricsLocal, WorkerState};
use rand_xorshift::XorShiftRng;

use crate::handle::ExecutorHandle;
use crate::panic_handler::PanicHandler;
use crate::ports::ThreadPorts;
use crate::random::task_rng;

/// The context of a running task.
///
/// It implements [`TaskCtx`], for code that also runs in the simulator.
// On a cache line of its own, so that a short task's memory always lies the same way: eight bytes
// more at another place have cost 15 % of such a task's time.
#[repr(C, align(128))]
pub struct WorkerCtx<T, S> {
    spawner: Spawner<T>,
    /// Number of the worker, from 0.
    pub worker_id: usize,
    /// The worker's scratch value.
    pub scratch: S,
    /// Random numbers from the executor's seed and the worker's number.
    pub rng: XorShiftRng,
    /// The worker's counters; `idle` is updated when it leaves.
    pub metrics: WorkerMetricsLocal,
    on_panic: PanicHandler<S>,
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
            spawner: Spawner(WorkerState::new(worker_id, ports)),
        }
    }

    /// Adds a task to this worker's own tasks. It runs here next unless stolen or returned by an
    /// abort.
    #[inline]
    pub fn spawn_local(&mut self, task: T) {
        self.spawner.spawn_local(task);
    }

    /// Adds tasks as [`WorkerCtx::spawn_local`] does, in their order, so the last one runs next, for
    /// less than a call each. A task that is returned ([`NextTask`](crate::NextTask)) costs least.
    ///
    /// ```
    /// use executor_threaded::{Executor, ExecutorConfig};
    ///
    /// let tree = Executor::<u32>::new(ExecutorConfig::default(), |_| (), |depth, cx| {
    ///     if depth > 0 {
    ///         cx.spawn_local_all([depth - 1, depth - 1]);
    ///     }
    /// })?;
    /// tree.spawn_external(10)?;
    /// assert_eq!(tree.join().total.executed(), (1 << 11) - 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn spawn_local_all<const N: usize>(&mut self, tasks: [T; N]) {
        self.spawner.spawn_local_all(tasks);
    }

    /// Adds a task to the end of the global queue.
    #[inline]
    pub fn spawn_global(&mut self, task: T) {
        self.spawner.spawn_global(task);
    }

    /// Makes every task of this worker visible to thieves, before a long task or a wait.
    #[inline]
    pub fn publish(&mut self) {
        self.spawner.publish();
    }

    /// Whether some worker searches or sleeps, so that a long task should split or put back its
    /// rest. One relaxed load.
    #[inline]
    #[must_use]
    pub fn has_idle_workers(&self) -> bool {
        self.spawner.has_idle_workers()
    }

    /// A handle to the executor.
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle<T> {
        self.spawner.handle()
    }

    /// Scratch value and spawner, for a task that spawns while it borrows from its scratch value.
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

    pub(crate) fn wake_delays(&self) -> TimeHistogram {
        self.spawner.0.ports().wake_delays()
    }

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

/// Spawns tasks; half of [`WorkerCtx::parts`].
pub struct Spawner<T>(WorkerState<T, ThreadPorts<T>>);

impl<T> Spawner<T> {
    /// See [`WorkerCtx::spawn_local`].
    #[inline]
    pub fn spawn_local(&mut self, task: T) {
        self.0.spawn_local(task);
    }

    /// See [`WorkerCtx::spawn_local_all`].
    #[inline]
    pub fn spawn_local_all<const N: usize>(&mut self, tasks: [T; N]) {
        self.0.spawn_local_all(tasks, |_| ());
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

impl<T, S> Access for WorkerCtx<T, S> {}

impl<T, S> TaskCtx<T, S> for WorkerCtx<T, S> {
    #[inline]
    fn worker_id(&self) -> usize {
        self.spawner.0.worker_id()
    }

    #[inline]
    fn scratch(&mut self) -> &mut S {
        &mut self.scratch
    }

    #[inline]
    fn spawn_local(&mut self, task: T) {
        self.spawner.spawn_local(task);
    }

    #[inline]
    fn spawn_local_all<const N: usize>(&mut self, tasks: [T; N]) {
        self.spawner.spawn_local_all(tasks);
    }

    #[inline]
    fn spawn_global(&mut self, task: T) {
        self.spawner.spawn_global(task);
    }

    #[inline]
    fn publish(&mut self) {
        self.spawner.publish();
    }

    #[inline]
    fn has_idle_workers(&mut self) -> bool {
        self.spawner.has_idle_workers()
    }

    #[inline]
    fn wait_until(&mut self, _what: &'static str, ready: impl FnMut() -> bool) -> bool {
        self.spawner.0.wait_until(ready)
    }
}

impl<T, S> WorkerCtxLike<T, S> for WorkerCtx<T, S> {
    type Ports = ThreadPorts<T>;

    #[inline]
    fn state(&mut self) -> &mut WorkerState<T, ThreadPorts<T>> {
        &mut self.spawner.0
    }

    #[inline]
    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.metrics
    }

    fn isolate(&mut self, payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        (self.on_panic)(self.spawner.0.worker_id(), payload, &mut self.scratch);
        Ok(())
    }
}
