//! Measures the time from a query's drop, beside heavy queries, to the drop of its last task.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use paced_load::percentile::at;
use pools::JobOptions;
use tokio::runtime::Runtime;

use crate::engine::{Engine, Kind};
use crate::heavy::HeavyClients;
use crate::options::Options;
use crate::queries;
use crate::recorder::Recorder;
use crate::tables::Tables;

/// A query has run for these, in turn, when it is dropped.
const AFTER_MS: [u64; 7] = [2, 5, 11, 17, 23, 31, 47];

pub(crate) fn run(options: &Options, tables: &Tables, runtime: &Runtime) -> anyhow::Result<()> {
    let recorder = Recorder::install()?;
    let engine = runtime.block_on(Engine::new(Kind::Windlass, tables, options.main, options.spares))?;
    let dropped = queries::heavy(&options.load.heavy).context("no such heavy query")?[0];
    let heavies = HeavyClients::of(&engine, options, runtime.handle())?;
    thread::sleep(Duration::from_secs(1));
    let end = Instant::now() + options.load.lasts;
    let mut times = Vec::new();
    while Instant::now() < end {
        let after = Duration::from_millis(AFTER_MS[times.len() % AFTER_MS.len()]);
        times.push(drop_one(&engine, &recorder, runtime, dropped, after)?);
    }
    runtime.block_on(heavies.stop())?;
    times.sort_unstable();
    println!(
        "drop to last task dropped, beside {} x {}: p50 {:.2} p99 {:.2} max {:.2} ms, {} dropped",
        options.load.clients,
        options.load.heavy,
        at(&times, 0.5),
        at(&times, 0.99),
        at(&times, 1.0),
        times.len()
    );
    let left = engine.jobs_in_flight();
    anyhow::ensure!(left == 0, "{left} jobs are left");
    Ok(())
}

fn drop_one(
    engine: &Engine,
    recorder: &Recorder,
    runtime: &Runtime,
    sql: &'static str,
    after: Duration,
) -> anyhow::Result<Duration> {
    let job = engine.job(JobOptions::new()).context("no job")?;
    let _inside = runtime.enter();
    let query = job.spawn_root(recorder.query(0, engine.plain_query(sql)));
    thread::sleep(after);
    let dropped = Instant::now();
    drop(query);
    loop {
        let (over, spawned) = job.progress();
        if over == spawned {
            let last = recorder.last_drop().context("no task was dropped")?;
            recorder.forget();
            return Ok(last.saturating_duration_since(dropped));
        }
        thread::sleep(Duration::from_micros(50));
    }
}
