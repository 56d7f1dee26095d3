//! One load on one engine: heavy clients back to back, a short query at a fixed pace, and
//! connections that do nothing.
//!
//! The loop is open: a query's latency counts from when it is due, however long earlier ones took.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::clients::{self, sleep_until};
use crate::engine::Running;

/// Time of the load before it is measured: each kind of heavy query has run by then.
const WARM_UP: Duration = Duration::from_secs(3);

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) short: &'static str,
    pub(crate) heavies: &'static [&'static str],
    pub(crate) clients: usize,
    pub(crate) idle: usize,
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
    /// Of the short query.
    pub(crate) latencies: Vec<Duration>,
    /// How late its client woke, which is part of each latency.
    pub(crate) wakes: Vec<Duration>,
    /// Short queries that were due but not asked by the end.
    pub(crate) unasked: usize,
    /// Heavy queries a second, by kind; a query across a boundary counts by its part.
    pub(crate) heavy_rates: Vec<f64>,
    /// CPU time of the engine over elapsed time.
    pub(crate) cpus: f64,
}

#[derive(Clone, Copy)]
struct Span {
    start: Instant,
    end: Instant,
}

pub(crate) fn run(engine: &Running, load: &Load) -> anyhow::Result<Measured> {
    let idle = clients::runtime()?;
    let connected: Vec<_> = (0..load.idle)
        .map(|_| {
            idle.block_on(async {
                let client = clients::connect(engine).await?;
                client.simple_query("select 1").await?;
                anyhow::Ok(client)
            })
        })
        .collect::<Result<_, _>>()?;
    let start = Instant::now() + WARM_UP;
    let span = Span {
        start,
        end: start + load.lasts,
    };
    let over = AtomicBool::new(false);
    let measured = thread::scope(|scope| {
        let heavies: Vec<_> = (0..load.clients)
            .map(|client| {
                let over = &over;
                scope.spawn(move || heavy_client(engine, load, client, span, over))
            })
            .collect();
        let paced = scope.spawn(|| paced_client(engine, load, span));
        sleep_until(start);
        let cpu_before = engine.cpu();
        sleep_until(span.end);
        let cpu_after = engine.cpu();
        let took = start.elapsed();
        let paced = paced
            .join()
            .map_err(|_| anyhow::anyhow!("the paced client panicked"));
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
        let cpus = cpu_after?.saturating_sub(cpu_before?).as_secs_f64() / took.as_secs_f64();
        anyhow::Ok(Measured {
            heavy_rates,
            cpus,
            ..paced??
        })
    })?;
    for client in connected {
        anyhow::ensure!(!client.is_closed(), "an idle connection was closed");
    }
    Ok(measured)
}

fn paced_client(engine: &Running, load: &Load, span: Span) -> anyhow::Result<Measured> {
    let runtime = clients::runtime()?;
    let client = runtime.block_on(clients::connect(engine))?;
    let mut measured = Measured::default();
    let mut due = span.start;
    while due < span.end && Instant::now() < span.end {
        let is_early = Instant::now() < due;
        sleep_until(due);
        if is_early {
            measured.wakes.push(due.elapsed());
        }
        runtime.block_on(client.simple_query(load.short))?;
        measured.latencies.push(due.elapsed());
        due += load.pace;
    }
    let left = span.end.saturating_duration_since(due).as_secs_f64();
    measured.unasked = (left / load.pace.as_secs_f64()) as usize;
    Ok(measured)
}

/// Asks one kind of heavy query, so that each kind's share is known.
fn heavy_client(
    engine: &Running,
    load: &Load,
    client: usize,
    span: Span,
    over: &AtomicBool,
) -> anyhow::Result<Vec<f64>> {
    let runtime = clients::runtime()?;
    let connected = runtime.block_on(clients::connect(engine))?;
    let mut done = vec![0.0; load.heavies.len()];
    let kind = client % load.heavies.len();
    // Ordering: Relaxed. As above.
    while !over.load(Ordering::Relaxed) && Instant::now() < span.end {
        let began = Instant::now();
        runtime.block_on(connected.simple_query(load.heavies[kind]))?;
        let ended = Instant::now();
        let inside = ended
            .min(span.end)
            .saturating_duration_since(began.max(span.start));
        done[kind] += inside.as_secs_f64() / (ended - began).as_secs_f64();
    }
    Ok(done)
}
