//! Memory that a query shares with other work.

use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pipeline_exec::lock;

/// Bytes that a query takes at least at once.
const STEP_BYTES: usize = 1 << 20;

/// Where a query's bytes come from if other work takes of them too: the memory of a session, or of
/// a process.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// use columnar::{MemoryPool, SharedMemory};
///
/// #[derive(Debug)]
/// struct Left(Arc<AtomicUsize>);
///
/// impl SharedMemory for Left {
///     fn try_take(&self, bytes: usize) -> bool {
///         self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok()
///     }
///
///     fn give_back(&self, bytes: usize) {
///         self.0.fetch_add(bytes, Relaxed);
///     }
/// }
///
/// let left = Arc::new(AtomicUsize::new(3 << 20));
/// let pool = MemoryPool::within("q17", Box::new(Left(Arc::clone(&left))));
/// pool.try_reserve(1_000)?;
/// assert_eq!(left.load(Relaxed), 2 << 20);
/// assert!(pool.try_reserve(3 << 20).is_err());
/// pool.release(1_000);
/// drop(pool);
/// assert_eq!(left.load(Relaxed), 3 << 20);
/// # Ok::<(), columnar::MemoryExceeded>(())
/// ```
pub trait SharedMemory: Debug + Send + Sync {
    /// Takes all of `bytes`, or none.
    fn try_take(&self, bytes: usize) -> bool;

    /// Takes back what the query has taken.
    fn give_back(&self, bytes: usize);
}

/// What one query has taken; dropping it gives the bytes back.
#[derive(Debug)]
pub(super) struct Shared {
    memory: Box<dyn SharedMemory>,
    taken: AtomicUsize,
    /// Held while a thread takes more.
    taking: Mutex<()>,
}

impl Shared {
    pub(super) fn new(memory: Box<dyn SharedMemory>) -> Self {
        Self {
            memory,
            taken: AtomicUsize::new(0),
            taking: Mutex::default(),
        }
    }

    /// Takes what `bytes` in all need. An error is what the query has, which is less.
    pub(super) fn cover(&self, bytes: usize) -> Result<(), usize> {
        // Ordering: Relaxed. Accounting: the number only grows, and `taking` orders its changes.
        if bytes <= self.taken.load(Ordering::Relaxed) {
            return Ok(());
        }
        let _one = lock(&self.taking);
        // Ordering: Relaxed. As above.
        let taken = self.taken.load(Ordering::Relaxed);
        let Some(more) = bytes.checked_sub(taken).filter(|&more| more > 0) else {
            return Ok(());
        };
        let step = more.max(STEP_BYTES);
        let got = if self.memory.try_take(step) {
            step
        } else if self.memory.try_take(more) {
            more
        } else {
            return Err(taken);
        };
        // Ordering: Relaxed. As above.
        self.taken.store(taken + got, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.memory.give_back(*self.taken.get_mut());
    }
}
