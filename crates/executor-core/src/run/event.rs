//! The events of a worker, for tools that draw or check a run.

use crate::worker::popped::PopSource;

/// Receives the events of one worker, on that worker.
///
/// A hook that panics stops the executor. A panic on a task's tag or start drops the task.
pub trait TraceHooks<T> {
    /// The name of a task in an event.
    type Tag: Copy;

    /// Names a task before it runs.
    fn tag(&mut self, task: &T) -> Self::Tag;

    /// Receives an event.
    fn event(&mut self, event: ExecTraceEvent<Self::Tag>);
}

/// An event of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecTraceEvent<Tag> {
    /// A task is about to run.
    TaskStart {
        /// The task.
        tag: Tag,
        /// Where the worker found it.
        source: PopSource,
        /// The worker that it was stolen from.
        victim: Option<usize>,
    },
    /// The runner has returned from a task.
    TaskEnd {
        /// The task.
        tag: Tag,
    },
    /// The abort returns a task to the owner.
    Returned {
        /// The task.
        tag: Tag,
    },
    /// The task that started last has panicked.
    Panicked,
    /// The worker is about to park: once a sleep, not after each timeout.
    Park,
    /// The worker is awake again.
    Awake {
        /// Whether a waker chose it.
        woken: bool,
    },
    /// The worker leaves.
    Exit,
}

/// Hooks that do nothing and compile to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopTrace;

impl<T> TraceHooks<T> for NoopTrace {
    type Tag = ();

    #[inline]
    fn tag(&mut self, _task: &T) {}

    #[inline]
    fn event(&mut self, _event: ExecTraceEvent<()>) {}
}
