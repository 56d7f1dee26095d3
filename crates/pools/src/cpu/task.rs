//! The task of a submitted computation.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pipeline_exec::{Job, JobErrorKind, JobTicket, PipelineHandle, SubmitError};

use super::computing::{Computing, Value};
use super::cx::CpuCx;
use super::state::Stop;
use crate::error::{CpuError, PoolKind};
use crate::thread::{Work, as_work, refuse_cpu};

/// The value of a computation, which a drop cancels. A CPU task that polls it gets
/// [`WrongPool`](crate::WrongPool).
#[must_use = "dropping it cancels the computation; `detach` lets it run unobserved"]
pub struct CpuTask<T> {
    state: State,
    value: Value<T>,
}

type Submitting = Pin<Box<dyn Future<Output = Result<JobTicket, SubmitError>> + Send>>;

enum State {
    Running(JobTicket),
    Waiting(Submitting),
    Failed(CpuError),
    Over,
}

impl<T: Send + 'static> CpuTask<T> {
    pub(super) fn submit<F>(executor: &PipelineHandle, stop: &Arc<Stop>, compute: F) -> Self
    where
        F: FnOnce(&CpuCx<'_>) -> T + Send + 'static,
    {
        let (step, value) = Computing::new(stop, compute);
        let state = match executor.submit(Job::from_steps("compute", vec![Box::new(step)])) {
            Ok(ticket) => State::Running(ticket),
            Err(SubmitError::Full(job)) => State::Waiting(Box::pin(executor.submit_async(job))),
            Err(SubmitError::Closed(_)) => State::Failed(CpuError::Closed),
        };
        Self { state, value }
    }
}

impl<T> CpuTask<T> {
    pub(super) fn failed(error: CpuError) -> Self {
        Self {
            state: State::Failed(error),
            value: Value::empty(),
        }
    }

    /// Blocks for the value.
    ///
    /// # Errors
    ///
    /// Why there is no value. In a CPU task the computation is cancelled.
    pub fn wait(self) -> Result<T, CpuError> {
        refuse_cpu(PoolKind::Cpu)?;
        pollster::block_on(self)
    }

    /// Lets the computation run unobserved.
    ///
    /// # Errors
    ///
    /// Why it will not run; [`CpuError::Full`] if it waited for room.
    pub fn detach(mut self) -> Result<(), CpuError> {
        match mem::replace(&mut self.state, State::Over) {
            State::Running(ticket) => {
                drop(ticket);
                Ok(())
            }
            State::Waiting(_) => Err(CpuError::Full),
            State::Failed(error) => Err(error),
            State::Over => Ok(()),
        }
    }
}

impl<T> Future for CpuTask<T> {
    type Output = Result<T, CpuError>;

    /// # Panics
    ///
    /// If it is polled after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Err(wrong) = refuse_cpu(PoolKind::Cpu) {
            return Poll::Ready(Err(wrong.into()));
        }
        loop {
            match &mut self.state {
                State::Running(ticket) => {
                    let Poll::Ready(ended) = Pin::new(ticket).poll(cx) else {
                        return Poll::Pending;
                    };
                    self.state = State::Over;
                    return Poll::Ready(match ended {
                        Ok(_report) => Ok(self.value.take()),
                        // The task was not started.
                        Err(error) if error.kind == JobErrorKind::Failed => Err(CpuError::Closed),
                        Err(error) => Err(CpuError::of_job(error)),
                    });
                }
                State::Waiting(submitting) => {
                    let Poll::Ready(submitted) = submitting.as_mut().poll(cx) else {
                        return Poll::Pending;
                    };
                    self.state = submitted.map_or(State::Failed(CpuError::Closed), State::Running);
                }
                State::Failed(_) => {
                    if let State::Failed(error) = mem::replace(&mut self.state, State::Over) {
                        return Poll::Ready(Err(error));
                    }
                }
                State::Over => panic!("a CPU task was polled after it had given its value"),
            }
        }
    }
}

// The value is moved out, never pinned.
impl<T> Unpin for CpuTask<T> {}

impl<T> Drop for CpuTask<T> {
    fn drop(&mut self) {
        if let State::Running(ticket) = &self.state {
            as_work(Work::GivenUp, || ticket.control().cancel());
        }
    }
}

impl<T> fmt::Debug for CpuTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Running(ticket) => format!("{:?}", ticket.status()),
            State::Waiting(_) => "waits for room".to_owned(),
            State::Failed(error) => error.to_string(),
            State::Over => "over".to_owned(),
        };
        f.debug_struct("CpuTask")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
