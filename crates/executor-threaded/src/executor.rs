//! The executor itself: a set of threads that one value owns.
//!
//! There is one owner and there are any number of handles. The owner decides how it ends, and every way to end it
//! takes the executor by value or is its drop, so that no thread outlives it (the ways are in [`crate::shutdown`]).

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use executor_core::{ExecutorConfig, Rejected};

use crate::builder::ExecutorBuilder;
use crate::error::BuildError;
use crate::handle::ExecutorHandle;
use crate::ports::Shared;
use crate::worker::{WorkerOutput, WorkerCtx};
use crate::worker_id::current_worker_id;

/// Runs tasks of one type on a fixed set of threads, local-first and work-stealing.
///
/// See the [crate's documentation](crate) for an example.
///
/// Dropping it shuts it down: tasks that run now finish, the others are dropped, and the threads are joined. A drop
/// inside one of its own tasks joins nobody, since every worker waits for that very task; the threads then leave by
/// themselves when it is over.
pub struct Executor<T> {
    pub(crate) shared: Arc<Shared<T>>,
    pub(crate) threads: Vec<WorkerThread<T>>,
}

/// A worker's thread, as its executor holds it.
pub(crate) type WorkerThread<T> = JoinHandle<WorkerOutput<T, ()>>;

impl<T: Send + 'static> Executor<T> {
    /// Starts an executor; returns when every worker has its scratch value.
    ///
    /// `scratch_init` makes the scratch value of the worker with the number that it is given, on that worker's own
    /// thread; the value is dropped there, too, before the executor has ended. `runner` runs a task, and may spawn
    /// more through the context that it is given.
    ///
    /// Threads inherit the affinity mask of the thread that starts them: an executor that is built inside a task of a
    /// pinned one has that worker's core only.
    ///
    /// # Errors
    ///
    /// When the configuration is not valid, a thread cannot be started or pinned, or `scratch_init` panics; see
    /// [`BuildError`]. No thread is left running.
    pub fn new<S, A, R>(config: ExecutorConfig, scratch_init: A, runner: R) -> Result<Self, BuildError>
    where
        S: 'static,
        A: Fn(usize) -> S + Send + Sync + 'static,
        R: Fn(T, &mut WorkerCtx<T, S>) + Send + Sync + 'static,
    {
        Self::builder().config(config).build(scratch_init, runner)
    }
}

impl<T> Executor<T> {
    /// Sets more than plain data: thread names, stack size, hooks.
    #[must_use]
    pub fn builder() -> ExecutorBuilder<T> {
        ExecutorBuilder::new()
    }

    pub(crate) fn new_started(shared: Arc<Shared<T>>, threads: Vec<WorkerThread<T>>) -> Self {
        Self { shared, threads }
    }

    /// Hands over one task. It will be run, unless the executor is aborted before.
    ///
    /// # Errors
    ///
    /// The task, when the executor no longer accepts any: after [`Executor::join_timeout`], a handle's `shutdown`
    /// or a panic.
    pub fn spawn_external(&self, task: T) -> Result<(), Rejected<T>> {
        self.shared.spawn_external(task)
    }

    /// Hands over many tasks, all or none, and wakes as many workers as that calls for.
    ///
    /// # Errors
    ///
    /// All the tasks, when the executor no longer accepts any.
    pub fn spawn_external_batch(&self, tasks: Vec<T>) -> Result<(), Rejected<Vec<T>>> {
        self.shared.spawn_external_batch(tasks)
    }

    /// A handle that can be cloned and sent, and that hands over tasks just as well.
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle<T> {
        ExecutorHandle::new(Arc::clone(&self.shared))
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &ExecutorConfig {
        self.shared.scheduler().config()
    }

    /// Whether tasks are accepted. It may change at once, so this is advice; [`Executor::spawn_external`] decides.
    #[must_use]
    pub fn is_accepting(&self) -> bool {
        self.shared.scheduler().state().is_accepting(&*self.shared)
    }

    /// Tasks that are queued or running, and counts that workers have borrowed ahead. A number for people: it may
    /// have changed already, and it is never too small.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.scheduler().state().in_flight(&*self.shared)
    }

    /// Blocks until nothing is in flight. The gate stays open, so more may come at once.
    ///
    /// After an abort it waits until every task has been run or handed back.
    ///
    /// # Panics
    ///
    /// On one of the executor's own workers, whose running task would wait for itself.
    pub fn wait_idle(&self) {
        self.assert_not_on_own_worker("wait_idle");
        self.shared.scheduler().wait_idle(&*self.shared);
    }

    pub(crate) fn is_on_own_worker(&self) -> bool {
        let me = thread::current().id();
        self.threads.iter().any(|worker| worker.thread().id() == me)
    }

    /// A task that waits for its own end never gets there; rather than hang, say so.
    pub(crate) fn assert_not_on_own_worker(&self, method: &str) {
        assert!(
            !self.is_on_own_worker(),
            "`Executor::{method}` was called on worker {} of the same executor, whose running task would wait for \
             itself; call it from another thread, or end the executor with `ExecutorHandle::shutdown`",
            current_worker_id().unwrap_or_default()
        );
    }
}

impl<T> fmt::Debug for Executor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("workers", &self.threads.len())
            .field("is_accepting", &self.is_accepting())
            .field("in_flight", &self.in_flight())
            .finish()
    }
}
