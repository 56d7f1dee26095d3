//! The ways in which an executor ends.
//!
//! | way | queued tasks | a panic | blocks until |
//! |---|---|---|---|
//! | [`Executor::join`] | run | is thrown again | threads have ended |
//! | [`Executor::try_join`] | run | is returned, with the tasks that have not run | threads have ended |
//! | [`Executor::join_timeout`] | run | is thrown again | threads have ended, or the timeout |
//! | [`Executor::shutdown`] | are returned | was printed, and is dropped | threads have ended |
//! | drop | are dropped | was printed, and is dropped | threads have ended |
//! | the end of a [`scope`](crate::scope()) | run | is thrown again | threads have ended |
//! | drop on one of its own workers | are dropped | was printed, and is dropped | never |
//!
//! Why no task falls between the phases: [`executor_core::Scheduler`].

use std::any::Any;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use executor_core::{TimeHistogram, WorkerMetricsLocal, panic_message};

use crate::error::Aborted;
use crate::executor::Executor;
use crate::metrics::{Delays, MetricsSnapshot};
use crate::ports::Shared;
use crate::worker::WorkerOutput;

pub(crate) struct End<T, K> {
    panic: Option<Box<dyn Any + Send>>,
    metrics: MetricsSnapshot,
    returned: Vec<T>,
    scratches: Vec<K>,
}

impl<T> Executor<T> {
    /// Closes the executor, runs everything that was accepted and all that this spawns, and joins
    /// the threads. Every scratch value has been dropped when it returns.
    ///
    /// Tasks that a handle's [`shutdown`](crate::ExecutorHandle::shutdown) kept from running are
    /// dropped; [`Executor::try_join`] returns them.
    ///
    /// # Panics
    ///
    /// With the first panic of a task, a hook or a scratch value's drop; on one of the executor's
    /// own workers.
    pub fn join(self) -> MetricsSnapshot {
        self.assert_not_on_own_worker("join");
        self.close();
        self.collect().into_outcome().0
    }

    /// Like [`Executor::join`], but returns a panic instead of throwing it, with the tasks that
    /// have not run.
    ///
    /// ```
    /// use executor_threaded::{Executor, ExecutorConfig};
    ///
    /// let executor = Executor::<u32>::new(
    ///     ExecutorConfig::default(),
    ///     |_| (),
    ///     |task, _cx| assert_ne!(task, 3, "three is bad luck"),
    /// )?;
    /// executor.spawn_external_batch((0..10).collect())?;
    /// let aborted = executor.try_join().expect_err("a task panicked");
    /// assert!(aborted.panic_message().is_some_and(|text| text.contains("three is bad luck")));
    /// let run = aborted.metrics.total.executed() as usize;
    /// assert_eq!(run + aborted.tasks.len(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Aborted`], if something panicked or not every task has run.
    ///
    /// # Panics
    ///
    /// On one of the executor's own workers.
    #[expect(
        clippy::result_large_err,
        reason = "returned once in an executor's life, and hardly larger than the Ok"
    )]
    pub fn try_join(self) -> Result<MetricsSnapshot, Aborted<T>> {
        self.assert_not_on_own_worker("try_join");
        self.close();
        let End {
            panic,
            metrics,
            returned,
            scratches: _,
        } = self.collect();
        if panic.is_none() && returned.is_empty() {
            Ok(metrics)
        } else {
            Err(Aborted::new(panic, metrics, returned))
        }
    }

    /// Like [`Executor::join`], but waits at most for `timeout`.
    ///
    /// # Errors
    ///
    /// The executor, if it has not ended by then. It is closed and goes on draining.
    ///
    /// # Panics
    ///
    /// Like [`Executor::join`].
    pub fn join_timeout(self, timeout: Duration) -> Result<MetricsSnapshot, Self> {
        self.assert_not_on_own_worker("join_timeout");
        self.close();
        if self.shared.join_latch.wait_for(self.threads.len(), timeout) {
            Ok(self.collect().into_outcome().0)
        } else {
            Err(self)
        }
    }

    /// Lets running tasks finish, and returns all others in no particular order.
    ///
    /// It does not throw a panic again, since that would lose the tasks. To get both, call
    /// [`ExecutorHandle::shutdown`](crate::ExecutorHandle::shutdown) and [`Executor::try_join`].
    ///
    /// # Panics
    ///
    /// On one of the executor's own workers.
    #[must_use = "these tasks were accepted and have not run"]
    pub fn shutdown(self) -> Vec<T> {
        self.assert_not_on_own_worker("shutdown");
        self.shared.scheduler().abort(&*self.shared);
        let end = self.collect();
        end.tell_of_panic("shutdown");
        end.returned
    }

    fn close(&self) {
        self.shared.scheduler().close(&*self.shared);
    }

    fn collect(mut self) -> End<T, ()> {
        self.join_threads()
    }

    fn join_threads(&mut self) -> End<T, ()> {
        let threads = std::mem::take(&mut self.threads);
        End::of(&self.shared, threads.into_iter().map(JoinHandle::join))
    }
}

impl<T, K> End<T, K> {
    pub(crate) fn of(
        shared: &Shared<T>,
        joined: impl Iterator<Item = thread::Result<WorkerOutput<T, K>>>,
    ) -> Self {
        let (mut workers, mut returned, mut scratches) = (Vec::new(), Vec::new(), Vec::new());
        let mut wake_delays = TimeHistogram::default();
        let mut panic = None;
        for output in joined {
            match output {
                Ok(output) => {
                    workers.push(output.metrics);
                    wake_delays.merge(&output.wake_delays);
                    returned.extend(output.returned);
                    scratches.extend(output.scratch);
                }
                Err(payload) => {
                    workers.push(WorkerMetricsLocal::default());
                    panic = panic.or(Some(payload));
                }
            }
        }
        let metrics = MetricsSnapshot::new(
            workers,
            shared.wakes_external(),
            Delays::of(&shared.injector_waits()),
            Delays::of(&wake_delays),
        );
        tracing::debug!(
            executed = metrics.total.executed(),
            returned = metrics.total.returned,
            "executor ended"
        );
        Self {
            panic: shared.take_panic().or(panic),
            metrics,
            returned,
            scratches,
        }
    }

    /// Without a panic every worker has kept its scratch value.
    pub(crate) fn into_outcome(self) -> (MetricsSnapshot, Vec<K>) {
        if let Some(payload) = self.panic {
            resume_unwind(payload);
        }
        (self.metrics, self.scratches)
    }

    pub(crate) fn tell_of_panic(&self, way: &str) {
        if let Some(payload) = &self.panic {
            tracing::error!(
                message = panic_message(&**payload),
                "a panic is not thrown again by {way}"
            );
        }
    }
}

impl<T> Drop for Executor<T> {
    fn drop(&mut self) {
        // One of the ways above took the threads.
        if self.threads.is_empty() {
            return;
        }
        self.shared.scheduler().abort(&*self.shared);
        if self.is_on_own_worker() {
            // Joining would wait for the current task.
            self.threads.clear();
        } else {
            self.join_threads().tell_of_panic("drop");
        }
    }
}
