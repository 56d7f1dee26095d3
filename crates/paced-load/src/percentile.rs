//! Percentiles of ascending times, for all benches alike.

use std::time::Duration;

/// In milliseconds, of the nearest place; NaN if there are no `times`.
#[must_use]
pub fn at(times: &[Duration], part: f64) -> f64 {
    let last = times.len().saturating_sub(1);
    let place = (part * last as f64).round() as usize;
    times.get(place).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<_> = (0..=200).map(Duration::from_millis).collect();
        let found = [0.0, 0.5, 0.99, 1.0].map(|part| at(&times, part));
        assert_eq!(found, [0.0, 100.0, 198.0, 200.0]);
        assert!(at(&[], 0.5).is_nan());
    }
}
