//! The queue: both ends behind one type.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, TryLockError};

use crossbeam::utils::CachePadded;

use crate::block::{self, BlockRef};
use crate::head::Head;
use crate::spare::Spare;
use crate::sync::{AtomicU64, Mutex, MutexGuard};
use crate::tail::Tail;

/// An unbounded first-in-first-out queue for many producers; consumers take runs of values.
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
    /// [`Head::first`], for parties without the lock; written once a run.
    first: CachePadded<AtomicU64>,
    spare: Spare<V>,
}

/// A consumer's answer to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<V> {
    /// The next value, if it is ready.
    More,
    /// No more values.
    Enough,
    /// No more values, and this one goes back to the front: a batch of which something is left.
    PutBack(V),
}

/// Another consumer is taking; see [`Injector::try_take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contended;

impl<V> Injector<V> {
    /// An empty queue.
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
    /// A producer waits only while another one installs the next block, once in 127 values.
    #[inline]
    pub fn push(&self, value: V) {
        self.tail.push(value, &self.spare);
    }

    /// Whether the queue is empty.
    ///
    /// A value counts from the claim of its place until the run that takes it is over. So after
    /// `false` a [`take`](Injector::take) may find nothing; see [`has_ready`](Injector::has_ready).
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        let (first, end) = self.bounds();
        first >= end
    }

    /// The number of values, counted as in [`is_empty`](Injector::is_empty). During pushes and
    /// takes it lies between the numbers before and after.
    #[must_use]
    pub fn len(&self) -> usize {
        let (first, end) = self.bounds();
        let values = block::values_before(end).saturating_sub(block::values_before(first));
        usize::try_from(values).unwrap_or(usize::MAX)
    }

    /// Whether [`take`](Injector::take) would find a value. Unless the queue is empty, it takes the
    /// lock.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        !self.is_empty() && self.lock().is_ready()
    }

    /// Hands values to `f` until it has enough or the next one is not ready; returns how many, one
    /// that was put back included.
    ///
    /// A claimed place without a value ends the run. `f` runs under the consumers' lock: it may
    /// push and ask for the length, but must not take from the same queue.
    ///
    /// # Panics
    ///
    /// If `f` does. Its value is `f`'s to drop; all others stay, and the queue goes on working.
    pub fn take(&self, f: impl FnMut(V) -> Next<V>) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.hand_out(self.lock(), f)
    }

    /// [`take`](Injector::take), unless another consumer is taking.
    ///
    /// # Errors
    ///
    /// [`Contended`], if one is; `f` was not called.
    ///
    /// # Panics
    ///
    /// As for [`take`](Injector::take).
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

    /// A poisoned lock is harmless, since `f` panics between two values.
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

    /// After a fence the end includes every value pushed before it; so if the first is not below
    /// the end, those values have gone, however old the first is.
    #[inline]
    fn bounds(&self) -> (u64, u64) {
        // Ordering: Relaxed. Only a number; an old one errs towards values.
        let first = self.first.load(Ordering::Relaxed);
        (first, self.tail.index())
    }
}

struct Run<'a, V> {
    head: MutexGuard<'a, Head<V>>,
    first: &'a AtomicU64,
    taken: usize,
}

impl<V> Drop for Run<'_, V> {
    fn drop(&mut self) {
        if self.taken > 0 {
            // Ordering: Relaxed. See `Injector::bounds`. Only the holder of the lock stores, so it
            // never goes back.
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

/// The values of a dropped queue. If the drop of one panics, the others are still dropped.
struct Rest<'a, V> {
    head: &'a mut Head<V>,
    spare: &'a Spare<V>,
}

impl<V> Drop for Rest<'_, V> {
    fn drop(&mut self) {
        while let Some(value) = self.head.next(self.spare) {
            drop(value);
        }
        // SAFETY: every push has ended, since it borrowed the queue. So all values were ready and
        // none is left; the queue is not used after this.
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
