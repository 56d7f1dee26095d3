//! The ways in which an executor ends, for its owner.
//!
//! | way | queued tasks | a panic | blocks until |
//! |---|---|---|---|
//! | [`Executor::join`] | are run | is thrown again | threads have ended |
//! | [`Executor::try_join`] | are run | is handed over, with the tasks that were not run | threads have ended |
//! | [`Executor::join_timeout`] | are run | is thrown again | threads have ended, or the time is up |
//! | [`Executor::shutdown`] | are handed back | was printed, and is dropped | threads have ended |
//! | drop | are dropped | was printed, and is dropped | threads have ended |
//! | the end of a [`scope`](crate::scope()) | are run | is thrown again | threads have ended |
//! | drop on one of its own workers | are dropped | was printed, and is dropped | not at all |
//!
//! Whoever drops an executor inside one of its own tasks cannot wait for its threads, not even for the others: they
//! stay until nothing is in flight, since whatever runs may still spawn, and the dropping task itself is in flight.
//! The threads end by themselves when the tasks that run now are over.
//!
//! The phases themselves, and why no task falls between them, are core's; see [`executor_core::Scheduler`].

use std::any::Any;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use executor_core::{TimeHistogram, WorkerMetricsLocal};

use crate::error::{Aborted, panic_message};
use crate::executor::Executor;
use crate::metrics::{Delays, MetricsSnapshot};
use crate::ports::Shared;
use crate::worker::WorkerOutput;

/// What is left of an executor whose threads have ended.
pub(crate) struct End<T, K> {
    panic: Option<Box<dyn Any + Send>>,
    metrics: MetricsSnapshot,
    returned: Vec<T>,
    /// What was kept of each worker's scratch value, by its number.
    scratches: Vec<K>,
}

impl<T> Executor<T> {
    /// Stops accepting, runs everything that was accepted and all that this spawns, and ends the threads. Every
    /// scratch value has been dropped when it returns.
    ///
    /// After a handle's [`shutdown`](crate::ExecutorHandle::shutdown) tasks that were not run are dropped, and counted
    /// in `returned`; [`Executor::try_join`] hands them over instead.
    ///
    /// # Panics
    ///
    /// With the first panic, if a task, a hook or the drop of a scratch value panicked. On one of the executor's own
    /// workers, whose running task would wait for itself.
    pub fn join(self) -> MetricsSnapshot {
        self.assert_not_on_own_worker("join");
        self.close();
        self.collect().into_outcome().0
    }

    /// Like [`Executor::join`], but a panic is handed over instead of thrown, together with the tasks that nobody ran.
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
    /// [`Aborted`], if something panicked or not every task was run.
    ///
    /// # Panics
    ///
    /// On one of the executor's own workers, whose running task would wait for itself.
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

    /// Like [`Executor::join`], but gives up waiting after `timeout`.
    ///
    /// # Errors
    ///
    /// The executor, if it has not ended by then. It goes on draining and accepts nothing more; join it again, or
    /// shut it down.
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

    /// Stops at task boundaries: tasks that run now finish, everything else comes back, in no particular order: what
    /// was queued, and what the last tasks still spawned.
    ///
    /// A panic is not thrown again here, since that would lose the tasks; it has been printed when it happened. Who
    /// wants both calls [`ExecutorHandle::shutdown`](crate::ExecutorHandle::shutdown) and [`Executor::try_join`].
    ///
    /// # Panics
    ///
    /// On one of the executor's own workers, whose running task would wait for itself.
    #[must_use = "these tasks were accepted and nobody has run them"]
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

    /// Joins the threads of a closed executor. Not to be called on one of them.
    fn collect(mut self) -> End<T, ()> {
        self.join_threads()
    }

    fn join_threads(&mut self) -> End<T, ()> {
        let threads = std::mem::take(&mut self.threads);
        End::of(&self.shared, threads.into_iter().map(JoinHandle::join))
    }
}

impl<T, K> End<T, K> {
    /// Brings together what each thread has left, while `joined` joins them.
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

    /// The metrics and what was kept of the scratch values: each worker's, since one that kept nothing has panicked.
    /// Throws that panic again.
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
        // Ended already, by one of the ways above, which took the threads.
        if self.threads.is_empty() {
            return;
        }
        self.shared.scheduler().abort(&*self.shared);
        if self.is_on_own_worker() {
            // Joining would wait for the task that we are in.
            self.threads.clear();
        } else {
            self.join_threads().tell_of_panic("drop");
        }
    }
}
