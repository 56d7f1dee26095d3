//! The future that tokio polls for a task of a job.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll};

use pools::{AsyncTask, TaskError};

pub(super) type Output = Box<dyn Any + Send>;

pub(super) type Spawned = Pin<Box<dyn Future<Output = Output> + Send>>;

pub(super) struct Proxy(State);

enum State {
    Away(AsyncTask<Output>),
    /// The job did not run it, so tokio does.
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
                    // DataFusion's contract leaves only a panic.
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
