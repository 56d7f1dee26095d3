//! The bytes that a query may hold.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::shared::{Shared, SharedMemory};

/// A memory pool: the limit of one query's bytes, and the bytes in use.
///
/// ```
/// use columnar::MemoryPool;
///
/// let pool = MemoryPool::new("q17", 1_000);
/// pool.try_reserve(600)?;
/// let refused = pool.try_reserve(401).unwrap_err();
/// assert_eq!((refused.requested, refused.used, refused.limit), (401, 600, 1_000));
/// assert_eq!(
///     refused.to_string(),
///     "query q17 is over its memory quota: it asked for 401 bytes with 600 of 1000 in use",
/// );
/// pool.release(600);
/// assert_eq!((pool.used(), pool.peak()), (0, 600));
/// # Ok::<(), columnar::MemoryExceeded>(())
/// ```
#[derive(Debug)]
pub struct MemoryPool {
    query: Arc<str>,
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
    shared: Option<Shared>,
}

impl MemoryPool {
    /// A pool of `limit` bytes for the query that errors call `query`. `usize::MAX` only counts.
    pub fn new(query: impl Into<Arc<str>>, limit: usize) -> Self {
        Self {
            query: query.into(),
            limit,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            shared: None,
        }
    }

    /// A pool whose bytes come from `memory`, which other work shares. It takes them in steps of a
    /// MiB and gives them back when it is dropped.
    pub fn within(query: impl Into<Arc<str>>, memory: Box<dyn SharedMemory>) -> Self {
        Self {
            shared: Some(Shared::new(memory)),
            ..Self::new(query, usize::MAX)
        }
    }

    /// The query's name in errors.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The most bytes that may be in use at once.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        // Ordering: Relaxed. A number for people.
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were in use at once.
    pub fn peak(&self) -> usize {
        // Ordering: Relaxed. A number for people.
        self.peak.load(Ordering::Relaxed)
    }

    /// Counts all of `bytes` as in use, or none. Call it before allocating;
    /// [`Reservation`](super::Reservation) also gives the bytes back.
    ///
    /// # Errors
    ///
    /// When the bytes would pass the limit, or the shared memory refuses them.
    pub fn try_reserve(&self, bytes: usize) -> Result<(), MemoryExceeded> {
        let fitting = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        // Ordering: Relaxed. Accounting, not synchronisation: all that counts is that no two
        // reservations both take the last bytes, which a read-modify-write of one word decides. The
        // memory itself is its owner's alone.
        let reserved = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fitting);
        match reserved {
            Ok(used) => {
                if let Some(shared) = &self.shared
                    && let Err(taken) = shared.cover(used + bytes)
                {
                    self.release(bytes);
                    return Err(self.exceeded(bytes, used, taken));
                }
                // Ordering: Relaxed. A number for people.
                self.peak.fetch_max(used + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(used) => Err(self.exceeded(bytes, used, self.limit)),
        }
    }

    fn exceeded(&self, requested: usize, used: usize, limit: usize) -> MemoryExceeded {
        MemoryExceeded {
            query: Arc::clone(&self.query),
            requested,
            used,
            limit,
        }
    }

    /// Counts reserved `bytes` as free again.
    ///
    /// # Panics
    ///
    /// If fewer are in use.
    pub fn release(&self, bytes: usize) {
        // Ordering: Relaxed. See `try_reserve`.
        let used = self.used.fetch_sub(bytes, Ordering::Relaxed);
        assert!(used >= bytes, "{bytes} bytes are released, {used} were reserved");
    }
}

/// A query asked for more memory than its pool has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryExceeded {
    /// The query's name.
    pub query: Arc<str>,
    /// The bytes requested.
    pub requested: usize,
    /// The bytes that were in use.
    pub used: usize,
    /// The most bytes that may be in use at once.
    pub limit: usize,
}

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            query,
            requested,
            used,
            limit,
        } = self;
        write!(
            f,
            "query {query} is over its memory quota: it asked for {requested} bytes with {used} of {limit} in use"
        )
    }
}

impl Error for MemoryExceeded {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_counted_whole_or_not_at_all() {
        let pool = MemoryPool::new("q", 100);
        pool.try_reserve(100).unwrap();
        assert!(pool.try_reserve(1).is_err());
        assert!(pool.try_reserve(usize::MAX).is_err(), "the sum would wrap");
        pool.try_reserve(0).unwrap();
        assert_eq!(pool.used(), 100);
    }
}
