//! A handle to an executor, without ownership.

use std::fmt;
use std::sync::Arc;

use executor_core::Rejected;

use crate::ports::Shared;

/// Hands tasks to an executor, from anywhere, tasks included.
///
/// A handle does not keep the executor running: after its end every task is rejected.
///
/// ```
/// use executor_threaded::{Executor, ExecutorConfig};
/// use std::thread;
///
/// let executor = Executor::<u64>::new(ExecutorConfig::default(), |_| (), |_task, _cx| {})?;
/// let handle = executor.handle();
/// let producer = thread::spawn(move || (0..100).try_for_each(|n| handle.spawn(n)));
/// producer.join().expect("the producer does not panic")?;
/// assert_eq!(executor.join().total.executed(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExecutorHandle<T> {
    shared: Arc<Shared<T>>,
}

impl<T> ExecutorHandle<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// Hands over one task. It runs unless the executor is aborted before.
    ///
    /// # Errors
    ///
    /// The task, if the executor no longer accepts any.
    pub fn spawn(&self, task: T) -> Result<(), Rejected<T>> {
        self.shared.spawn_external(task)
    }

    /// Hands over all tasks or none.
    ///
    /// # Errors
    ///
    /// All the tasks, if the executor no longer accepts any.
    pub fn spawn_batch(&self, tasks: Vec<T>) -> Result<(), Rejected<Vec<T>>> {
        self.shared.spawn_external_batch(tasks)
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

    /// Stops the executor and returns at once, so a task may call it. Running tasks finish; the
    /// others are returned to the owner by [`Executor::shutdown`](crate::Executor::shutdown) or
    /// [`Executor::try_join`](crate::Executor::try_join).
    pub fn shutdown(&self) {
        self.shared.scheduler().abort(&*self.shared);
    }
}

impl<T> Clone for ExecutorHandle<T> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.shared))
    }
}

impl<T> fmt::Debug for ExecutorHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorHandle")
            .field("is_accepting", &self.is_accepting())
            .field("in_flight", &self.in_flight())
            .finish()
    }
}
