//! One load on one engine: heavy clients with queries back to back, and a client whose short query
//! is due at a fixed pace.
//!
//! Each client is a thread of its own that blocks on its query, as a server's connection would
//! await it. The loop is open: a query is due when it is due, however long those before it took,
//! and its latency counts from then on. A client that falls behind asks at once; what it has not
//! asked by the end is counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::engine::Engine;

/// Heavy queries run for this long before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) short: &'static str,
    pub(crate) heavies: &'static [&'static str],
    pub(crate) clients: usize,
    pub(crate) pace: Duration,
    pub(crate) lasts: Duration,
}

impl Load {
    /// All queries that are asked.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.short).chain(self.heavies.iter().copied())
    }
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Latencies of the short queries that were asked, in order of size.
    pub(crate) latencies: Vec<Duration>,
    /// Short queries that were due and not asked by the end.
    pub(crate) unasked: usize,
    /// Heavy queries a second, by kind; a query that runs at a boundary counts by its part.
    pub(crate) heavy_rates: Vec<f64>,
    /// CPU time over wall time.
    pub(crate) cpus: f64,
}

/// When heavy queries are measured.
#[derive(Clone, Copy)]
struct Span {
    start: Instant,
    end: Instant,
}

pub(crate) fn run(engine: &Engine, load: &Load, runtime: &Handle) -> anyhow::Result<Measured> {
    let start = Instant::now() + WARM_UP;
    let span = Span {
        start,
        end: start + load.lasts,
    };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let heavy = |client| move |over: &AtomicBool| heavy_client(engine, load, runtime, client, span, over);
        let heavies: Vec<_> = (0..load.clients)
            .map(|client| {
                let (heavy, over) = (heavy(client), &over);
                scope.spawn(move || heavy(over))
            })
            .collect();
        sleep_until(start);
        let cpu = cpu_time::ProcessTime::now();
        let paced = paced_client(engine, load, runtime, span);
        sleep_until(span.end);
        let cpus = cpu.elapsed().as_secs_f64() / start.elapsed().as_secs_f64();
        // Ordering: Relaxed. It asks only to stop.
        over.store(true, Ordering::Relaxed);
        let mut heavy_rates = vec![0.0; load.heavies.len()];
        for client in heavies {
            let done = client
                .join()
                .map_err(|_| anyhow::anyhow!("a heavy client panicked"))??;
            for (rate, done) in heavy_rates.iter_mut().zip(done) {
                *rate += done / load.lasts.as_secs_f64();
            }
        }
        let (mut latencies, unasked) = paced?;
        latencies.sort_unstable();
        Ok(Measured {
            latencies,
            unasked,
            heavy_rates,
            cpus,
        })
    })
}

/// Asks the short query at its pace. Gives latencies, and how many were due and not asked.
fn paced_client(
    engine: &Engine,
    load: &Load,
    runtime: &Handle,
    span: Span,
) -> anyhow::Result<(Vec<Duration>, usize)> {
    let mut latencies = Vec::new();
    let mut due = span.start;
    while due < span.end && Instant::now() < span.end {
        sleep_until(due);
        runtime.block_on(engine.query(load.short))?;
        latencies.push(due.elapsed());
        due += load.pace;
    }
    let left = span.end.saturating_duration_since(due).as_secs_f64();
    Ok((latencies, (left / load.pace.as_secs_f64()) as usize))
}

/// Asks heavy queries until it is over. Gives how many of each kind were done within the span.
fn heavy_client(
    engine: &Engine,
    load: &Load,
    runtime: &Handle,
    client: usize,
    span: Span,
    over: &AtomicBool,
) -> anyhow::Result<Vec<f64>> {
    let mut done = vec![0.0; load.heavies.len()];
    // A client asks one kind of query, so that the shares of the kinds can be told.
    let kind = client % load.heavies.len();
    // Ordering: Relaxed. As above.
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        runtime.block_on(engine.query(load.heavies[kind]))?;
        let ended = Instant::now();
        let inside = ended
            .min(span.end)
            .saturating_duration_since(began.max(span.start));
        done[kind] += inside.as_secs_f64() / (ended - began).as_secs_f64();
    }
    Ok(done)
}

fn sleep_until(at: Instant) {
    thread::sleep(at.saturating_duration_since(Instant::now()));
}
