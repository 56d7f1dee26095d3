//! The CPU pool: pure computation, on the pipeline executor's workers.
//!
//! A task's future is its job's ticket. A dropped future's task runs whole or not at all, and drops
//! its captures once: `crates/pipeline-exec/tests/loom/hand_over.rs` models this. That crate's
//! `native/room.rs` proves the wait for room.

mod async_job;
mod async_task;
mod computing;
mod cx;
mod job_options;
mod nice;
mod on_core;
mod outside;
mod parts;
mod polled;
mod spawn;
pub(crate) mod state;
mod task;
mod turn_observer;

use std::sync::Arc;

use pipeline_exec::{Job, JobTicket, PipelineHandle, SubmitError, metrics::PipelineSnapshot};

pub use async_job::{AsyncJob, JobUse};
pub use async_task::{AsyncTask, HandedBack, TaskError, TaskFuture};
pub use cx::CpuCx;
pub use job_options::JobOptions;
pub use outside::OutsideTask;
pub use spawn::Scoped;
pub use task::CpuTask;
pub use turn_observer::TurnObserver;

use crate::error::CpuError;
use crate::inner::Inner;

/// Runs computation. Its calls never block.
#[derive(Clone, Debug)]
pub struct CpuPool {
    pub(crate) inner: Arc<Inner>,
}

impl CpuPool {
    /// Computes `compute` on a worker. The task gives its value, or its panic as an error, and
    /// waits for room while the pool is full. Dropping it cancels: it never starts, or its context
    /// reports that.
    ///
    /// ```
    /// use pools::{CpuError, Pools};
    ///
    /// let pools = Pools::builder().cpu_threads(2).build()?;
    /// assert_eq!(pools.cpu().run(|_cx| 6 * 7).wait()?, 42);
    /// let ended = pools.cpu().run(|_cx| -> u8 { panic!("out of ink") }).wait();
    /// assert!(matches!(ended, Err(CpuError::Panicked { message }) if message == "out of ink"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<F, T>(&self, compute: F) -> CpuTask<T>
    where
        F: FnOnce(&CpuCx<'_>) -> T + Send + 'static,
        T: Send + 'static,
    {
        match self.executor() {
            Ok(executor) => CpuTask::submit(&executor, self.inner.cpu.stop(), compute),
            Err(error) => CpuTask::failed(error),
        }
    }

    /// Opens a job for futures, which are polled inside the caller's tokio runtime, or else the
    /// mixed pool's. Futures of a job that the pool does not admit are returned as
    /// [`TaskError::NotRun`].
    pub fn open(&self, options: JobOptions) -> AsyncJob {
        AsyncJob::open(&self.inner, options)
    }

    /// Submits a job of many slots; never blocks.
    ///
    /// # Errors
    ///
    /// Returns the job if the pool is full, has ended or cannot start: [`executor`](Self::executor)
    /// says which.
    pub fn submit<T>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        match self.executor() {
            Ok(executor) => executor.submit(job),
            Err(_unavailable) => Err(SubmitError::Closed(job)),
        }
    }

    /// Returns the executor, for jobs such as queries; starts it if necessary.
    ///
    /// # Errors
    ///
    /// If it has ended or cannot start.
    pub fn executor(&self) -> Result<PipelineHandle, CpuError> {
        self.inner.cpu.executor()
    }

    /// Returns the executor's counters; `None` before its first use and after its end.
    #[must_use]
    pub fn snapshot(&self) -> Option<PipelineSnapshot> {
        self.inner.cpu.snapshot()
    }
}
