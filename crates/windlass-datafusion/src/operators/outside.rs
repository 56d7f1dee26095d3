//! What a query's own tasks may not do: submit, read and wait.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pools::AsyncJob;

/// Starts `future` beside the job of this task; without a job, the caller runs it. An error says why
/// it has no result.
pub(super) fn outside<T: Send + 'static>(
    future: impl Future<Output = Result<T, String>> + Send + 'static,
) -> BoxFuture<'static, Result<T, String>> {
    match AsyncJob::current() {
        None => future.boxed(),
        Some(job) => {
            let task = job.outside(future);
            async move { task.await.map_err(|error| error.to_string())? }.boxed()
        }
    }
}
