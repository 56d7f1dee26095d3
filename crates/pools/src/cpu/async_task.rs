//! The outcome of a future in a job.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use executor_threaded::lock;
use pipeline_exec::open_job::OpenTask;

use super::async_job::AsyncJob;

/// A boxed future.
pub type TaskFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A future that its job did not run. Awaiting it runs it.
pub struct HandedBack<T>(Mutex<TaskFuture<T>>);

/// The output of a future from [`AsyncJob::spawn`](super::AsyncJob::spawn). Dropping it cancels the
/// future; after [`AsyncJob::spawn_root`](super::AsyncJob::spawn_root), the job. The future's panic
/// resumes in the awaiter.
#[must_use = "dropping it cancels the future"]
pub struct AsyncTask<T> {
    output: Arc<Output<T>>,
    task: Option<OpenTask>,
    /// A drop cancels this job instead of the task.
    root_of: Option<AsyncJob>,
}

/// Why a spawned future has no output.
#[non_exhaustive]
pub enum TaskError<T> {
    /// The future never ran: the pool has ended, was full, or could not start.
    NotRun(HandedBack<T>),
    /// Its job was cancelled.
    Cancelled,
    /// Its job exceeded its deadline.
    DeadlineExceeded,
    /// The pool ended while the future ran.
    Closed,
}

pub(super) struct Output<T>(Mutex<State<T>>);

enum State<T> {
    Pending(Option<Waker>),
    Ended(Ended<T>),
    Taken,
}

pub(super) enum Ended<T> {
    Ready(T),
    Panicked(Box<dyn Any + Send>),
    Failed(TaskError<T>),
}

impl<T> Output<T> {
    pub(super) fn pending() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State::Pending(None))))
    }

    pub(super) fn end(&self, ended: Ended<T>) {
        let before = std::mem::replace(&mut *lock(&self.0), State::Ended(ended));
        // Outside the lock: a waker may run any code.
        if let State::Pending(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> AsyncTask<T> {
    pub(super) fn new(output: Arc<Output<T>>, task: Option<OpenTask>) -> Self {
        Self {
            output,
            task,
            root_of: None,
        }
    }

    pub(super) fn root_of(mut self, job: AsyncJob) -> Self {
        self.root_of = Some(job);
        self
    }

    /// Returns whether it has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !matches!(&*lock(&self.output.0), State::Pending(_))
    }
}

impl<T> Future for AsyncTask<T> {
    type Output = Result<T, TaskError<T>>;

    /// # Panics
    ///
    /// With the future's panic, and if it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Outside the lock: cloning and dropping a waker runs foreign code.
        let mut waker = Some(cx.waker().clone());
        let mut state = lock(&self.output.0);
        if let State::Pending(before) = &mut *state {
            std::mem::swap(before, &mut waker);
            drop(state);
            return Poll::Pending;
        }
        let ended = std::mem::replace(&mut *state, State::Taken);
        drop(state);
        match ended {
            State::Ended(Ended::Ready(output)) => Poll::Ready(Ok(output)),
            State::Ended(Ended::Panicked(payload)) => resume_unwind(payload),
            State::Ended(Ended::Failed(error)) => Poll::Ready(Err(error)),
            State::Taken | State::Pending(_) => {
                panic!("a task was polled after it had given its output")
            }
        }
    }
}

impl<T> Drop for AsyncTask<T> {
    fn drop(&mut self) {
        if self.is_finished() {
            return;
        }
        match (&self.root_of, &self.task) {
            (Some(job), _) => job.cancel(),
            (None, Some(task)) => task.cancel(),
            (None, None) => {}
        }
    }
}

impl<T> fmt::Debug for AsyncTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncTask")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

impl<T> HandedBack<T> {
    pub(super) fn new(future: TaskFuture<T>) -> Self {
        Self(Mutex::new(future))
    }
}

impl<T> IntoFuture for HandedBack<T> {
    type Output = T;
    type IntoFuture = TaskFuture<T>;

    fn into_future(self) -> TaskFuture<T> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for HandedBack<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandedBack").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for TaskError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRun(_) => "the CPU pool did not run the task",
            Self::Cancelled => "the task's job was cancelled",
            Self::DeadlineExceeded => "the task's job took longer than its deadline allows",
            Self::Closed => "the CPU pool ended while the task ran",
        })
    }
}

impl<T> fmt::Debug for TaskError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRun(_) => "NotRun",
            Self::Cancelled => "Cancelled",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::Closed => "Closed",
        })
    }
}

impl<T> Error for TaskError<T> {}
