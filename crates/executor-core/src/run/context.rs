//! The context of a running task, for its user and for the policy.

use std::any::Any;

use crate::metrics::WorkerMetricsLocal;
use crate::ports::bundles::WorkerPorts;
use crate::worker::state::WorkerState;

/// The context of a running task.
///
/// ```
/// use executor_core::TaskCtx;
///
/// /// Counts the leaves of a binary tree: a runner for threads and simulator alike. It spawns one
/// /// half of a tree, and returns the other one, which runs next.
/// fn run<C: TaskCtx<u32, u64>>(depth: u32, cx: &mut C) -> Option<u32> {
///     if depth == 0 {
///         *cx.scratch() += 1;
///         return None;
///     }
///     cx.spawn_local(depth - 1);
///     Some(depth - 1)
/// }
/// ```
pub trait TaskCtx<T, S> {
    /// The worker's number, from 0.
    fn worker_id(&self) -> usize;

    /// The worker's scratch value.
    fn scratch(&mut self) -> &mut S;

    /// Adds a task to the worker's own tasks. It runs here next unless stolen.
    fn spawn_local(&mut self, task: T);

    /// Adds tasks as [`TaskCtx::spawn_local`] does, in their order, so the last one runs next. On
    /// threads it costs less than a call for each.
    fn spawn_local_all<const N: usize>(&mut self, tasks: [T; N])
    where
        Self: Sized,
    {
        tasks.into_iter().for_each(|task| self.spawn_local(task));
    }

    /// Adds a task to the end of the injector.
    fn spawn_global(&mut self, task: T);

    /// Makes all tasks of this worker visible to thieves.
    fn publish(&mut self);

    /// Whether some worker searches or sleeps, so that a long task should split or put back its
    /// rest.
    fn has_idle_workers(&mut self) -> bool;

    /// Publishes all tasks of this worker, and blocks it until `ready` returns `true`. Returns
    /// `false` if the executor aborts first.
    ///
    /// On threads the worker yields its core meanwhile, so the wait should be short. If all workers
    /// wait for tasks, the simulator reports each `what`.
    #[must_use = "an aborting executor ends the wait"]
    fn wait_until(&mut self, what: &'static str, ready: impl FnMut() -> bool) -> bool
    where
        Self: Sized;
}

/// A worker, as [`crate::pop_task`] and [`crate::worker_step`] see it. `S` is its scratch value.
pub trait WorkerCtxLike<T, S> {
    /// The worker's ports.
    type Ports: WorkerPorts<T>;

    /// All that the policy keeps for this worker.
    fn state(&mut self) -> &mut WorkerState<T, Self::Ports>;

    /// The worker's counters.
    fn metrics(&mut self) -> &mut WorkerMetricsLocal;

    /// The worker is about to search for a task. Its next steps follow from its state, its hooks
    /// and its ports' answers.
    #[inline]
    fn begin_search(&mut self) {}

    /// Adds the task that the task before it returned to the worker's own, because a tick is due.
    #[inline]
    fn spawn_next(&mut self, task: T) {
        self.state().spawn_local(task);
    }

    /// Handles a task's panic under [`OnPanic::Isolate`](crate::OnPanic::Isolate). It may replace
    /// the scratch value, which the task may have left half changed.
    ///
    /// # Errors
    ///
    /// The payload, if the worker cannot isolate panics (the default); the executor then stops.
    fn isolate(&mut self, payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        Err(payload)
    }
}
