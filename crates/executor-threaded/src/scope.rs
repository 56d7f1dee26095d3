//! An executor for as long as a function runs: tasks may borrow, and the scratch values come back.
//!
//! ```text
//!   start ─► body(handle) ─► close ─► drain ─► join ─► report: value, scratches, metrics
//!               └─ panics ─► abort ────────────► join ─► thrown again
//! ```
//!
//! The threads are those of [`std::thread::scope`], so whatever outlives the call may be borrowed. Starting, working and
//! ending are the same as for an [`Executor`](crate::Executor); only who owns the threads differs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::ScopedJoinHandle;

use executor_core::ExecutorConfig;
use executor_core::ports::Faults;

use crate::builder::ExecutorBuilder;
use crate::error::BuildError;
use crate::handle::ExecutorHandle;
use crate::metrics::MetricsSnapshot;
use crate::shutdown::End;
use crate::start::Started;
use crate::worker::{WorkerOutput, WorkerCtx};

/// What is left of a [`scope`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScopeReport<S, R> {
    /// Each worker's scratch value, by the worker's number.
    pub scratches: Vec<S>,
    /// What the body returned.
    pub value: R,
    /// What the workers counted.
    pub metrics: MetricsSnapshot,
}

/// Runs `body` with an executor that ends before `scope` returns, so tasks and scratch values may borrow whatever outlives
/// the call.
///
/// `body` is called on the calling thread, when every worker has its scratch value. When it returns, nothing is accepted
/// any more, everything that was accepted runs, and all that this spawns; then the threads are joined. Handles that leave
/// the scope hand every task back.
///
/// After a handle's [`shutdown`](ExecutorHandle::shutdown) the tasks that were not run are dropped, and counted in
/// `metrics.total.returned`.
///
/// ```
/// use executor_threaded::{ExecutorConfig, scope};
///
/// let text = String::from("the quick brown fox jumps over the lazy dog");
/// let config = ExecutorConfig { workers: 2, ..ExecutorConfig::default() };
/// let report = scope(
///     config,
///     |_worker| Vec::new(),
///     |word: &str, cx| if word.len() == 5 { cx.scratch.push(word) },
///     |executor| text.split(' ').try_for_each(|word| executor.spawn(word)),
/// )?;
/// assert!(report.value.is_ok());
/// let mut long = report.scratches.concat();
/// long.sort_unstable();
/// assert_eq!(long, ["brown", "jumps", "quick"]);
/// assert_eq!(report.metrics.total.executed(), 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When the configuration is not valid, a thread cannot be started or pinned, or `scratch_init` panics; see [`BuildError`].
/// No thread is left running, and `body` is not called.
///
/// # Panics
///
/// With the first panic, whether of `body`, of a task, of a hook or of the drop of a hook. The executor is aborted then: tasks
/// that run finish, others are dropped, and all threads have ended before the panic goes on.
pub fn scope<T, S, A, F, B, R>(
    config: ExecutorConfig,
    scratch_init: A,
    runner: F,
    body: B,
) -> Result<ScopeReport<S, R>, BuildError>
where
    T: Send,
    S: Send,
    A: Fn(usize) -> S + Send + Sync,
    F: Fn(T, &mut WorkerCtx<T, S>) + Send + Sync,
    B: FnOnce(&ExecutorHandle<T>) -> R,
{
    ExecutorBuilder::new()
        .config(config)
        .scope(scratch_init, runner, body)
}

/// The rest of a scope whose threads have been started.
pub(crate) fn run_scope<T, S, R>(
    started: Started<T, ScopedJoinHandle<'_, WorkerOutput<T, S>>>,
    body: impl FnOnce(&ExecutorHandle<T>) -> R,
) -> Result<ScopeReport<S, R>, BuildError> {
    let Started {
        shared,
        threads,
        failure,
    } = started;
    let join = || End::of(&shared, threads.into_iter().map(ScopedJoinHandle::join));
    if let Some(error) = failure {
        shared.scheduler().abort(&*shared);
        join().tell_of_panic("a scope that did not start");
        return Err(error);
    }
    let handle = ExecutorHandle::new(shared.clone());
    // Unwind safety: what the body has left half changed is seen by nobody here, and the panic goes on.
    let value = match catch_unwind(AssertUnwindSafe(|| body(&handle))) {
        Ok(value) => {
            shared.scheduler().close(&*shared);
            Some(value)
        }
        Err(payload) => {
            // Recorded beside those of tasks, so that the first one is thrown again: a body that asserts that its tasks
            // are accepted panics because of a task that has.
            shared.record_panic(payload);
            shared.scheduler().abort(&*shared);
            None
        }
    };
    let (metrics, scratches) = join().into_outcome();
    let value = value.expect("a body that panicked has been recorded, and thrown again");
    Ok(ScopeReport {
        scratches,
        value,
        metrics,
    })
}
