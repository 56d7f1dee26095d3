//! A histogram of times; a sample costs a few instructions.
//!
//! Each doubling of the time has sixteen buckets of equal width. A percentile is at most a
//! sixteenth too large.
//!
//! ```text
//!   0 1 2 … 15 │ 16 17 … 31 │ 32-33 34-35 … 62-63 │ 64-67 …      nanoseconds in a bucket
//! ```

use std::fmt;
use std::time::Duration;

use crate::text::thousands;

const FINENESS: u32 = 4;
const IN_A_DOUBLING: usize = 1 << FINENESS;

/// Samples of durations.
///
/// ```
/// use std::time::Duration;
/// use executor_core::TimeHistogram;
///
/// let mut waits = TimeHistogram::default();
/// (1..=100).for_each(|n| waits.add_ns(n * 1_000));
/// assert_eq!((waits.samples(), waits.max()), (100, Duration::from_micros(100)));
/// let p99 = waits.percentile(99.0);
/// assert!((99_000..105_200).contains(&p99.as_nanos()), "at most a sixteenth too large: {p99:?}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeHistogram {
    counts: Vec<u64>,
    samples: u64,
    sum_ns: u64,
    max_ns: u64,
}

impl TimeHistogram {
    /// The number of buckets.
    pub const BUCKETS: usize = IN_A_DOUBLING * (u64::BITS - FINENESS + 1) as usize;

    /// The bucket of a time.
    #[must_use]
    pub fn bucket_of(ns: u64) -> usize {
        match ns.checked_ilog2().unwrap_or(0).checked_sub(FINENESS) {
            None => ns as usize,
            Some(shift) => IN_A_DOUBLING * (shift as usize + 1) + (ns >> shift) as usize % IN_A_DOUBLING,
        }
    }

    /// A histogram of counts by [`TimeHistogram::bucket_of`].
    pub fn from_buckets(counts: impl IntoIterator<Item = u64>, sum_ns: u64, max_ns: u64) -> Self {
        let mut histogram = Self {
            counts: counts.into_iter().collect(),
            samples: 0,
            sum_ns,
            max_ns,
        };
        histogram.counted();
        histogram
    }

    /// Adds a sample of `ns` nanoseconds.
    #[inline]
    pub fn add_ns(&mut self, ns: u64) {
        let bucket = Self::bucket_of(ns);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.samples += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.samples += other.samples;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The samples since `earlier`. The largest is exact only if it is the largest of all.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = self.clone();
        for (count, before) in later.counts.iter_mut().zip(&earlier.counts) {
            *count = count.saturating_sub(*before);
        }
        later.sum_ns = later.sum_ns.saturating_sub(earlier.sum_ns);
        later.counted();
        later.max_ns = later
            .max_ns
            .min(later.counts.len().checked_sub(1).map_or(0, largest));
        later
    }

    /// The number of samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The time that `percent` of 100 samples did not exceed; zero without samples.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        let rank = (self.samples as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut below = 0;
        let bucket = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        Duration::from_nanos(bucket.map_or(self.max_ns, |bucket| largest(bucket).min(self.max_ns)))
    }

    /// The exact average.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum_ns.checked_div(self.samples).unwrap_or(0))
    }

    /// The sum of all samples.
    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// The exact longest sample.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max_ns)
    }

    /// The buckets with samples, shortest first: longest time and number of samples.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let all = self.counts.iter().enumerate();
        all.filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (Duration::from_nanos(largest(bucket)), *count))
    }

    fn counted(&mut self) {
        let used = self.counts.iter().rposition(|count| *count > 0);
        self.counts.truncate(used.map_or(0, |last| last + 1));
        self.samples = self.counts.iter().sum();
    }
}

impl fmt::Display for TimeHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.samples == 0 {
            return f.write_str("no samples");
        }
        let [p50, p99] = [50.0, 99.0].map(|percent| self.percentile(percent));
        let (max, samples) = (self.max(), thousands(self.samples));
        write!(f, "p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?} of {samples}")
    }
}

/// In nanoseconds.
fn largest(bucket: usize) -> u64 {
    let within = (bucket % IN_A_DOUBLING) as u64;
    match (bucket / IN_A_DOUBLING).checked_sub(1) {
        None => within,
        Some(shift) => {
            let first = (IN_A_DOUBLING as u64 + within) << shift;
            first + ((1_u64 << shift) - 1)
        }
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: impl IntoIterator<Item = u64>) -> TimeHistogram {
        let mut histogram = TimeHistogram::default();
        samples.into_iter().for_each(|ns| histogram.add_ns(ns));
        histogram
    }

    #[test]
    fn every_bucket_ends_where_the_next_one_begins() {
        let last = TimeHistogram::BUCKETS - 1;
        for at in 0..last {
            assert_eq!(TimeHistogram::bucket_of(largest(at)), at);
            assert_eq!(TimeHistogram::bucket_of(largest(at) + 1), at + 1);
        }
        assert_eq!(
            (TimeHistogram::bucket_of(u64::MAX), largest(last)),
            (last, u64::MAX)
        );
    }

    #[test]
    fn nothing_is_said_of_no_samples() {
        let none = of([]);
        assert_eq!(
            (none.percentile(99.0), none.mean(), none.max()),
            Default::default()
        );
        assert_eq!(none.to_string(), "no samples");
        assert_eq!(none.buckets().count(), 0);
        assert_eq!(none.since(&none), none);
    }

    #[test]
    fn merged_samples_are_as_if_taken_together_and_what_came_since_is_what_is_left_without_them() {
        let (evens, odds) = (of((0..50).map(|n| 2 * n)), of((0..50).map(|n| 2 * n + 1)));
        let mut all = evens.clone();
        all.merge(&odds);
        assert_eq!(all, of(0..100));
        assert_eq!((all.samples(), all.sum().as_nanos()), (100, 4_950));
        assert_eq!(all.mean(), Duration::from_nanos(49));
        assert_eq!(all.since(&evens), odds);
        let short = all.since(&of(5..100));
        assert_eq!((short.samples(), short.max().as_nanos()), (5, 4));
    }

    #[test]
    fn buckets_say_their_longest_time_and_their_samples() {
        let buckets: Vec<_> = of([3, 40, 41, 40]).buckets().collect();
        let [three, forty] = [3, 41].map(Duration::from_nanos);
        assert_eq!(buckets, [(three, 1), (forty, 3)]);
        assert_eq!(of([7]).to_string(), "p50 7.0ns, p99 7.0ns, max 7.0ns of 1");
        let mut counts = vec![0; TimeHistogram::BUCKETS];
        counts[3] = 2;
        assert_eq!(TimeHistogram::from_buckets(counts, 6, 3), of([3, 3]));
    }

    proptest! {
        #[test]
        fn a_percentile_is_at_most_a_sixteenth_too_large(
            mut samples in prop::collection::vec(0_u64..u64::MAX / 2, 1..300),
            percent in prop::sample::select(vec![1_u64, 50, 99, 100]),
        ) {
            let said = of(samples.iter().copied()).percentile(percent as f64).as_nanos();
            samples.sort_unstable();
            let rank = (samples.len() as u64 * percent).div_ceil(100) as usize;
            let exact = u128::from(samples[rank - 1]);
            prop_assert!(said >= exact, "{said} {exact}");
            prop_assert!(said <= exact + exact / 16, "{said} {exact}");
        }
    }
}
