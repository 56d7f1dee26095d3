//! What a job that grows is made of: tasks that run in turns.

use std::task::Waker;

use crate::error::StepError;
use crate::step_cx::StepCx;

/// What a turn of a [`Task`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// The task is over. It is dropped, and has no further turn.
    Done,
    /// The task paused and can go on at once: it is claimed again after the tasks of its job that are
    /// ready now.
    Again,
    /// The task waits. It has no worker and is not claimed until its waker is woken. A wake during the
    /// turn counts: the task is then ready at once.
    Parked,
}

/// A part of a job that runs in turns, and may wait between two of them without a worker.
///
/// [`OpenJob::spawn`](crate::OpenJob::spawn) adds it to a job. One worker at a time runs it, not always
/// the same one. A turn should end after about a millisecond: the worker is not taken from it, and other
/// jobs wait meanwhile. [`StepCx::should_yield`] says when another job wants the worker.
///
/// A task is dropped once: after its last turn, or without another turn when it or its job is cancelled.
pub trait Task: Send {
    /// What messages, events and errors call it.
    fn name(&self) -> &str {
        "task"
    }

    /// Runs a part of the task. `waker` is the same at each turn and may be kept, cloned and woken from
    /// any thread; a wake after the task is over does nothing.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong; it fails the whole job. So does a panic.
    fn turn(&mut self, cx: &StepCx<'_>, waker: &Waker) -> Result<Turn, StepError>;
}
