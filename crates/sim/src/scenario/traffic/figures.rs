//! The figures of a load of jobs, in virtual time.

use std::fmt;

/// A distribution of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Number of durations.
    pub count: usize,
    /// The median.
    pub p50_ns: u64,
    /// The 95th percentile.
    pub p95_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Latency {
    /// Makes the distribution; a percentile is one of the durations.
    #[must_use]
    pub fn of(mut times_ns: Vec<u64>) -> Self {
        times_ns.sort_unstable();
        let percentile = |percent: usize| {
            let place = (times_ns.len() * percent).div_ceil(100).saturating_sub(1);
            times_ns.get(place).copied().unwrap_or(0)
        };
        Self {
            count: times_ns.len(),
            p50_ns: percentile(50),
            p95_ns: percentile(95),
            p99_ns: percentile(99),
            max_ns: percentile(100),
        }
    }
}

/// The figures of a [`Traffic`](crate::Traffic) run, in nanoseconds of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Short jobs, from due time to end.
    pub short: Latency,
    /// Heavy jobs that were not cancelled, from due time to end.
    pub heavy: Latency,
    /// The part of the workers' time in slots of short jobs, during the traffic.
    pub short_share: f64,
    /// The same of heavy jobs.
    pub heavy_share: f64,
    /// The same of middle jobs.
    pub middle_share: f64,
    /// The longest time that a heavy job had claimable slots and no worker in one.
    pub heavy_wait_ns: u64,
    /// The same of a middle job.
    pub middle_wait_ns: u64,
    /// The same of a heavy or middle job served before.
    pub wait_again_ns: u64,
    /// Cancelled jobs, from the cancel to the end.
    pub stop: Latency,
    /// From the beginning to the last job's end.
    pub makespan_ns: u64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: u64| ns as f64 / 1e6;
        let latency = |f: &mut fmt::Formatter<'_>, name: &str, of: &Latency| {
            writeln!(
                f,
                "  {name:<24} {:>8} times, p50 {:.3}, p95 {:.3}, p99 {:.3}, max {:.3} ms",
                of.count,
                ms(of.p50_ns),
                ms(of.p95_ns),
                ms(of.p99_ns),
                ms(of.max_ns)
            )
        };
        latency(f, "short jobs", &self.short)?;
        latency(f, "heavy jobs", &self.heavy)?;
        latency(f, "cancel to stopped", &self.stop)?;
        for (name, share) in [
            ("short jobs' share", self.short_share),
            ("heavy jobs' share", self.heavy_share),
            ("middle jobs' share", self.middle_share),
        ] {
            writeln!(f, "  {name:<24} {:>8.1} %", share * 100.0)?;
        }
        for (name, ns) in [
            ("longest wait, heavy", self.heavy_wait_ns),
            ("longest wait, middle", self.middle_wait_ns),
            ("makespan", self.makespan_ns),
        ] {
            writeln!(f, "  {name:<24} {:>12.3} ms", ms(ns))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let latency = Latency::of((1..=200).rev().collect());
        assert_eq!(
            (latency.p50_ns, latency.p95_ns, latency.p99_ns, latency.max_ns),
            (100, 190, 198, 200)
        );
        assert_eq!(Latency::of(vec![7]).p50_ns, 7);
        assert_eq!(Latency::of(Vec::new()), Latency::default());
    }
}
