//! What tokio polls in place of a future that has become a task of a job.

use std::fmt;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll};

use pools::{AsyncTask, TaskError};

use super::{Output, Spawned};

/// Awaits a task of a job. Dropping it cancels the task.
pub(super) struct Proxy(State);

enum State {
    /// The future is the job's.
    Away(AsyncTask<Output>),
    /// The job could not run it, so it is polled where tokio would have polled it without a hook.
    Back(Spawned),
}

impl Proxy {
    pub(super) fn new(task: AsyncTask<Output>) -> Self {
        Self(State::Away(task))
    }
}

impl Future for Proxy {
    type Output = Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output> {
        loop {
            match &mut self.0 {
                State::Back(future) => return future.as_mut().poll(cx),
                State::Away(task) => match Pin::new(task).poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(output)) => return Poll::Ready(output),
                    Poll::Ready(Err(TaskError::NotRun(future))) => self.0 = State::Back(future.into_future()),
                    // There is no output, and the contract leaves no other way to end: tokio
                    // reports a panic of this task, without a message on the way. What awaits it is
                    // a task of the same job, which has ended too.
                    Poll::Ready(Err(error)) => resume_unwind(Box::new(error.to_string())),
                },
            }
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            State::Away(_) => "away",
            State::Back(_) => "back",
        };
        f.debug_tuple("Proxy").field(&state).finish()
    }
}
