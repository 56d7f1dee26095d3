//! What a load gave, as engines report it, and its figures over all rounds.

use serde::Deserialize;

/// One load on one engine, in one round. Peers print it as a line of JSON.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Measured {
    /// Clients with heavy queries.
    pub(crate) clients: usize,
    /// Of each short query, from when it was due to its answer.
    pub(crate) latencies_ms: Vec<f64>,
    /// How late the client itself woke, where it slept until the query was due.
    pub(crate) woke_late_ms: Vec<f64>,
    /// Short queries that were due and not asked, because the queue had grown for as long as the load lasts.
    pub(crate) unasked: usize,
    /// Heavy queries a second without the short one; absent without heavy clients.
    pub(crate) heavy_alone_per_s: Option<f64>,
    /// Heavy queries a second beside the short one.
    pub(crate) heavy_beside_per_s: Option<f64>,
}

/// The figures of one engine under one load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// The engine's name.
    pub(crate) engine: String,
    /// Clients with heavy queries.
    pub(crate) clients: usize,
    /// Latencies of all rounds together, in ms.
    pub(crate) latency: Percentiles,
    /// The 99th percentile of each round, in ms.
    pub(crate) p99_by_round: Vec<f64>,
    /// How late the client woke, in ms; `None` if it never had to wait.
    pub(crate) woke_late: Option<Percentiles>,
    /// See [`Measured`].
    pub(crate) unasked: usize,
    /// Mean over the rounds.
    pub(crate) heavy_alone_per_s: Option<f64>,
    /// Mean over the rounds.
    pub(crate) heavy_beside_per_s: Option<f64>,
}

/// The middle and the end of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Figures {
    /// Of all rounds of `engine` with the same number of clients; there is at least one, and a query in it.
    pub(crate) fn of(engine: &str, rounds: &[&Measured]) -> Option<Self> {
        let all = |values: fn(&Measured) -> &Vec<f64>| {
            Percentiles::of(rounds.iter().flat_map(|round| values(round)).copied().collect())
        };
        let mean = |value: fn(&Measured) -> Option<f64>| {
            let values: Option<Vec<f64>> = rounds.iter().map(|round| value(round)).collect();
            values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        let by_round = rounds
            .iter()
            .filter_map(|round| Percentiles::of(round.latencies_ms.clone()));
        Some(Self {
            engine: engine.to_owned(),
            clients: rounds.first()?.clients,
            latency: all(|round| &round.latencies_ms)?,
            p99_by_round: by_round.map(|percentiles| percentiles.p99).collect(),
            woke_late: all(|round| &round.woke_late_ms),
            unasked: rounds.iter().map(|round| round.unasked).sum(),
            heavy_alone_per_s: mean(|round| round.heavy_alone_per_s),
            heavy_beside_per_s: mean(|round| round.heavy_beside_per_s),
        })
    }

    /// Whether the short query's client kept up with its pace.
    pub(crate) fn keeps_up(&self) -> bool {
        self.unasked == 0
    }

    /// Heavy throughput beside the short query, as a part of that alone.
    pub(crate) fn heavy_kept(&self) -> Option<f64> {
        Some(self.heavy_beside_per_s? / self.heavy_alone_per_s?)
    }
}

impl Percentiles {
    /// Of at least one value.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        // The nearest rank: so many of a hundred values are at most this large.
        let at = |percent: usize| values[(values.len() * percent).div_ceil(100).saturating_sub(1)];
        Some(Self {
            p50: at(50),
            p95: at(95),
            p99: at(99),
            max: values[last],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let found = Percentiles::of((1..=200).rev().map(f64::from).collect()).unwrap();
        assert_eq!(
            (found.p50, found.p95, found.p99, found.max),
            (100.0, 190.0, 198.0, 200.0)
        );
        let one = Percentiles::of(vec![7.0]).unwrap();
        assert_eq!((one.p50, one.max), (7.0, 7.0));
        assert_eq!(Percentiles::of(Vec::new()), None);
    }

    #[test]
    fn rounds_are_taken_together_and_told_apart() {
        let round = |latency: f64, heavy: f64| Measured {
            clients: 2,
            latencies_ms: vec![latency; 10],
            heavy_alone_per_s: Some(10.0),
            heavy_beside_per_s: Some(heavy),
            ..Measured::default()
        };
        let figures = Figures::of("one", &[&round(1.0, 9.0), &round(3.0, 10.0)]).unwrap();
        assert_eq!((figures.latency.p50, figures.latency.p99), (1.0, 3.0));
        assert_eq!(figures.p99_by_round, [1.0, 3.0]);
        assert_eq!(figures.heavy_kept(), Some(0.95));
        assert!(figures.keeps_up() && figures.woke_late.is_none());
        assert_eq!(Figures::of("none", &[]), None);
    }
}
