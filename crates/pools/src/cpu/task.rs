//! A computation that was handed over: its value, once there is one.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use pipeline_exec::{
    Job, JobErrorKind, JobTicket, PipelineHandle, PipelineStep, StepCx, StepError, SubmitError,
};

use super::{CpuCx, Stop};
use crate::error::{CpuError, PoolKind};
use crate::thread::{Work, as_work, refuse_cpu};

/// What a computation gives, as a future, or to a thread that may block. Dropping it cancels.
///
/// In a CPU task it gives [`WrongPool`](crate::WrongPool): one that waited for another would hold
/// its worker.
#[must_use = "dropping it cancels the computation; `detach` lets it run unobserved"]
pub struct CpuTask<T> {
    state: State,
    value: Value<T>,
}

type Submitting = Pin<Box<dyn Future<Output = Result<JobTicket, SubmitError>> + Send>>;

enum State {
    Running(JobTicket),
    /// There was no room.
    Waiting(Submitting),
    Failed(CpuError),
    Over,
}

/// A computation as a step.
pub(super) struct Computing<F, T> {
    stop: Arc<Stop>,
    compute: Mutex<Option<F>>,
    value: Value<T>,
}

/// Where a computation leaves its value.
pub(super) struct Value<T>(Arc<Mutex<Option<T>>>);

impl<F, T> Computing<F, T> {
    pub(super) fn new(stop: &Arc<Stop>, compute: F) -> (Self, Value<T>) {
        let value = Value::empty();
        let computing = Self {
            stop: Arc::clone(stop),
            compute: Mutex::new(Some(compute)),
            value: Value(Arc::clone(&value.0)),
        };
        (computing, value)
    }
}

impl<T> Value<T> {
    fn empty() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// That of a computation that has ended well.
    pub(super) fn take(&self) -> T {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.expect("a computation that has ended well has left its value")
    }
}

impl<F, T> PipelineStep for Computing<F, T>
where
    F: FnOnce(&CpuCx<'_>) -> T + Send,
    T: Send,
{
    fn name(&self) -> &str {
        "compute"
    }

    fn execute(&self, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.stop.check()?;
        let compute = self.compute.lock().unwrap_or_else(PoisonError::into_inner).take();
        let compute = compute.ok_or("a computation runs once")?;
        let value = compute(&CpuCx::of(cx, &self.stop));
        self.value.put(value);
        Ok(())
    }
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

    /// Blocks until there is the value.
    ///
    /// It has no place in async code: await the task there.
    ///
    /// # Errors
    ///
    /// Why there is none. In a CPU task the computation is cancelled, as by a drop.
    pub fn wait(self) -> Result<T, CpuError> {
        refuse_cpu(PoolKind::Cpu)?;
        pollster::block_on(self)
    }

    /// Lets the computation run unobserved.
    ///
    /// # Errors
    ///
    /// Why it will not run. [`CpuError::Full`]: it waited for room, and nobody would go on waiting.
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
                        // It was not started.
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

// Its value is moved out of it, never pinned in it.
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
