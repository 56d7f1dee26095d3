//! What a load of jobs came to, in virtual time.

use std::fmt;

/// How long things took, in nanoseconds of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// How many there were.
    pub count: usize,
    /// The median.
    pub p50_ns: u64,
    /// 95 of 100 took no longer.
    pub p95_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Latency {
    /// Of all times that were seen; a percentile is one of them.
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

/// What a run of a [`Traffic`](crate::Traffic) came to. Times are nanoseconds of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Short jobs, from when they were due until they ended.
    pub short: Latency,
    /// Heavy jobs that nobody cancelled, likewise.
    pub heavy: Latency,
    /// The part of the workers' time in which they were in slots of short jobs, while traffic came in.
    pub short_share: f64,
    /// Likewise of heavy jobs.
    pub heavy_share: f64,
    /// Likewise of middle ones.
    pub middle_share: f64,
    /// The longest time that a heavy job had slots to claim and no worker in one.
    pub heavy_wait_ns: u64,
    /// Likewise of a middle job.
    pub middle_wait_ns: u64,
    /// Likewise of a heavy or a middle job of which a slot had run before.
    pub wait_again_ns: u64,
    /// Cancelled jobs, from the cancel until they had ended.
    pub stop: Latency,
    /// From the beginning until the last job had ended.
    pub makespan_ns: u64,
}

impl fmt::Display for Figures {
    /// A row each, in milliseconds and hundredths.
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
