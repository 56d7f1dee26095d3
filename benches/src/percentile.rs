//! Percentiles of what was measured many times.

/// The value below which `percent` of the `sorted` values lie: the one at that place among them, rounded down, so that 100 is the
/// greatest. Not a number if there are none.
pub(crate) fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    // The product of two such numbers is exact enough to be floored after a nudge.
    let place = (last as f64 * percent / 100.0 + 1e-9).floor() as usize;
    sorted[place.min(last)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<f64> = (0..=200).map(f64::from).collect();
        let of = |percent| percentile(&values, percent);
        assert_eq!(
            [of(0.0), of(50.0), of(99.0), of(100.0)],
            [0.0, 100.0, 198.0, 200.0]
        );
        assert_eq!(percentile(&[3.0, 4.0], 99.0), 3.0, "rounded down");
        assert!(percentile(&[], 50.0).is_nan());
    }
}
