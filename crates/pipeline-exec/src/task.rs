//! The tasks of a job that grows, which run in turns.

use std::task::Waker;

use crate::error::StepError;
use crate::step_cx::StepCx;

/// The result of a turn of a [`Task`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// The task is over: it is dropped.
    Done,
    /// The task can go on at once. It is claimed again after its job's tasks that are ready now.
    Again,
    /// The task waits without a worker until its waker is woken. A wake during the turn makes it
    /// ready at once.
    Parked,
}

/// A part of a job that runs in turns, and may wait between two turns without a worker.
///
/// [`OpenJob::spawn`](crate::open_job::OpenJob::spawn) adds it to a job. A turn is not interrupted
/// and should end after about a millisecond; [`StepCx::should_yield`] says when another job wants
/// the worker. A task is dropped once: after its last turn, or when it or its job is cancelled.
pub trait Task: Send {
    /// Name in messages, events and errors.
    fn name(&self) -> &str {
        "task"
    }

    /// Runs a part of the task. `waker` is the same at each turn; it may be kept, cloned and woken
    /// from any thread. A wake after the task is over has no effect.
    ///
    /// # Errors
    ///
    /// Any error fails the whole job, and so does a panic.
    fn turn(&mut self, cx: &StepCx<'_>, waker: &Waker) -> Result<Turn, StepError>;
}
