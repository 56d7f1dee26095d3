//! Which worker is this thread? For code deep inside a task that was not handed its context.
//!
//! A logger, an allocator or a table of per-worker counters wants to know where it runs without a parameter
//! through ten functions. The number is the worker's in *its* executor; two executors both have a worker 0.

use std::cell::Cell;

thread_local! {
    static WORKER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The number of the worker that this thread is, from 0; `None` off the workers.
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

/// Sets what [`current_worker_id`] says on this thread. The executor does so for its workers; others who run
/// tasks on threads of their own may, too.
pub fn set_current_worker_id(worker: Option<usize>) {
    WORKER.set(worker);
}
