//! File systems are waited for on tokio's threads for that.

use tokio::runtime::Handle;
use tokio::task::JoinError;

/// Calls `work` where it may block; on this thread if it belongs to no runtime. Fails if the
/// runtime shuts down.
///
/// # Panics
///
/// If `work` does.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let Ok(runtime) = Handle::try_current() else {
        return Ok(work());
    };
    match runtime.spawn_blocking(work).await {
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        done => done,
    }
}
