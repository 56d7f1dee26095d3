//! Medians, spreads and percentiles of repeated measurements.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stats {
    /// The larger of two in the middle.
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Stats {
    /// Ignores values that are no numbers; NaN without any.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.retain(|value| !value.is_nan());
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
        Self {
            median: at(values.len() / 2),
            min: at(0),
            max: at(values.len().saturating_sub(1)),
        }
    }
}

/// NaN without values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    Stats::of(values.into_iter().collect()).median
}

/// The value below which `percent` of the `sorted` values lie; its place is rounded down, and 100
/// is the greatest. NaN without values.
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

    #[test]
    fn what_was_not_measured_is_left_out() {
        let stats = Stats::of(vec![3.0, f64::NAN, 1.0, 2.0]);
        assert_eq!((stats.min, stats.median, stats.max), (1.0, 2.0, 3.0));
        assert!(Stats::of(vec![f64::NAN]).median.is_nan());
    }
}
