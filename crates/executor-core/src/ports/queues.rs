//! The queues: the injector and the workers' own queues.

use arrayvec::ArrayVec;

/// The producers' end of the injector (first in, first out).
///
/// Each operation is sequentially consistent: the task is in the injector before the caller's next
/// such operation or fence. So the publisher's steps of [`crate::sleep`] need no fence after it.
pub trait Inject<T> {
    /// Appends one task.
    fn inject(&self, task: T);

    /// Appends a batch of at least one task, in order, as one operation.
    fn inject_batch(&self, batch: Vec<T>);
}

impl<T, P: Inject<T>> Inject<T> for &P {
    #[inline]
    fn inject(&self, task: T) {
        (**self).inject(task);
    }

    fn inject_batch(&self, batch: Vec<T>) {
        (**self).inject_batch(batch);
    }
}

/// A worker's own public queue: last in, first out for its owner; first in, first out for thieves.
pub trait LocalQueue<T> {
    /// Adds a task at the owner's end.
    fn push(&self, task: T);

    /// Takes the task that was pushed last.
    fn pop(&self) -> Option<T>;

    /// Whether the owner sees no task. A thief may be taking the last one.
    fn is_empty(&self) -> bool;
}

/// The consumers' ends of the injector and of other workers' queues.
pub trait Stealing<T> {
    /// Moves one to `most` of the oldest injected tasks to `run`, which has room. Returns
    /// [`Steal::Retry`] if the oldest cannot be taken yet.
    fn steal_injected(&self, most: usize, run: &mut Run<T>) -> Steal<()>;

    /// Whether the injector looks empty. Sees pushes before a fence of the caller.
    fn injector_is_empty(&self) -> bool;

    /// Whether the queue of worker `victim` looks empty. Sees pushes before a fence of the caller.
    fn victim_is_empty(&self, victim: usize) -> bool;

    /// Takes about half of the victim's tasks: returns one and moves the others to the own queue.
    fn steal_from(&self, victim: usize) -> Steal<T>;
}

/// Most tasks of one [`Run`].
pub const RUN_MAX: usize = 32;

/// Tasks that leave the injector together.
pub type Run<T> = ArrayVec<T, RUN_MAX>;

/// The result of an attempt to take tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// The queue was empty.
    Empty,
    /// A task; more may have gone to the own queue.
    Task(T),
    /// Another party was quicker or has not finished its push: the caller must try again.
    Retry,
}
