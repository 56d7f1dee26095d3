//! The bytes that one query may hold, within the session's memory pool.
//!
//! ```text
//!   sort of partition 0 ─┐
//!   sort of partition 1 ─┼─► QueryMemory of the query, 64 MiB ─┐
//!   hash table ──────────┘      equal parts for what spills    ├─► the session's pool
//!                               QueryMemory of another ────────┘
//! ```

use std::fmt;
use std::sync::Arc;

use datafusion_common::Result;
use datafusion_execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

/// The memory pool of one query, inside its session's. Operators that can spill share equally what
/// the others leave, as in DataFusion's `FairSpillPool`. The pool outside may refuse a byte as
/// well.
///
/// ```
/// use std::sync::Arc;
/// use datafusion_execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};
/// use windlass_datafusion::QueryMemory;
///
/// let session: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1_000));
/// let query: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(600, Arc::clone(&session)));
/// let table = MemoryConsumer::new("hash table").register(&query);
/// table.try_grow(500)?;
/// assert_eq!((query.reserved(), session.reserved()), (500, 500));
/// assert!(table.try_grow(200).is_err());
/// drop(table);
/// assert_eq!((query.reserved(), session.reserved()), (0, 0));
/// # Ok::<(), datafusion_common::DataFusionError>(())
/// ```
#[derive(Debug)]
pub struct QueryMemory {
    own: FairSpillPool,
    limit: usize,
    outside: Arc<dyn MemoryPool>,
}

impl QueryMemory {
    /// Limits a query to `limit` bytes within the pool `outside`.
    #[must_use]
    pub fn new(limit: usize, outside: Arc<dyn MemoryPool>) -> Self {
        Self {
            own: FairSpillPool::new(limit),
            limit,
            outside,
        }
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "windlass-query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.own.register(consumer);
        self.outside.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.outside.unregister(consumer);
        self.own.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.own.grow(reservation, additional);
        self.outside.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.outside.shrink(reservation, shrink);
        self.own.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.own.try_grow(reservation, additional)?;
        let granted = self.outside.try_grow(reservation, additional);
        if granted.is_err() {
            self.own.shrink(reservation, additional);
        }
        granted
    }

    fn reserved(&self) -> usize {
        self.own.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(match self.outside.memory_limit() {
            MemoryLimit::Finite(outside) => outside.min(self.limit),
            MemoryLimit::Infinite | MemoryLimit::Unknown => self.limit,
        })
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(limit: {}) in {}", self.name(), self.limit, self.outside)
    }
}

#[cfg(test)]
mod tests {
    use datafusion_execution::memory_pool::{GreedyMemoryPool, UnboundedMemoryPool};

    use super::*;

    fn pool(limit: usize, outside: impl MemoryPool) -> (Arc<dyn MemoryPool>, Arc<dyn MemoryPool>) {
        let outside: Arc<dyn MemoryPool> = Arc::new(outside);
        (Arc::new(QueryMemory::new(limit, Arc::clone(&outside))), outside)
    }

    #[test]
    fn what_the_pool_outside_refuses_is_not_held_by_the_query() {
        let (query, session) = pool(1_000, GreedyMemoryPool::new(600));
        let (first, second) = (MemoryConsumer::new("a"), MemoryConsumer::new("b"));
        let (first, second) = (first.register(&query), second.register(&query));
        first.try_grow(500).unwrap();
        assert!(second.try_grow(200).is_err());
        assert_eq!((query.reserved(), session.reserved()), (500, 500));
        second.try_grow(100).unwrap();
        assert!(matches!(query.memory_limit(), MemoryLimit::Finite(600)));
    }

    #[test]
    fn operators_that_spill_have_equal_parts() {
        let (query, _session) = pool(1_000, UnboundedMemoryPool::default());
        let sort = |name| MemoryConsumer::new(name).with_can_spill(true).register(&query);
        let (first, second) = (sort("first"), sort("second"));
        first.try_grow(500).unwrap();
        assert!(first.try_grow(1).is_err());
        second.try_grow(500).unwrap();
        assert!(matches!(query.memory_limit(), MemoryLimit::Finite(1_000)));
    }
}
