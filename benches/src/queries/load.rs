//! One load on our engine: clients with heavy queries back to back, and one whose short query is due at a fixed pace.
//!
//! ```text
//!           heavy clients alone │  the short query beside them  │ heavy clients alone
//!   ├ warm-up ┼──── S/2 ────────┼────────────── S ──────────────┼──── S/2 ──────┤
//! ```
//!
//! The loop is open: a query is due when it is due, however long the one before it took, and its latency counts from then on. If the
//! client itself woke late, that counts as well; how late is told apart, for it is the operating system's part. A client that
//! falls behind for as long as the load lasts gives up, and what it did not ask is told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::figures::Measured;
use super::windlass::{Phases, Windlass};

/// Heavy queries run for so long before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// How a load is laid on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Clients with heavy queries.
    pub(crate) clients: usize,
    /// Time between two short queries.
    pub(crate) pace: Duration,
    /// How long short queries become due.
    pub(crate) lasts: Duration,
}

/// What the client of the short query saw.
#[derive(Debug, Default)]
struct Paced {
    latencies: Vec<Duration>,
    woke_late: Vec<Duration>,
    phases: Vec<Phases>,
    unasked: usize,
}

/// A span of time.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: Instant,
    end: Instant,
}

/// Runs the load; also tells where the short query's time went, query by query.
///
/// # Errors
///
/// When a query fails, or gives a wrong answer.
pub(crate) fn run(windlass: &Windlass, load: Load) -> anyhow::Result<(Measured, Vec<Phases>)> {
    let over = AtomicBool::new(false);
    let (spans, paced, queries) = thread::scope(|scope| {
        let client = || -> anyhow::Result<Vec<Span>> {
            let mut queries = Vec::new();
            // Ordering: Relaxed. It asks only whether to stop.
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                let end = windlass.heavy()?;
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
        let paced = scope.spawn(move || paced(load, || windlass.short())).join();
        let beside = Span {
            start,
            end: Instant::now(),
        };
        let after = alone();
        // Ordering: Relaxed. Nothing is read because of it.
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
        clients: load.clients,
        latencies_ms: paced.latencies.into_iter().map(milliseconds).collect(),
        woke_late_ms: paced.woke_late.into_iter().map(milliseconds).collect(),
        unasked: paced.unasked,
        heavy_alone_per_s: (load.clients > 0).then(|| (done(&heavy, before) + done(&heavy, after)) / alone_s),
        heavy_beside_per_s: (load.clients > 0).then(|| done(&heavy, beside) / beside.seconds()),
    };
    Ok((measured, paced.phases))
}

/// Asks `query` at a pace; it gives the moment when its answer was there.
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

/// How many of `queries` were done in `span`; one that reaches over an end counts for the part that is inside.
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
        // Each takes 5 ms and 1 ms later the next is due: 5, then at least 9, and the third would begin 8 ms late.
        assert!(seen.latencies.len() <= 2, "{seen:?}");
        assert_eq!(seen.latencies.len() + seen.unasked, 4);
        assert!(seen.latencies[0] >= Duration::from_millis(5));
        if let Some(second) = seen.latencies.get(1) {
            assert!(*second >= Duration::from_millis(9));
        }
        assert!(seen.woke_late.is_empty(), "it never had to wait");
    }
}
