//! The queue: the producers' end, the consumers' end, and what both may ask.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, TryLockError};

use crossbeam::utils::CachePadded;

use crate::block::{self, BlockRef};
use crate::head::Head;
use crate::spare::Spare;
use crate::sync::{AtomicU64, Mutex, MutexGuard};
use crate::tail::Tail;

/// An unbounded queue, first in first out, for many producers; consumers take runs of values.
///
/// See the [crate](crate) for what it costs and what it promises to those who sleep.
///
/// # Examples
///
/// ```
/// use injector::{Injector, Next};
///
/// let queue = Injector::new();
/// for n in 0..10 {
///     queue.push(n);
/// }
/// let mut run = Vec::new();
/// let taken = queue.take(|n| {
///     run.push(n);
///     if run.len() < 4 { Next::More } else { Next::Enough }
/// });
/// assert_eq!((taken, run, queue.len()), (4, vec![0, 1, 2, 3], 6));
/// ```
pub struct Injector<V> {
    tail: CachePadded<Tail<V>>,
    head: CachePadded<Mutex<Head<V>>>,
    /// [`Head::first`], for whoever does not have the lock; on a line that takers write once a run.
    first: CachePadded<AtomicU64>,
    spare: Spare<V>,
}

/// What a consumer wants after a value that it was handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<V> {
    /// The next value, if it is ready.
    More,
    /// No more.
    Enough,
    /// No more; and this value stays the queue's first. It is meant for a value that is itself a batch of which something
    /// is left.
    PutBack(V),
}

/// Another consumer is just taking; see [`Injector::try_take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contended;

impl<V> Injector<V> {
    /// An empty queue. It allocates its first block.
    #[must_use]
    pub fn new() -> Injector<V> {
        let first = BlockRef::allocate();
        Injector {
            tail: CachePadded::new(Tail::new(first)),
            head: CachePadded::new(Mutex::new(Head::new(first))),
            first: CachePadded::new(AtomicU64::new(0)),
            spare: Spare::new(),
        }
    }

    /// Appends `value`.
    ///
    /// It costs one read-modify-write, on the index that producers share, and a store to the value's own slot. A producer
    /// waits for others only while one of them installs the next block, once in 127 values, which is two stores long.
    #[inline]
    pub fn push(&self, value: V) {
        self.tail.push(value, &self.spare);
    }

    /// Whether there is nothing in the queue: two loads.
    ///
    /// A value counts from the moment in which its producer has claimed a place for it, and until the run in which it was
    /// taken is over. What was put back counts. So `false` does not mean that [`take`](Injector::take) finds something:
    /// whoever waits for that asks [`has_ready`](Injector::has_ready).
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        let (first, end) = self.bounds();
        first >= end
    }

    /// How many values there are, counted as in [`is_empty`](Injector::is_empty): two loads. While others push and take it
    /// is a number between what was and what will be.
    #[must_use]
    pub fn len(&self) -> usize {
        let (first, end) = self.bounds();
        let values = block::values_before(end).saturating_sub(block::values_before(first));
        usize::try_from(values).unwrap_or(usize::MAX)
    }

    /// Whether [`take`](Injector::take) would find a value: not before the first one is ready.
    ///
    /// This is the last look before falling asleep. It takes the lock if the queue is not empty, and waits while another
    /// consumer is taking.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        !self.is_empty() && self.lock().is_ready()
    }

    /// Hands values to `f`, from the first on, until it has enough or the next one is not ready; returns how many it was
    /// handed, one that it put back included.
    ///
    /// Never waits for a producer: a place that is claimed and has no value yet ends the run. Waits for another consumer,
    /// whose `f` is running.
    ///
    /// `f` runs under the lock. It may push and ask for the length; it must not take from the same queue, which would wait
    /// for itself.
    ///
    /// # Panics
    ///
    /// If `f` does. The value that it was handed is `f`'s to drop; all others stay, and the queue goes on working.
    pub fn take(&self, f: impl FnMut(V) -> Next<V>) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.hand_out(self.lock(), f)
    }

    /// [`take`](Injector::take), unless another consumer is just taking.
    ///
    /// # Errors
    ///
    /// [`Contended`], if one is. Nothing was handed to `f`, and the queue may be empty or not.
    ///
    /// # Panics
    ///
    /// If `f` does, as in [`take`](Injector::take).
    pub fn try_take(&self, f: impl FnMut(V) -> Next<V>) -> Result<usize, Contended> {
        if self.is_empty() {
            return Ok(0);
        }
        let head = match self.head.try_lock() {
            Ok(head) => head,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Contended),
        };
        Ok(self.hand_out(head, f))
    }

    /// The lock. One that is poisoned is as good: an `f` that panicked did so between two values.
    fn lock(&self) -> MutexGuard<'_, Head<V>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_out(&self, head: MutexGuard<'_, Head<V>>, mut f: impl FnMut(V) -> Next<V>) -> usize {
        let mut run = Run {
            head,
            first: &self.first,
            taken: 0,
        };
        while let Some(value) = run.head.next(&self.spare) {
            run.taken += 1;
            match f(value) {
                Next::More => {}
                Next::Enough => break,
                Next::PutBack(value) => {
                    run.head.put_back(value);
                    break;
                }
            }
        }
        run.taken
    }

    /// The index of the first value that has not gone, and the one after the last.
    ///
    /// Of a value that was pushed before a fence after which this is asked, the end is not short; so if the first is not
    /// below the end, that value has gone, however old the first is.
    #[inline]
    fn bounds(&self) -> (u64, u64) {
        // Ordering: Relaxed. A number, nothing is read through it, and one that is too old errs towards values.
        let first = self.first.load(Ordering::Relaxed);
        (first, self.tail.index())
    }
}

/// A run of values being handed out. Its end is published however it comes about.
struct Run<'a, V> {
    head: MutexGuard<'a, Head<V>>,
    first: &'a AtomicU64,
    taken: usize,
}

impl<V> Drop for Run<'_, V> {
    fn drop(&mut self) {
        if self.taken > 0 {
            // Ordering: Relaxed. See `Injector::bounds`. Only the holder of the lock stores, so it never goes back.
            self.first.store(self.head.first(), Ordering::Relaxed);
        }
    }
}

impl<V> Drop for Injector<V> {
    fn drop(&mut self) {
        let Injector { head, spare, .. } = self;
        let head = head.get_mut().unwrap_or_else(PoisonError::into_inner);
        let rest = Rest { head, spare };
        while let Some(value) = rest.head.next(rest.spare) {
            drop(value);
        }
    }
}

/// What is left in a queue that is dropped. If a value panics while it is dropped, the others are dropped none the less.
struct Rest<'a, V> {
    head: &'a mut Head<V>,
    spare: &'a Spare<V>,
}

impl<V> Drop for Rest<'_, V> {
    fn drop(&mut self) {
        while let Some(value) = self.head.next(self.spare) {
            drop(value);
        }
        // SAFETY: a push that has begun has ended, since it borrowed the queue. So all values were ready, and none is left;
        // and the queue is gone after this.
        unsafe { self.head.free() };
    }
}

impl<V> Default for Injector<V> {
    fn default() -> Injector<V> {
        Injector::new()
    }
}

impl<V> fmt::Debug for Injector<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Contended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another consumer is taking from the queue")
    }
}

impl std::error::Error for Contended {}
