//! Percentiles of times that are in order of size, as all modes print them.

use std::time::Duration;

/// The time below which `part` of them are, in milliseconds. They are in order of size; of none it
/// is not a number.
pub(crate) fn at(times: &[Duration], part: f64) -> f64 {
    let last = times.len().saturating_sub(1);
    let place = (part * last as f64).round() as usize;
    times.get(place).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}
