//! Work that a job's task awaits and that runs outside of the CPU pool.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

use super::async_job::AsyncJob;
use crate::error::MixedError;
use crate::mixed::why;

/// The result of a future that [`AsyncJob::outside`] started. Dropping it ends the future at its
/// next await.
#[derive(Debug)]
#[must_use = "dropping it ends the future"]
pub struct OutsideTask<T> {
    /// `None` for a job that was not admitted.
    task: Option<JoinHandle<T>>,
}

impl AsyncJob {
    /// Starts a future on the runtime around the job, which is the mixed pool's unless the job was
    /// opened in another one. There it may use the mixed pool, from which a task of the job is
    /// refused. A task that awaits it holds no worker meanwhile.
    ///
    /// ```
    /// use pools::{AsyncJob, JobOptions, Pools};
    ///
    /// let pools = Pools::builder().cpu_threads(1).build()?;
    /// let mixed = pools.mixed();
    /// let job = pools.cpu().open(JobOptions::new().name("read"));
    /// let task = job.spawn_root(async move {
    ///     let job = AsyncJob::current().expect("it runs in a job");
    ///     job.outside(async move { mixed.run_blocking(|| 6 * 7)?.await }).await
    /// });
    /// let answer = pools.mixed().block_on(task)?;
    /// assert!(matches!(answer, Ok(Ok(Ok(42)))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn outside<F>(&self, future: F) -> OutsideTask<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let admitted = self.admitted();
        OutsideTask {
            task: admitted.map(|admitted| admitted.runtime.spawn(future)),
        }
    }
}

/// An error says why there is no value: the runtime has ended, the future panicked, or the job was
/// not admitted.
impl<T> Future for OutsideTask<T> {
    type Output = Result<T, MixedError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(task) = &mut self.task else {
            return Poll::Ready(Err(MixedError::Closed));
        };
        Pin::new(task).poll(cx).map(|ended| ended.map_err(why))
    }
}

impl<T> Drop for OutsideTask<T> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
