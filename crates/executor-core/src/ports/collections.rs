//! Shared collections as ports. Each party operates on a collection through its own handle.

/// Access to a shared ordered set of `K`.
pub trait OrderedSet<K: Ord + Copy> {
    /// A shared ordered set.
    type Set;

    /// Adds a key; `false` if the set has it already.
    fn insert(&self, set: &Self::Set, key: K) -> bool;

    /// Removes a key; `false` if the set does not have it.
    fn remove(&self, set: &Self::Set, key: &K) -> bool;

    /// The largest key, or the largest below `below`.
    fn last(&self, set: &Self::Set, below: Option<&K>) -> Option<K>;
}

/// Access to a shared, unbounded first-in-first-out queue of `V`.
///
/// [`Fifo::pop`] and [`Fifo::len`] see pushes before a fence of the caller.
pub trait Fifo<V> {
    /// A shared queue.
    type Queue;

    /// Appends a value.
    fn push(&self, queue: &Self::Queue, value: V);

    /// Takes the oldest value.
    fn pop(&self, queue: &Self::Queue) -> Option<V>;

    /// The number of values.
    fn len(&self, queue: &Self::Queue) -> usize;
}

/// Access to a shared table of values that are cheap to clone, such as an `Arc`.
///
/// A value is dropped after it has been cleared and its last clone dropped.
pub trait Table<V: Clone> {
    /// A shared table.
    type Places;

    /// Puts a value into an empty place and returns the index.
    ///
    /// # Errors
    ///
    /// The value, if every place is taken.
    fn put(&self, table: &Self::Places, value: V) -> Result<usize, V>;

    /// The value at `index`.
    fn get(&self, table: &Self::Places, index: usize) -> Option<V>;

    /// All values are at indices below this bound. It counts values put before a fence of the
    /// caller.
    fn used(&self, table: &Self::Places) -> usize;

    /// Empties the place.
    fn clear(&self, table: &Self::Places, index: usize) -> Option<V>;
}

/// Access to shared values that one party at a time changes; on threads a mutex.
///
/// A change must be short and must not make another change.
pub trait Exclusive<V> {
    /// A shared `V`.
    type Place;

    /// Applies `change` and returns its result.
    fn change<R>(&self, place: &Self::Place, change: impl FnOnce(&mut V) -> R) -> R;
}
