//! How far a scan is, for a bar that another thread draws.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a running scan.
///
/// Each is right by itself; between two of them a worker may have gone on.
#[derive(Debug, Default)]
pub struct Progress {
    discovered: AtomicU64,
    reported: AtomicU64,
    bytes: AtomicU64,
}

impl Progress {
    /// Objects that were found.
    #[must_use]
    pub fn discovered(&self) -> u64 {
        read(&self.discovered)
    }

    /// Objects whose report is out.
    #[must_use]
    pub fn reported(&self) -> u64 {
        read(&self.reported)
    }

    /// Bytes that were read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        read(&self.bytes)
    }

    pub(crate) fn has_discovered(&self, objects: u64) {
        add(&self.discovered, objects);
    }

    pub(crate) fn has_reported(&self, objects: u64) {
        add(&self.reported, objects);
    }

    pub(crate) fn has_read(&self, bytes: u64) {
        add(&self.bytes, bytes);
    }
}

fn read(counter: &AtomicU64) -> u64 {
    // Ordering: Relaxed. A count, and nothing hangs on it.
    counter.load(Ordering::Relaxed)
}

fn add(counter: &AtomicU64, more: u64) {
    if more > 0 {
        // Ordering: Relaxed. As above.
        counter.fetch_add(more, Ordering::Relaxed);
    }
}
