//! What a running task may touch, and what the policy may.
//!
//! [`TaskCtx`] is the face towards the user: one function generic over it runs on threads and in the simulator.
//! [`WorkerCtxLike`] is the face towards the policy: whoever owns workers implements it once. Mostly the two are one and
//! the same worker, which then says that it is [`SeenByTasks`].

use std::any::Any;

use crate::metrics::WorkerMetricsLocal;
use crate::ports::WorkerPorts;
use crate::state::WorkerState;

/// What a running task may touch.
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

    /// The worker's own scratch value.
    fn scratch(&mut self) -> &mut S;

    /// Adds a task to the worker's own queue. It runs here next unless somebody steals it.
    fn spawn_local(&mut self, task: T);

    /// Adds a task to the end of the global queue.
    fn spawn_global(&mut self, task: T);

    /// Makes every task of this worker visible to thieves.
    fn publish(&mut self);

    /// Whether some worker looks for work or sleeps: then a long task does well to split what is left of it, or to put it back.
    /// Cheap, and advice: a moment later it may be otherwise.
    fn has_idle_workers(&mut self) -> bool;

    /// Does something with memory that tasks share, in one go: a load, a store, a swap, a whole critical section.
    ///
    /// On threads this is `operation` and nothing else. In the simulator others may go first, so that what can come between
    /// two accesses does come between them under some schedule; `what` names it in the table of the run. Between two accesses
    /// that are not marked, nothing ever comes there.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use executor_core::TaskCtx;
    ///
    /// fn count<C: TaskCtx<(), ()>>(counter: &AtomicU64, cx: &mut C) {
    ///     // Ordering: Relaxed. A count, and nothing hangs on it.
    ///     cx.access("count one more", || counter.fetch_add(1, Ordering::Relaxed));
    /// }
    /// ```
    #[inline]
    fn access<R>(&mut self, what: &'static str, operation: impl FnOnce() -> R) -> R
    where
        Self: Sized,
    {
        let _ = what;
        operation()
    }

    /// Makes every task of this worker visible to thieves, and holds the worker until `ready` says yes. Gives whether it did:
    /// an executor that aborts lets nobody wait.
    ///
    /// On threads the worker asks again and again and yields its core in between; so it is for what comes soon. If all
    /// workers wait for tasks that nobody is left to run, they wait until somebody aborts: the simulator finds the schedules
    /// that lead there, and says for `what` each waits.
    #[must_use = "an executor that aborts lets nobody wait"]
    fn wait_until(&mut self, what: &'static str, ready: impl FnMut() -> bool) -> bool
    where
        Self: Sized;
}

/// A worker, as [`crate::pop_task`] and [`crate::worker_step`] see it: the bundle of small ports, and what the
/// policy keeps for this worker.
pub trait WorkerCtxLike<T, S> {
    /// The ports.
    type Ports: WorkerPorts<T>;

    /// The worker's own side of the scheduler.
    fn state(&mut self) -> &mut WorkerState<T, Self::Ports>;

    /// The worker's number.
    fn worker_id(&self) -> usize;

    /// The worker's scratch value.
    fn scratch(&mut self) -> &mut S;

    /// The worker's counters.
    fn metrics(&mut self) -> &mut WorkerMetricsLocal;

    /// A task of this worker has panicked under [`OnPanic::Isolate`](crate::OnPanic::Isolate), with this payload. The
    /// worker is about to go on; the scratch value, which the task may have left half changed, can be replaced first.
    ///
    /// A panic in here stops the executor, as under [`OnPanic::Stop`](crate::OnPanic::Stop).
    ///
    /// # Errors
    ///
    /// The payload, from whoever cannot isolate: then it is as under [`OnPanic::Stop`](crate::OnPanic::Stop), too. That
    /// is the default.
    fn isolate(&mut self, payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        Err(payload)
    }
}

/// A worker that its tasks see as it is: by being a [`WorkerCtxLike`] it is a [`TaskCtx`], too.
///
/// Not so a worker for whose policy a task is something else than for its user, a simulator's, say, that numbers what is
/// spawned. It implements [`TaskCtx`] itself.
pub trait SeenByTasks {}

impl<T, S, C: WorkerCtxLike<T, S> + SeenByTasks> TaskCtx<T, S> for C {
    #[inline]
    fn worker_id(&self) -> usize {
        WorkerCtxLike::worker_id(self)
    }

    #[inline]
    fn scratch(&mut self) -> &mut S {
        WorkerCtxLike::scratch(self)
    }

    #[inline]
    fn spawn_local(&mut self, task: T) {
        self.state().spawn_local(task);
    }

    #[inline]
    fn spawn_global(&mut self, task: T) {
        self.state().spawn_global(task);
    }

    #[inline]
    fn publish(&mut self) {
        self.state().publish();
    }

    #[inline]
    fn has_idle_workers(&mut self) -> bool {
        self.state().has_idle_workers()
    }

    #[inline]
    fn wait_until(&mut self, _what: &'static str, ready: impl FnMut() -> bool) -> bool {
        self.state().wait_until(ready)
    }
}
