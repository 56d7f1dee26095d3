//! Short queries beside heavy ones, in DataFusion as it is and in DataFusion on windlass: one row of figures a run.
//!
//! `cargo xtask bench --datafusion --engine windlass --heavy q1 --clients 8`. Engines: `plain`, `batches-1024`,
//! `second-runtime`, `windlass`. Heavy queries: `q1`, `q3`, `q9`, `q18`, `q21`, `join`, `groups`, `mix`, `builds`.
//! Further options: `--seconds`, `--pace-ms`, `--scale`, `--short-join`, `--parquet FOLDER`, `--main N`, `--spares N`.

mod engine;
mod load;
mod queries;
mod tables;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use lexopt::ValueExt as _;

use engine::{Engine, Kind};
use load::{Load, Measured};
use tables::Tables;

struct Options {
    engine: Kind,
    heavy: String,
    clients: usize,
    seconds: f64,
    pace_ms: u64,
    scale: f64,
    short_join: bool,
    parquet: Option<PathBuf>,
    main: Option<usize>,
    spares: usize,
}

fn main() -> anyhow::Result<()> {
    let options = Options::read()?;
    let load = Load {
        short: if options.short_join {
            queries::SHORT_JOIN
        } else {
            queries::SHORT
        },
        heavies: queries::heavy(&options.heavy).context("no such heavy query")?,
        clients: options.clients,
        pace: Duration::from_millis(options.pace_ms),
        lasts: Duration::from_secs_f64(options.seconds),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(engine::THREADS)
        .enable_all()
        .build()?;
    let tables = match &options.parquet {
        Some(folder) => runtime.block_on(Tables::in_files(folder, options.scale))?,
        None => Tables::in_memory(options.scale)?,
    };
    let engine = runtime.block_on(Engine::new(options.engine, &tables, options.main, options.spares))?;
    let measured = load::run(&engine, &load, runtime.handle())?;
    print(&options, &measured);
    Ok(())
}

fn print(options: &Options, measured: &Measured) {
    let at = |part: f64| {
        let last = measured.latencies.len().saturating_sub(1);
        let place = (part * last as f64).round() as usize;
        measured
            .latencies
            .get(place)
            .map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    };
    println!(
        "{:<15} {:>2} x {:<7} p50 {:>8.2} p95 {:>8.2} p99 {:>8.2} max {:>8.2} ms, {} asked, {} not; {:.2} heavy/s {:.2?}, {:.2} CPUs",
        options.engine.name(),
        options.clients,
        options.heavy,
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0),
        measured.latencies.len(),
        measured.unasked,
        measured.heavy_rates.iter().sum::<f64>(),
        measured.heavy_rates,
        measured.cpus,
    );
}

impl Options {
    fn read() -> anyhow::Result<Self> {
        let mut options = Self {
            engine: Kind::Windlass,
            heavy: "q1".to_owned(),
            clients: 8,
            seconds: 8.0,
            pace_ms: 50,
            scale: 1.0,
            short_join: false,
            parquet: None,
            main: None,
            spares: engine::THREADS,
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                lexopt::Arg::Long("engine") => {
                    let name = parser.value()?.string()?;
                    options.engine = Kind::of_name(&name).context("no such engine")?;
                }
                lexopt::Arg::Long("heavy") => options.heavy = parser.value()?.string()?,
                lexopt::Arg::Long("clients") => options.clients = parser.value()?.parse()?,
                lexopt::Arg::Long("seconds") => options.seconds = parser.value()?.parse()?,
                lexopt::Arg::Long("pace-ms") => options.pace_ms = parser.value()?.parse()?,
                lexopt::Arg::Long("scale") => options.scale = parser.value()?.parse()?,
                lexopt::Arg::Long("short-join") => options.short_join = true,
                lexopt::Arg::Long("parquet") => options.parquet = Some(parser.value()?.into()),
                lexopt::Arg::Long("main") => options.main = Some(parser.value()?.parse()?),
                lexopt::Arg::Long("spares") => options.spares = parser.value()?.parse()?,
                // Cargo says it to every program that it runs as a bench.
                lexopt::Arg::Long("bench") => {}
                other => bail!("{}", other.unexpected()),
            }
        }
        Ok(options)
    }
}
