//! Futures in a job: spawned as its tasks, or polled elsewhere as its code.
//!
//! ```text
//!   AsyncJob::spawn(future) ──► Polled, a task of an open job ──► turns on CPU workers
//!          │                          │ ready, or dropped
//!          ▼                          ▼
//!      AsyncTask  ◄──────────────  Output
//! ```

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::async_job::{Admitted, AsyncJob};
use super::async_task::{AsyncTask, Ended, HandedBack, Output, TaskError, TaskFuture};
use super::polled::Polled;

impl AsyncJob {
    /// Runs a future in this job, or returns it as [`TaskError::NotRun`].
    pub fn spawn<F>(&self, future: F) -> AsyncTask<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn_boxed(Box::pin(future))
    }

    /// Spawns the job's main future: dropping its task cancels the job at once.
    pub fn spawn_root<F>(&self, future: F) -> AsyncTask<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn(future).root_of(self.clone())
    }

    /// As [`spawn`](Self::spawn), for a boxed future.
    pub fn spawn_boxed<T: Send + 'static>(&self, future: TaskFuture<T>) -> AsyncTask<T> {
        let output = Output::pending();
        let Some(Admitted { open, runtime, .. }) = self.admitted() else {
            output.end(Ended::Failed(TaskError::NotRun(HandedBack::new(future))));
            return AsyncTask::new(output, None);
        };
        let polled = Polled::new(future, Arc::clone(&output), self.clone(), runtime.clone());
        // A refused task stores its outcome as it is dropped.
        let task = open.spawn(Box::new(polled)).ok();
        AsyncTask::new(output, task)
    }

    /// Wraps a future so that this job is the [`current`](Self::current) one while it is polled.
    pub fn scope<F: Future>(&self, future: F) -> Scoped<F> {
        Scoped {
            job: self.clone(),
            future: Box::pin(future),
        }
    }
}

/// A future polled as code of a job: [`AsyncJob::scope`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Scoped<F> {
    job: AsyncJob,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { job, future } = &mut *self;
        job.enter(|| future.as_mut().poll(cx))
    }
}

impl<F> fmt::Debug for Scoped<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped")
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}
