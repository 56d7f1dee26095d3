//! How long things took: a histogram that takes a sample in a few instructions, and what people read of it.
//!
//! Buckets are an eighth of a doubling wide, so a percentile is at most an eighth too large; the largest sample is exact.

use std::fmt;
use std::time::Duration;

/// Eighths of a doubling, from 1 ns to all that 64 bits hold.
const BUCKETS: usize = 496;

/// What was sampled of one kind of delay.
///
/// ```
/// let delays = executor_threaded::Delays::default();
/// assert_eq!(delays.to_string(), "no samples");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delays {
    /// How many samples there are; without any the rest is zero.
    pub samples: u64,
    /// Half of the samples took no longer. At most an eighth too large.
    pub p50: Duration,
    /// 99 of 100 samples took no longer. At most an eighth too large.
    pub p99: Duration,
    /// The longest, exactly.
    pub max: Duration,
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
        let samples = super::thousands(*samples);
        write!(f, "p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?} of {samples}")
    }
}

/// Samples of one kind of delay, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Box<[u64]>,
    samples: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS].into(),
            samples: 0,
            max_ns: 0,
        }
    }
}

impl Histogram {
    /// Takes a sample.
    pub(crate) fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.samples += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Takes all samples of another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.samples += other.samples;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// What people read of it.
    pub(crate) fn delays(&self) -> Delays {
        Delays {
            samples: self.samples,
            p50: self.percentile(50),
            p99: self.percentile(99),
            max: Duration::from_nanos(self.max_ns),
        }
    }

    fn percentile(&self, percent: u64) -> Duration {
        let rank = u128::from(self.samples) * u128::from(percent);
        let rank = u64::try_from(rank.div_ceil(100)).unwrap_or(u64::MAX);
        let mut below = 0;
        let bucket = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        Duration::from_nanos(bucket.map_or(0, largest).min(self.max_ns))
    }
}

/// The bucket of a sample.
fn bucket(ns: u64) -> usize {
    let doublings = ns.checked_ilog2().unwrap_or(0) as usize;
    match doublings.checked_sub(3) {
        None => ns as usize,
        Some(shift) => 8 * (shift + 1) + (ns >> shift) as usize % 8,
    }
}

/// The largest sample that goes into a bucket.
fn largest(bucket: usize) -> u64 {
    match (bucket / 8).checked_sub(1) {
        None => bucket as u64,
        Some(shift) => {
            let first = (8 + bucket as u64 % 8) << shift;
            first + ((1_u64 << shift) - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        samples.into_iter().for_each(|ns| histogram.add(ns));
        histogram
    }

    #[test]
    fn every_bucket_ends_where_the_next_one_begins() {
        for at in 0..BUCKETS - 1 {
            assert_eq!(bucket(largest(at)), at);
            assert_eq!(bucket(largest(at) + 1), at + 1);
        }
        assert_eq!((bucket(u64::MAX), largest(BUCKETS - 1)), (BUCKETS - 1, u64::MAX));
    }

    #[test]
    fn nothing_is_said_of_no_samples() {
        assert_eq!(of([]).delays(), Delays::default());
    }

    #[test]
    fn percentiles_of_merged_samples_are_those_of_all() {
        let mut evens = of((0..50).map(|n| 2 * n));
        evens.merge(&of((0..50).map(|n| 2 * n + 1)));
        assert_eq!(evens.delays(), of(0..100).delays());
        assert_eq!(evens.delays().samples, 100);
        assert_eq!(
            of([7]).delays().to_string(),
            "p50 7.0ns, p99 7.0ns, max 7.0ns of 1"
        );
    }

    proptest! {
        #[test]
        fn a_percentile_is_at_most_an_eighth_too_large(
            mut samples in prop::collection::vec(0_u64..u64::MAX / 2, 1..300),
            percent in prop::sample::select(vec![50_u64, 99]),
        ) {
            let said = of(samples.iter().copied()).percentile(percent).as_nanos();
            samples.sort_unstable();
            let rank = (samples.len() as u64 * percent).div_ceil(100) as usize;
            let exact = u128::from(samples[rank - 1]);
            prop_assert!(said >= exact, "{said} {exact}");
            prop_assert!(said <= exact + exact / 8 + 1, "{said} {exact}");
        }
    }
}
