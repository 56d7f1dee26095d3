//! What a worker did, told as it happens, for whoever wants to draw or check it.
//!
//! Hooks belong to one worker and are called on it. [`NoopTrace`] compiles to nothing.

use std::hash::Hash;

use crate::private::PopsLeft;
use crate::state::WorkerState;
use crate::step::PopSource;

/// Receives a worker's events.
///
/// A hook that panics stops the executor. If it was asked for a task's tag, or told of the task's start, that task is dropped.
pub trait TraceHooks<T> {
    /// What names a task in an event.
    type Tag: Copy;

    /// Names a task, before it runs and moves away.
    fn tag(&mut self, task: &T) -> Self::Tag;

    /// Something happened.
    fn event(&mut self, event: ExecTraceEvent<Self::Tag>);

    /// The worker has no task in work and is about to look for one. What it does from here on follows from what
    /// [`Rest`] hashes, from its hooks, and from what its ports answer.
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
    /// Hashes everything that the worker goes on from. What it only counts for its metrics is not in it.
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
        /// Where it came from.
        source: PopSource,
        /// Whose it was, if it was stolen.
        victim: Option<usize>,
    },
    /// A task has returned.
    TaskEnd {
        /// The task.
        tag: Tag,
    },
    /// A task was taken while aborting, and is handed back.
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
        /// A waker chose it; otherwise it found something in its last look, or it is over.
        woken: bool,
    },
    /// The worker leaves.
    Exit,
}

/// No trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopTrace;

impl<T> TraceHooks<T> for NoopTrace {
    type Tag = ();

    #[inline]
    fn tag(&mut self, _task: &T) {}

    #[inline]
    fn event(&mut self, _event: ExecTraceEvent<()>) {}
}
