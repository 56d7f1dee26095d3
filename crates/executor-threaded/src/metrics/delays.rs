//! A summary of sampled times, for people.

use std::fmt;
use std::time::Duration;

use executor_core::{TimeHistogram, thousands};

/// A summary of one kind of delay; its percentiles are at most a sixteenth too large.
///
/// ```
/// let delays = executor_threaded::metrics::Delays::default();
/// assert_eq!(delays.to_string(), "no samples");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delays {
    /// The number of samples; without any the rest is zero.
    pub samples: u64,
    /// Half of the samples took no longer.
    pub p50: Duration,
    /// 99 of 100 samples took no longer.
    pub p99: Duration,
    /// The longest, exactly.
    pub max: Duration,
}

impl Delays {
    pub(crate) fn of(histogram: &TimeHistogram) -> Self {
        Self {
            samples: histogram.samples(),
            p50: histogram.percentile(50.0),
            p99: histogram.percentile(99.0),
            max: histogram.max(),
        }
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            samples,
            p50,
            p99,
            max,
        } = self;
        if *samples == 0 {
            return f.write_str("no samples");
        }
        let samples = thousands(*samples);
        write!(f, "p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?} of {samples}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_what_people_read_of_a_histogram() {
        let mut histogram = TimeHistogram::default();
        assert_eq!(Delays::of(&histogram), Delays::default());
        (1..=200).for_each(|ns| histogram.add_ns(ns));
        let delays = Delays::of(&histogram);
        assert_eq!((delays.samples, delays.max.as_nanos()), (200, 200));
        assert!(
            delays.p50.as_nanos() >= 100 && delays.p99.as_nanos() >= 198,
            "{delays}"
        );
    }
}
