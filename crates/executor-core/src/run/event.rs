//! The events of a worker, for tools that draw or check a run.

use crate::worker::popped::PopSource;

/// Receives the events of one worker, on that worker.
///
/// A hook that panics stops the executor. If it panics on a task's tag or start, that task is
/// dropped.
pub trait TraceHooks<T> {
    /// The name of a task in an event.
    type Tag: Copy;

    /// Names a task before it runs.
    fn tag(&mut self, task: &T) -> Self::Tag;

    /// Something happened.
    fn event(&mut self, event: ExecTraceEvent<Self::Tag>);
}

/// One thing that a worker did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecTraceEvent<Tag> {
    /// A task is about to run.
    TaskStart {
        /// The task.
        tag: Tag,
        /// Where it was found.
        source: PopSource,
        /// The worker that it was stolen from.
        victim: Option<usize>,
    },
    /// A task's call of the runner has returned.
    TaskEnd {
        /// The task.
        tag: Tag,
    },
    /// A task was taken during an abort, and is returned to the owner.
    Returned {
        /// The task.
        tag: Tag,
    },
    /// The task that started last has panicked.
    Panicked,
    /// The worker is about to park.
    Park,
    /// The worker is awake again.
    Awake {
        /// Whether a waker chose it. Otherwise it found something in its last look, or the executor
        /// has ended.
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
