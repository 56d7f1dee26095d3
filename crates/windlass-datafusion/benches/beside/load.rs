//! One load on one engine: heavy clients back to back, and a client with a short query at a fixed
//! pace.
//!
//! The loop is open: a query's latency counts from when it is due, however long earlier ones took.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::engine::Engine;

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
    pub(crate) fn queries(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.short).chain(self.heavies.iter().copied())
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Ascending.
    pub(crate) latencies: Vec<Duration>,
    /// Short queries that were due but not asked by the end.
    pub(crate) unasked: usize,
    /// Heavy queries a second, by kind; a query across a boundary counts by its part.
    pub(crate) heavy_rates: Vec<f64>,
    pub(crate) cpus: f64,
}

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
        // Ordering: Relaxed. It only requests a stop.
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

fn heavy_client(
    engine: &Engine,
    load: &Load,
    runtime: &Handle,
    client: usize,
    span: Span,
    over: &AtomicBool,
) -> anyhow::Result<Vec<f64>> {
    let mut done = vec![0.0; load.heavies.len()];
    // So that each kind's share is known.
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
