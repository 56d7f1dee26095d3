//! The context of a running task, for its user and for the policy.
//!
//! A runner that is generic over [`TaskCtx`] runs on threads and in the simulator. An owner of
//! workers implements [`WorkerCtxLike`], through which the policy reaches a worker's state.

use std::any::Any;
use std::hash::Hash;

use crate::metrics::WorkerMetricsLocal;
use crate::ports::bundles::WorkerPorts;
use crate::worker::state::WorkerState;

/// The context of a running task.
///
/// ```
/// use executor_core::TaskCtx;
///
/// /// Counts the leaves of a binary tree: a runner for threads and simulator alike.
/// fn run<C: TaskCtx<u32, u64>>(depth: u32, cx: &mut C) {
///     if depth == 0 {
///         *cx.scratch() += 1;
///     } else {
///         cx.spawn_local(depth - 1);
///         cx.spawn_local(depth - 1);
///     }
/// }
/// ```
pub trait TaskCtx<T, S> {
    /// Number of the worker that runs the task, from 0.
    fn worker_id(&self) -> usize;

    /// The worker's scratch value.
    fn scratch(&mut self) -> &mut S;

    /// Adds a task to the worker's own tasks. It runs here next unless a thief takes it.
    fn spawn_local(&mut self, task: T);

    /// Adds a task to the end of the injector.
    fn spawn_global(&mut self, task: T);

    /// Makes every task of this worker visible to thieves.
    fn publish(&mut self);

    /// Whether some worker searches or sleeps: then a long task should split or put back what is
    /// left of it. It is cheap, and it may change at once.
    fn has_idle_workers(&mut self) -> bool;

    /// Makes every task of this worker visible to thieves, and blocks the worker until `ready`
    /// returns `true`. Returns `false` if the executor aborts meanwhile.
    ///
    /// On threads the worker yields its core between two calls of `ready`, so the wait should be
    /// short. If every worker waits for tasks that none is left to run, all wait until an abort:
    /// the simulator finds such schedules and reports `what` each waits for.
    #[must_use = "an aborting executor ends the wait"]
    fn wait_until(&mut self, what: &'static str, ready: impl FnMut() -> bool) -> bool
    where
        Self: Sized;
}

/// A worker, as [`crate::pop_task`] and [`crate::worker_step`] see it. `S` is its scratch value,
/// which the policy never touches.
pub trait WorkerCtxLike<T, S> {
    /// The worker's ports.
    type Ports: WorkerPorts<T>;

    /// All that the policy keeps for this worker.
    fn state(&mut self) -> &mut WorkerState<T, Self::Ports>;

    /// The worker's counters.
    fn metrics(&mut self) -> &mut WorkerMetricsLocal;

    /// The worker has no task in hand and is about to search for one. What it does next follows
    /// from its state and from `pops_left`, the pops before its next tick, as far as both are
    /// hashed, and from its hooks and its ports' answers.
    #[inline]
    fn begin_search(&mut self, pops_left: impl Hash) {
        let _ = pops_left;
    }

    /// Handles the panic of a task under [`OnPanic::Isolate`](crate::OnPanic::Isolate); it may
    /// replace the scratch value, which the task may have left half changed.
    ///
    /// A panic in here stops the executor, as under [`OnPanic::Stop`](crate::OnPanic::Stop).
    ///
    /// # Errors
    ///
    /// The payload, if the worker cannot isolate panics, which is the default; then the executor
    /// stops.
    fn isolate(&mut self, payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        Err(payload)
    }
}
