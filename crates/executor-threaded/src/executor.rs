//! The executor: a set of threads that one value owns.
//!
//! Every way to end it takes it by value or is its drop, so no thread outlives it; see
//! [`crate::shutdown`].

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use executor_core::{ExecutorConfig, Rejected};

use crate::handle::ExecutorHandle;
use crate::ports::Shared;
use crate::worker::WorkerOutput;
use crate::worker_id::current_worker_id;

/// Runs tasks of one type on a fixed set of threads, local-first and work-stealing.
///
/// A drop lets running tasks finish, drops the others and joins the threads. Inside one of its own
/// tasks it joins none.
pub struct Executor<T> {
    pub(crate) shared: Arc<Shared<T>>,
    pub(crate) threads: Vec<WorkerThread<T>>,
}

pub(crate) type WorkerThread<T> = JoinHandle<WorkerOutput<T, ()>>;

impl<T> Executor<T> {
    pub(crate) fn new_started(shared: Arc<Shared<T>>, threads: Vec<WorkerThread<T>>) -> Self {
        Self { shared, threads }
    }

    /// Hands over one task. It runs unless the executor is aborted before.
    ///
    /// # Errors
    ///
    /// The task, if the executor no longer accepts any.
    pub fn spawn_external(&self, task: T) -> Result<(), Rejected<T>> {
        self.shared.spawn_external(task)
    }

    /// Hands over all tasks or none, and wakes as many workers as they need.
    ///
    /// # Errors
    ///
    /// All the tasks, if the executor no longer accepts any.
    pub fn spawn_external_batch(&self, tasks: Vec<T>) -> Result<(), Rejected<Vec<T>>> {
        self.shared.spawn_external_batch(tasks)
    }

    /// A handle that can be cloned and sent.
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle<T> {
        ExecutorHandle::new(Arc::clone(&self.shared))
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &ExecutorConfig {
        self.shared.scheduler().config()
    }

    /// Whether tasks are accepted.
    #[must_use]
    pub fn is_accepting(&self) -> bool {
        self.shared.scheduler().state().is_accepting(&*self.shared)
    }

    /// Tasks that are queued or running, and counts that workers hold; never too small.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.scheduler().state().in_flight(&*self.shared)
    }

    /// Blocks until nothing is in flight. The executor still accepts tasks.
    ///
    /// # Panics
    ///
    /// On one of the executor's own workers.
    pub fn wait_idle(&self) {
        self.assert_not_on_own_worker("wait_idle");
        self.shared.scheduler().wait_idle(&*self.shared);
    }

    pub(crate) fn is_on_own_worker(&self) -> bool {
        let me = thread::current().id();
        self.threads.iter().any(|worker| worker.thread().id() == me)
    }

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
