//! Time spans as whole nanoseconds.

use std::time::Duration;

/// Returns the nanoseconds of `time`, or `u64::MAX` if they are more: 584 years.
#[inline]
#[must_use]
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
