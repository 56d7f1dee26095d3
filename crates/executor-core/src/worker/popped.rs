//! A task that a worker has found, and where it was.

/// Where a task was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PopSource {
    /// Among the worker's own tasks.
    Local,
    /// In the injector.
    Injector,
    /// In another worker's queue.
    Steal,
}

/// A task that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Popped<T> {
    /// The task.
    pub task: T,
    /// Where it was found.
    pub source: PopSource,
    /// The worker that it was stolen from.
    pub victim: Option<usize>,
}

impl<T> Popped<T> {
    /// One of the worker's own tasks.
    #[inline]
    pub(crate) fn own(task: T) -> Self {
        Self {
            task,
            source: PopSource::Local,
            victim: None,
        }
    }
}
