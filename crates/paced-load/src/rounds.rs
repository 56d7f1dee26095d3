//! All rounds of one engine as one row of figures.

use std::time::Duration;

use crate::load::Measured;
use crate::percentile::at;

/// Rounds of the same load on the same engine.
#[derive(Clone, Debug, Default)]
pub struct Rounds(Vec<Measured>);

impl From<Measured> for Rounds {
    fn from(round: Measured) -> Self {
        Self(vec![round])
    }
}

impl Rounds {
    /// Adds a round.
    pub fn add(&mut self, round: Measured) {
        self.0.push(round);
    }

    /// Latencies of all rounds together, ascending.
    #[must_use]
    pub fn latencies(&self) -> Vec<Duration> {
        self.sorted(|round| &round.latencies)
    }

    /// How late the client woke, of all rounds together, ascending.
    #[must_use]
    pub fn wakes(&self) -> Vec<Duration> {
        self.sorted(|round| &round.wakes)
    }

    /// The 99th percentile of each round, in milliseconds.
    #[must_use]
    pub fn p99s(&self) -> String {
        let p99s = self.0.iter().map(|round| at(&round.latencies, 0.99));
        p99s.map(|p99| format!("{p99:.1}")).collect::<Vec<_>>().join(", ")
    }

    /// Short queries that were due but not asked.
    #[must_use]
    pub fn unasked(&self) -> usize {
        self.0.iter().map(|round| round.unasked).sum()
    }

    /// Heavy queries a second, of all kinds.
    #[must_use]
    pub fn heavy_rate(&self) -> f64 {
        self.mean(|round| round.heavy_rates.iter().sum())
    }

    /// Heavy queries a second of each kind.
    #[must_use]
    pub fn heavy_rates(&self) -> String {
        let kinds = self.0.first().map_or(0, |round| round.heavy_rates.len());
        let rates = (0..kinds).map(|kind| self.mean(|round| round.heavy_rates[kind]));
        rates
            .map(|rate| format!("{rate:.2}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// CPU time over elapsed time.
    #[must_use]
    pub fn cpus(&self) -> f64 {
        self.mean(|round| round.cpus)
    }

    fn sorted(&self, of: fn(&Measured) -> &[Duration]) -> Vec<Duration> {
        let mut times: Vec<_> = self.0.iter().flat_map(of).copied().collect();
        times.sort_unstable();
        times
    }

    fn mean(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(latencies_ms: &[u64], unasked: usize, heavy_rates: [f64; 2]) -> Measured {
        Measured {
            latencies: latencies_ms.iter().copied().map(Duration::from_millis).collect(),
            unasked,
            heavy_rates: heavy_rates.into(),
            cpus: 2.0,
            ..Measured::default()
        }
    }

    #[test]
    fn times_of_all_rounds_are_one_list_and_rates_are_means() {
        let mut rounds = Rounds::from(round(&[1, 4], 1, [1.0, 3.0]));
        rounds.add(round(&[2, 3], 2, [2.0, 4.0]));
        let latencies = [1, 2, 3, 4].map(Duration::from_millis);
        assert_eq!(rounds.latencies(), latencies);
        assert_eq!(rounds.p99s(), "4.0, 3.0");
        assert_eq!(rounds.unasked(), 3);
        assert_eq!((rounds.heavy_rate(), rounds.cpus()), (5.0, 2.0));
        assert_eq!(rounds.heavy_rates(), "1.50, 3.50");
        assert!(rounds.wakes().is_empty());
    }
}
