//! A mixed load for a long time under a memory limit, with cancels, timeouts and clients that die,
//! and what is left at its end.
//!
//! ```text
//!   actors ──► windlass-server --memory … --spill … ◄─ sampler, each 10 s: memory, threads, files,
//!     │                                                 windlass.queries, /metrics
//!     └── count their outcomes ──► the end: nothing left, memory flat, outcomes = metrics
//! ```

mod actors;
mod metrics;
mod verdict;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use paced_load::percentile::at;
use paced_load::sleep_until;

use crate::clients;
use crate::engine::{self, Running};
use crate::options::Options;
use crate::process::Held;
use crate::windlass::{self, Source};

use actors::Outcomes;
use metrics::Metrics;
use verdict::Verdict;

/// Time after the load in which the server gets rid of what is left.
const SETTLES_WITHIN: Duration = Duration::from_secs(60);

/// The server at one moment.
#[derive(Clone, Debug)]
struct Sample {
    after: Duration,
    held: Held,
    /// Statements in `windlass.queries`, the one that asks left out.
    queries: usize,
    metrics: Metrics,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let (folder, _temporary) = engine::folder(options)?;
    let spill = folder.join("spill");
    let operator = engine::free_address()?;
    let address = engine::free_address()?;
    let source = Source::Tpch(options.load.scale);
    let more = [
        "--memory".to_owned(),
        options.memory.clone(),
        "--spill".to_owned(),
        spill.to_string_lossy().into_owned(),
        "--operator".to_owned(),
        operator.to_string(),
    ];
    let process = windlass::start(options, address, &source, &more)?;
    let server = Running::of_windlass(address, process)?;
    let outcomes = Outcomes::default();
    // By which it was seen to answer.
    outcomes.add("ok");
    let sampler = Sampler::new(&server, operator)?;
    let idle = sampler.sample(&outcomes)?;
    println!("{}", Sample::HEADER);
    println!("{}", idle.line());
    let over = AtomicBool::new(false);
    let samples = thread::scope(|scope| {
        let actors = actors::start(scope, &server, &outcomes, &over);
        let samples = sampler.during(options, &outcomes);
        // Ordering: Relaxed. It only requests a stop.
        over.store(true, Ordering::Relaxed);
        for actor in actors {
            actor.join().map_err(|_| anyhow::anyhow!("an actor panicked"))??;
        }
        samples
    })?;
    let last = sampler.settled(&outcomes, &idle)?;
    println!("{}", last.line());
    let mut latencies = outcomes.latencies();
    latencies.sort_unstable();
    println!(
        "\nshort query, {} times: p50 {:.2}, p99 {:.2}, max {:.2} ms\n",
        latencies.len(),
        at(&latencies, 0.5),
        at(&latencies, 0.99),
        at(&latencies, 1.0)
    );
    let mut verdict = Verdict::default();
    verdict.memory(&samples);
    verdict.left(&idle, &last, files_below(&spill)?);
    verdict.outcomes(&outcomes, &last.metrics);
    verdict.print();
    server.stop()?;
    anyhow::ensure!(verdict.is_good(), "the server did not pass");
    Ok(())
}

struct Sampler<'a> {
    server: &'a Running,
    operator: std::net::SocketAddr,
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
    began: Instant,
}

impl<'a> Sampler<'a> {
    fn new(server: &'a Running, operator: std::net::SocketAddr) -> anyhow::Result<Self> {
        let runtime = clients::runtime()?;
        let client = runtime.block_on(clients::connect(server))?;
        Ok(Self {
            server,
            operator,
            runtime,
            client,
            began: Instant::now(),
        })
    }

    fn sample(&self, outcomes: &Outcomes) -> anyhow::Result<Sample> {
        let rows = self
            .runtime
            .block_on(self.client.simple_query("select number from windlass.queries"))?;
        outcomes.add("ok");
        Ok(Sample {
            after: self.began.elapsed(),
            held: self.server.process().held()?,
            queries: clients::rows(&rows).len().saturating_sub(1),
            metrics: Metrics::ask(self.operator)?,
        })
    }

    fn during(&self, options: &Options, outcomes: &Outcomes) -> anyhow::Result<Vec<Sample>> {
        let until = self.began + options.load.lasts;
        let every = options.sample_every;
        let mut samples = Vec::new();
        while Instant::now() < until {
            sleep_until(until.min(Instant::now() + every));
            let sample = self.sample(outcomes)?;
            println!("{}", sample.line());
            samples.push(sample);
        }
        Ok(samples)
    }

    /// The server once it holds no more than when it was `idle`, or after a bound.
    fn settled(&self, outcomes: &Outcomes, idle: &Sample) -> anyhow::Result<Sample> {
        let until = Instant::now() + SETTLES_WITHIN;
        loop {
            let sample = self.sample(outcomes)?;
            let is_settled = sample.queries == 0
                && sample.held.files <= idle.held.files
                && sample.held.threads <= idle.held.threads
                && sample.metrics.is_idle(idle.metrics.connections());
            if is_settled || Instant::now() > until {
                return Ok(sample);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Sample {
    const HEADER: &'static str = "| after, s | resident, MiB | threads | files | windlass.queries | connections | running | waiting | memory, MiB |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

    fn line(&self) -> String {
        format!(
            "| {:.0} | {:.0} | {} | {} | {} | {} | {} | {} | {:.0} |",
            self.after.as_secs_f64(),
            self.held.resident_mib,
            self.held.threads,
            self.held.files,
            self.queries,
            self.metrics.connections(),
            self.metrics.gauge("windlass_statements_running"),
            self.metrics.gauge("windlass_statements_waiting"),
            self.metrics.gauge("windlass_memory_bytes") / f64::from(1 << 20),
        )
    }
}

/// Number of files below the folder, the server's lock left out.
fn files_below(folder: &Path) -> anyhow::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            count += files_below(&entry.path())?;
        } else if entry
            .path()
            .extension()
            .is_none_or(|extension| extension != "lock")
        {
            count += 1;
        }
    }
    Ok(count)
}
