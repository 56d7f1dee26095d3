//! Percentiles of ascending times, for all modes.

use std::time::Duration;

/// In milliseconds; NaN if there are no `times`.
pub(crate) fn at(times: &[Duration], part: f64) -> f64 {
    let last = times.len().saturating_sub(1);
    let place = (part * last as f64).round() as usize;
    times.get(place).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}
