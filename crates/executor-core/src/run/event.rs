//! The events of a worker, for tools that draw or check a run.

use std::hash::Hash;

use crate::worker::popped::PopSource;
use crate::worker::private::PopsLeft;
use crate::worker::state::WorkerState;

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

    /// The worker has no task in hand and is about to search for one. What it does next follows
    /// from what [`Rest`] hashes, from its hooks, and from its ports' answers.
    #[inline]
    fn at_rest<P>(&mut self, _rest: Rest<'_, T, P>) {}
}

/// A worker between two tasks.
#[derive(Debug)]
pub struct Rest<'a, T, P> {
    pub(crate) state: &'a WorkerState<T, P>,
    pub(crate) left: PopsLeft,
}

impl<T: Hash, P> Rest<'_, T, P> {
    /// Hashes all that decides what the worker does next, but not what it counts for its metrics.
    pub fn hash_state(&self, state: &mut impl std::hash::Hasher) {
        self.state.hash_state(state);
        self.left.hash(state);
    }
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
