//! The result of mixed work.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pipeline_exec::panic_message;
use tokio::task::{AbortHandle, JoinError, JoinHandle};

use crate::error::{MixedError, PoolKind};
use crate::thread::{refuse_async, refuse_cpu};

/// The result of mixed work, which continues if this is dropped. A CPU task that polls it gets
/// [`WrongPool`](crate::WrongPool).
#[derive(Debug)]
#[must_use = "it tells how the work ended; drop it to let that run unobserved"]
pub struct MixedTask<T> {
    task: JoinHandle<T>,
}

impl<T> MixedTask<T> {
    pub(crate) fn new(task: JoinHandle<T>) -> Self {
        Self { task }
    }

    /// Blocks for the value.
    ///
    /// # Errors
    ///
    /// Why there is no value. In a CPU task and in async code the work continues.
    pub fn wait(self) -> Result<T, MixedError> {
        refuse_cpu(PoolKind::Mixed)?;
        refuse_async("MixedTask::wait")?;
        pollster::block_on(self)
    }

    /// Ends the work with [`MixedError::Cancelled`]: a task at its next await, a blocking call only
    /// before its start.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Returns a handle that aborts the work.
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

pub(crate) fn why(error: JoinError) -> MixedError {
    match error.try_into_panic() {
        Ok(payload) => MixedError::Panicked {
            message: panic_message(&*payload),
        },
        Err(_cancelled) => MixedError::Cancelled,
    }
}
