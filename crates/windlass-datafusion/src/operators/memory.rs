//! The session's memory, as a query of `columnar` takes it.

use std::fmt;

use columnar::SharedMemory;
use datafusion::execution::memory_pool::MemoryReservation;

/// A reservation in the session's pool that grows with a query.
pub(super) struct FromSession(MemoryReservation);

impl FromSession {
    pub(super) fn new(reservation: MemoryReservation) -> Self {
        Self(reservation)
    }
}

impl SharedMemory for FromSession {
    fn try_take(&self, bytes: usize) -> bool {
        self.0.try_grow(bytes).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.shrink(bytes);
    }
}

impl fmt::Debug for FromSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FromSession({} bytes)", self.0.size())
    }
}
