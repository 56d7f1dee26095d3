//! Arithmetic of moments and time spans.

use std::time::{Duration, Instant};

/// A century after `start` where the clock's range ends.
pub(crate) fn after(start: Instant, wait: Duration) -> Instant {
    start.checked_add(wait).unwrap_or_else(|| start + CENTURY)
}

const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
