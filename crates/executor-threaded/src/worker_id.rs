//! The number of the current thread's worker, for code such as loggers that has no context.
//!
//! Each executor numbers its own workers: two executors both have a worker 0.

use std::cell::Cell;

thread_local! {
    static WORKER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The number of this thread's worker, or `None` on any other thread.
///
/// ```
/// use executor_threaded::{Executor, ExecutorConfig, current_worker_id};
///
/// assert_eq!(current_worker_id(), None);
/// let executor = Executor::<()>::new(
///     ExecutorConfig::default(),
///     |worker| assert_eq!(current_worker_id(), Some(worker)),
///     |(), cx| assert_eq!(current_worker_id(), Some(cx.worker_id)),
/// )?;
/// executor.spawn_external(())?;
/// executor.join();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn current_worker_id() -> Option<usize> {
    WORKER.get()
}

/// Sets the number of this thread's worker, for other threads that run tasks.
pub fn set_current_worker_id(worker: Option<usize>) {
    WORKER.set(worker);
}
