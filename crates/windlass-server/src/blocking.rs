//! Waits for file systems on tokio's blocking threads.

use tokio::runtime::Handle;
use tokio::task::JoinError;

/// Calls `work`, on this thread outside of a runtime. Fails if the runtime shuts down. Panics of
/// `work` go on here.
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
