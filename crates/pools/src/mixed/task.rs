//! The end of mixed work, once it comes.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{AbortHandle, JoinError, JoinHandle};

use crate::error::{MixedError, PoolKind};
use crate::thread::{refuse_async, refuse_cpu};

/// What mixed work gives, as a future, or to a thread that may block. Dropping it changes nothing: the work goes on.
///
/// In a CPU task it gives [`WrongPool`](crate::WrongPool), however it came there.
#[derive(Debug)]
#[must_use = "it tells how the work ended; drop it to let that run unobserved"]
pub struct MixedTask<T> {
    task: JoinHandle<T>,
}

impl<T> MixedTask<T> {
    pub(crate) fn new(task: JoinHandle<T>) -> Self {
        Self { task }
    }

    /// Blocks until the work has ended.
    ///
    /// # Errors
    ///
    /// Why there is no value. In a CPU task and in async code the task goes on, and nobody waits for it.
    pub fn wait(self) -> Result<T, MixedError> {
        refuse_cpu(PoolKind::Mixed)?;
        refuse_async("MixedTask::wait")?;
        pollster::block_on(self)
    }

    /// Ends it at its next await; a blocking call only if it has not started. It then gives [`MixedError::Cancelled`].
    pub fn abort(&self) {
        self.task.abort();
    }

    /// The same for somebody else to do.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        self.task.abort_handle()
    }
}

impl<T> Future for MixedTask<T> {
    type Output = Result<T, MixedError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Err(wrong) = refuse_cpu(PoolKind::Mixed) {
            return Poll::Ready(Err(wrong.into()));
        }
        Pin::new(&mut self.task).poll(cx).map(|ended| ended.map_err(why))
    }
}

fn why(error: JoinError) -> MixedError {
    match error.try_into_panic() {
        Ok(payload) => MixedError::Panicked {
            message: message(&*payload),
        },
        Err(_cancelled) => MixedError::Cancelled,
    }
}

/// What a panic said.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
