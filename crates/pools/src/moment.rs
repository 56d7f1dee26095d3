//! Moments to come, also those that no clock reaches: waits and periods may be of any length.

use std::time::{Duration, Instant};

/// So long after `start`. What no clock reaches is a century later, which is as good as never.
pub(crate) fn after(start: Instant, wait: Duration) -> Instant {
    start.checked_add(wait).unwrap_or_else(|| start + CENTURY)
}

const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);
