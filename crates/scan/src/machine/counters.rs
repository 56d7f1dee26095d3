//! What bounds a scan: permits, open files, buffers. Each is a count that is taken from without
//! waiting, and given back when its holder is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The counts of one scan.
#[derive(Debug)]
pub struct Counters {
    /// Objects that are discovered and not yet reported.
    pub permits: Gauge,
    /// Files and directories that stay open while they wait.
    pub slots: Gauge,
    /// Buffers of one chunk.
    pub buffers: Gauge,
}

/// A number that is free, of a largest number.
#[derive(Debug)]
pub struct Gauge {
    free: AtomicUsize,
    max: usize,
}

/// One open file that may wait.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Counters>);

impl Counters {
    pub(crate) fn new(permits: usize, slots: usize, buffers: usize) -> Self {
        Self {
            permits: Gauge::new(permits),
            slots: Gauge::new(slots),
            buffers: Gauge::new(buffers),
        }
    }

    pub(crate) fn slot(self: &Arc<Self>) -> Option<Slot> {
        (self.slots.take(1) == 1).then(|| Slot(Arc::clone(self)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.slots.give_back(1);
    }
}

impl Gauge {
    fn new(max: usize) -> Self {
        Self {
            free: AtomicUsize::new(max),
            max,
        }
    }

    /// Takes up to `wanted`, and returns how many.
    pub(crate) fn take(&self, wanted: usize) -> usize {
        // Ordering: Relaxed. A count; what it bounds is handed over by the queues.
        let mut free = self.free.load(Ordering::Relaxed);
        loop {
            let taken = free.min(wanted);
            if taken == 0 {
                return 0;
            }
            // Ordering: Relaxed. As above.
            match self
                .free
                .compare_exchange_weak(free, free - taken, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return taken,
                Err(now) => free = now,
            }
        }
    }

    pub(crate) fn give_back(&self, taken: usize) {
        // Ordering: Relaxed. As in `take`.
        self.free.fetch_add(taken, Ordering::Relaxed);
    }

    /// How many are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        // Ordering: Relaxed. As in `take`.
        self.max - self.free.load(Ordering::Relaxed)
    }
}
