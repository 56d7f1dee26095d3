//! Shared collections as ports, each method one shared operation.
//!
//! As with [`Memory`](crate::ports::Memory), the collection and the handle that operates on it are two things: the
//! collection is everybody's, the handle is one party's.

/// One party's access to a shared ordered set of `K`.
pub trait OrderedSet<K: Ord + Copy> {
    /// A shared ordered set.
    type Set;

    /// Adds a key. `false` if it was there.
    fn insert(&self, set: &Self::Set, key: K) -> bool;

    /// Takes a key away. `false` if it was not there.
    fn remove(&self, set: &Self::Set, key: &K) -> bool;

    /// The largest key, or the largest below `below`.
    fn last(&self, set: &Self::Set, below: Option<&K>) -> Option<K>;
}

/// One party's access to a shared queue of `V`s, first in, first out, without a bound.
///
/// What was pushed before a fence of a party that looks is seen by it, in [`Fifo::pop`] and in [`Fifo::len`].
pub trait Fifo<V> {
    /// A shared queue.
    type Queue;

    /// Appends a value.
    fn push(&self, queue: &Self::Queue, value: V);

    /// Takes the value that was pushed first.
    fn pop(&self, queue: &Self::Queue) -> Option<V>;

    /// How many values are in it. It may change at once.
    fn len(&self, queue: &Self::Queue) -> usize;
}

/// One party's access to a shared table of places for values of `V`, which are cheap to clone (an `Arc`, say).
///
/// A value is freed as soon as it has been cleared and its last clone is dropped.
pub trait Table<V: Clone> {
    /// A shared table.
    type Places;

    /// Puts a value into an empty place and gives its index, or the value back if every place is taken.
    ///
    /// # Errors
    ///
    /// The value.
    fn put(&self, table: &Self::Places, value: V) -> Result<usize, V>;

    /// What is at `index` now.
    fn get(&self, table: &Self::Places, index: usize) -> Option<V>;

    /// How many places were ever taken: every value is at an index below. What was put before a fence of the caller's is counted.
    fn used(&self, table: &Self::Places) -> usize;

    /// Empties the place.
    fn clear(&self, table: &Self::Places, index: usize) -> Option<V>;
}

/// One party's access to shared places whose content one party at a time touches: a mutex, on threads.
///
/// For what is too large for a word and too rare to matter. A change must be short and must not come back for another.
pub trait Exclusive<V> {
    /// A shared place that holds a `V`.
    type Place;

    /// Applies `change`, before or after everybody else's as a whole, and gives what it returns.
    fn change<R>(&self, place: &Self::Place, change: impl FnOnce(&mut V) -> R) -> R;
}
