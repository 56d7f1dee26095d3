//! An executor for the duration of a function: tasks may borrow, and the scratch values are
//! returned.
//!
//! ```text
//!   start ─► body(handle) ─► close ─► drain ─► join ─► report: value, scratches, metrics
//!               └─ panics ─► abort ────────────► join ─► thrown again
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, ScopedJoinHandle};

use executor_core::ports::Faults;
use executor_core::{ExecutorConfig, IdleHooks, NextTask, TraceHooks};

use crate::builder::ExecutorBuilder;
use crate::error::BuildError;
use crate::handle::ExecutorHandle;
use crate::metrics::MetricsSnapshot;
use crate::panic_handler::HandlesPanics;
use crate::shutdown::End;
use crate::start::{Started, start};
use crate::worker::{WorkerCtx, WorkerOutput};

/// The result of a [`scope`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScopeReport<S, R> {
    /// Each worker's scratch value, by the worker's number.
    pub scratches: Vec<S>,
    /// The body's result.
    pub value: R,
    /// The workers' counters.
    pub metrics: MetricsSnapshot,
}

/// Runs `body` with an executor that ends before `scope` returns, so tasks and scratch values may
/// borrow.
///
/// `body` runs on the calling thread. When it returns, the executor closes, runs what was accepted
/// and what that spawns, and joins its threads.
///
/// ```
/// use executor_threaded::{ExecutorConfig, scope};
///
/// let text = String::from("the quick brown fox jumps over the lazy dog");
/// let config = ExecutorConfig::new(2);
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
/// See [`BuildError`]; no thread is left running, and `body` is not called.
///
/// # Panics
///
/// With the first panic of `body`, a task, a hook or a hook's drop, after all threads have ended.
/// Tasks that have not run are dropped.
pub fn scope<T, S, A, F, N, B, R>(
    config: ExecutorConfig,
    scratch_init: A,
    runner: F,
    body: B,
) -> Result<ScopeReport<S, R>, BuildError>
where
    T: Send,
    S: Send,
    A: Fn(usize) -> S + Send + Sync,
    F: Fn(T, &mut WorkerCtx<T, S>) -> N + Send + Sync,
    N: NextTask<T>,
    B: FnOnce(&ExecutorHandle<T>) -> R,
{
    ExecutorBuilder::new()
        .config(config)
        .scope(scratch_init, runner, body)
}

impl<T, FI, FH, P> ExecutorBuilder<T, FI, FH, P> {
    /// Runs `body` with an executor whose tasks and scratch values may borrow; see
    /// [`scope`](crate::scope()).
    ///
    /// # Errors
    ///
    /// See [`BuildError`]; no thread is left running, and `body` is not called.
    ///
    /// # Panics
    ///
    /// With the first panic of `body`, a task or a hook, after all threads have ended.
    pub fn scope<S, A, R, N, I, H, B, V>(
        self,
        scratch_init: A,
        runner: R,
        body: B,
    ) -> Result<ScopeReport<S, V>, BuildError>
    where
        T: Send,
        S: Send,
        A: Fn(usize) -> S + Send + Sync,
        R: Fn(T, &mut WorkerCtx<T, S>) -> N + Send + Sync,
        N: NextTask<T>,
        FI: Fn(usize, &ExecutorConfig) -> I + Send + Sync,
        I: IdleHooks,
        FH: Fn(usize) -> H + Send + Sync,
        H: TraceHooks<T>,
        P: HandlesPanics<S>,
        B: FnOnce(&ExecutorHandle<T>) -> V,
    {
        let spec = self.spec(scratch_init, runner, |scratch| scratch);
        thread::scope(|threads| {
            let started = start(spec, |thread, work| {
                thread.spawn_scoped(threads, move || work.run())
            })?;
            run_scope(started, body)
        })
    }
}

fn run_scope<T, S, R>(
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
    // Unwind safety: no code here sees what the body has left half changed.
    let value = match catch_unwind(AssertUnwindSafe(|| body(&handle))) {
        Ok(value) => {
            shared.scheduler().close(&*shared);
            Some(value)
        }
        Err(payload) => {
            // Recorded after those of tasks, so that the first is thrown again: a body may panic
            // because a task has.
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
