//! Where tasks wait: the injector, a worker's own queue, and the queues of others.

use arrayvec::ArrayVec;

/// Handing tasks to the global injector, first in, first out.
///
/// Each operation is sequentially consistent: in the order of all such operations and fences, what was handed over is in the injector
/// before whatever the caller does next. So the publisher's steps of [`crate::sleep`] need no fence after it. It may
/// take a moment until it can be taken; see [`Stealing::steal_injected`].
pub trait Inject<T> {
    /// Appends one task.
    fn inject(&self, task: T);

    /// Appends a batch, in its order, as one operation. It is not empty. Those who take need not take it as a whole.
    fn inject_batch(&self, batch: Vec<T>);
}

/// The injector may be reached through a reference.
impl<T, P: Inject<T>> Inject<T> for &P {
    #[inline]
    fn inject(&self, task: T) {
        (**self).inject(task);
    }

    fn inject_batch(&self, batch: Vec<T>) {
        (**self).inject_batch(batch);
    }
}

/// A worker's own public queue. Its owner works at one end, last in, first out; thieves take from the other.
pub trait LocalQueue<T> {
    /// Adds a task at the owner's end.
    fn push(&self, task: T);

    /// Takes the task that was pushed last.
    fn pop(&self) -> Option<T>;

    /// Whether the owner sees no task in it. Owner's knowledge only: a thief may just be taking the last one.
    fn is_empty(&self) -> bool;
}

/// Taking tasks that are not one's own, oldest first, several at a time.
pub trait Stealing<T> {
    /// Takes some of the oldest tasks from the injector, at least one and at most `most`, and adds them to `run`, oldest first; there
    /// is room for them. [`Steal::Retry`], and not `Empty`, if the oldest was handed over and cannot be taken yet.
    fn steal_injected(&self, most: usize, run: &mut Run<T>) -> Steal<()>;

    /// Whether the injector looks empty. What was there before a fence of the caller's is seen.
    fn injector_is_empty(&self) -> bool;

    /// Whether the public queue of the worker `victim` looks empty. As above.
    fn victim_is_empty(&self, victim: usize) -> bool;

    /// Takes about half of what the worker `victim` has: one task is returned, the rest goes to the own queue.
    fn steal_from(&self, victim: usize) -> Steal<T>;
}

/// Most tasks that are taken from the injector at once.
pub const RUN_MAX: usize = 32;

/// Tasks that leave the injector together.
pub type Run<T> = ArrayVec<T, RUN_MAX>;

/// What an attempt to take came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// There was nothing.
    Empty,
    /// A task; more may have gone to the own queue.
    Task(T),
    /// Somebody else was quicker and the queue may hold more. It says nothing about emptiness, so it must be
    /// tried again before "no work" may be concluded.
    Retry,
}
