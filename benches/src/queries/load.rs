//! One load on our engine: clients with heavy queries back to back, and one whose short query is
//! due at a fixed pace.
//!
//! ```text
//!           heavy clients alone │  the short query beside them  │ heavy clients alone
//!   ├ warm-up ┼──── S/2 ────────┼────────────── S ──────────────┼──── S/2 ──────┤
//! ```
//!
//! The loop is open: a query's latency counts from the moment at which it is due. That includes a
//! late wake of the client, which is reported apart. A client that falls behind by the load's whole
//! length gives up, and reports its unasked queries.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Deserialize;

use super::clients::Clients;
use crate::contender::Outcome;
use crate::engine::Phases;
use crate::number::short;
use crate::stats::percentile;

/// Time of heavy queries before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Clients with heavy queries.
    pub(super) clients: usize,
    /// Time between two short queries.
    pub(super) pace: Duration,
    /// Time in which short queries become due.
    pub(super) lasts: Duration,
}

/// Peers print it as a line of JSON.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Measured {
    /// Time of each short query, from its due moment to its answer.
    latencies_ms: Vec<f64>,
    /// When the client slept until the query was due.
    woke_late_ms: Vec<f64>,
    /// Due queries that were not asked, because the queue had grown to the load's length.
    unasked: usize,
    /// Rate without the short query; absent without heavy clients.
    heavy_alone_per_s: Option<f64>,
    /// Rate beside the short query.
    heavy_beside_per_s: Option<f64>,
}

impl Measured {
    /// The client's lateness (p50, p99), unasked queries, heavy queries a second alone and beside,
    /// and the part kept.
    pub(super) fn outcome(mut self) -> Outcome {
        self.woke_late_ms.sort_by(f64::total_cmp);
        let woke = |percent| percentile(&self.woke_late_ms, percent);
        let (alone, beside) = (self.heavy_alone_per_s, self.heavy_beside_per_s);
        let [alone, beside] = [alone, beside].map(|per_s| per_s.unwrap_or(f64::NAN));
        let figures = [
            woke(50.0),
            woke(99.0),
            self.unasked as f64,
            alone,
            beside,
            beside / alone,
        ];
        Outcome {
            samples: self.latencies_ms,
            ..Outcome::verified(figures.into())
        }
    }
}

/// The median and the 99th percentile of each phase.
pub(super) fn where_time_went(phases: &[Phases]) -> String {
    type Phase = (&'static str, fn(&Phases) -> Duration);
    const PHASES: [Phase; 5] = [
        ("plan", |phases| phases.plan),
        ("submit", |phases| phases.submit),
        ("wait for a worker", |phases| phases.wait),
        ("run", |phases| phases.run),
        ("wake the client", |phases| phases.wake),
    ];
    let told = PHASES.map(|(name, phase)| {
        let mut times: Vec<f64> = phases.iter().map(|phases| milliseconds(phase(phases))).collect();
        times.sort_by(f64::total_cmp);
        let [p50, p99] = [50.0, 99.0].map(|percent| short(percentile(&times, percent)));
        format!("{name} {p50} / {p99}")
    });
    format!("  short query, ms at p50 / p99: {}", told.join(", "))
}

#[derive(Debug, Default)]
struct Paced {
    latencies: Vec<Duration>,
    woke_late: Vec<Duration>,
    phases: Vec<Phases>,
    unasked: usize,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: Instant,
    end: Instant,
}

/// Also returns the phases of each short query. A wrong answer is an error.
pub(super) fn run(engine: &Clients, load: Load) -> anyhow::Result<(Measured, Vec<Phases>)> {
    let over = AtomicBool::new(false);
    let (spans, paced, queries) = thread::scope(|scope| {
        let client = || -> anyhow::Result<Vec<Span>> {
            let mut queries = Vec::new();
            // Ordering: Relaxed. It decides only whether to stop.
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                let end = engine.heavy()?;
                queries.push(Span { start, end });
            }
            Ok(queries)
        };
        let clients: Vec<_> = (0..load.clients).map(|_| scope.spawn(client)).collect();
        let is_alone = load.clients == 0;
        thread::sleep(WARM_UP);
        let alone = || {
            let start = Instant::now();
            if !is_alone {
                thread::sleep(load.lasts / 2);
            }
            Span {
                start,
                end: Instant::now(),
            }
        };
        let before = alone();
        let start = Instant::now();
        let paced = scope.spawn(move || paced(load, || engine.short())).join();
        let beside = Span {
            start,
            end: Instant::now(),
        };
        let after = alone();
        // Ordering: Relaxed. It publishes no data.
        over.store(true, Ordering::Relaxed);
        let queries: Vec<_> = clients.into_iter().map(thread::ScopedJoinHandle::join).collect();
        ((before, beside, after), paced, queries)
    });
    let mut heavy = Vec::new();
    for client in queries {
        heavy.extend(client.map_err(|_| anyhow::anyhow!("a heavy client panicked"))??);
    }
    let paced = paced.map_err(|_| anyhow::anyhow!("the short query's client panicked"))??;
    let (before, beside, after) = spans;
    let alone_s = before.seconds() + after.seconds();
    let measured = Measured {
        latencies_ms: paced.latencies.into_iter().map(milliseconds).collect(),
        woke_late_ms: paced.woke_late.into_iter().map(milliseconds).collect(),
        unasked: paced.unasked,
        heavy_alone_per_s: (load.clients > 0).then(|| (done(&heavy, before) + done(&heavy, after)) / alone_s),
        heavy_beside_per_s: (load.clients > 0).then(|| done(&heavy, beside) / beside.seconds()),
    };
    Ok((measured, paced.phases))
}

/// `query` returns the moment of its answer.
fn paced(load: Load, mut query: impl FnMut() -> anyhow::Result<(Instant, Phases)>) -> anyhow::Result<Paced> {
    let mut seen = Paced::default();
    let start = Instant::now();
    let count = u32::try_from(load.lasts.as_nanos() / load.pace.as_nanos()).context("too many queries")?;
    for number in 0..count {
        let due = start + load.pace * number;
        let now = Instant::now();
        if now > due + load.lasts {
            seen.unasked = (count - number) as usize;
            break;
        }
        if now < due {
            thread::sleep(due - now);
            seen.woke_late.push(due.elapsed());
        }
        let (end, phases) = query()?;
        seen.latencies.push(end - due);
        seen.phases.push(phases);
    }
    Ok(seen)
}

/// One that crosses an end of `span` counts for its part inside.
fn done(queries: &[Span], span: Span) -> f64 {
    let part = |query: &Span| {
        let (start, end) = (query.start.max(span.start), query.end.min(span.end));
        end.saturating_duration_since(start).as_secs_f64() / query.seconds()
    };
    queries.iter().map(part).sum()
}

impl Span {
    fn seconds(self) -> f64 {
        (self.end - self.start).as_secs_f64()
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_reaches_over_the_end_counts_for_its_part() {
        let zero = Instant::now();
        let span = |start: u64, end: u64| Span {
            start: zero + Duration::from_secs(start),
            end: zero + Duration::from_secs(end),
        };
        let queries = [span(0, 4), span(4, 8), span(8, 16), span(20, 30)];
        assert_eq!(done(&queries, span(2, 10)), 0.5 + 1.0 + 0.25);
    }

    #[test]
    fn heavy_throughput_that_was_kept_is_a_part_of_that_alone() {
        let measured = Measured {
            latencies_ms: vec![3.0, 1.0],
            heavy_alone_per_s: Some(10.0),
            heavy_beside_per_s: Some(9.5),
            ..Measured::default()
        };
        let outcome = measured.outcome();
        assert_eq!(outcome.samples, [3.0, 1.0]);
        assert_eq!(outcome.measured[2..], [0.0, 10.0, 9.5, 0.95]);
        assert!(
            Measured::default().outcome().measured[5].is_nan(),
            "without heavy clients"
        );
    }

    #[test]
    fn a_late_query_makes_those_after_it_late_and_a_hopeless_queue_is_left() {
        let load = Load {
            clients: 0,
            pace: Duration::from_millis(1),
            lasts: Duration::from_millis(4),
        };
        let slow = || {
            thread::sleep(Duration::from_millis(5));
            Ok((Instant::now(), Phases::default()))
        };
        let seen = paced(load, slow).unwrap();
        // Each takes 5 ms and the next is due after 1 ms: the third would begin 8 ms late.
        assert!(seen.latencies.len() <= 2, "{seen:?}");
        assert_eq!(seen.latencies.len() + seen.unasked, 4);
        assert!(seen.latencies[0] >= Duration::from_millis(5));
        if let Some(second) = seen.latencies.get(1) {
            assert!(*second >= Duration::from_millis(9));
        }
        assert!(seen.woke_late.is_empty(), "it never had to wait");
    }
}
