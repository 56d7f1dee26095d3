//! Short queries beside heavy ones, in plain DataFusion and on windlass: `cargo xtask bench
//! datafusion [MODE]`.
//!
//! `--help` lists its modes and options.

mod alone;
mod cancel;
mod each;
mod engine;
mod heavy;
mod objects;
mod options;
mod queries;
mod recorder;
mod shorts;
mod tables;
mod timeline;

use std::time::Duration;

use anyhow::Context as _;
use arrow::array::RecordBatch;
use clap::Parser as _;
use paced_load::Rounds;
use paced_load::percentile::at;
use tokio::runtime::{Handle, Runtime};

use engine::Engine;
use options::{Mode, Options};
use tables::Tables;

const WARM_UP: Duration = Duration::from_secs(1);

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads)
        .enable_all()
        .build()?;
    let tables = || match &options.parquet {
        Some(folder) if options.mode != Mode::Objects => {
            runtime.block_on(Tables::in_files(folder, options.load.scale))
        }
        _ => Tables::in_memory(options.load.scale),
    };
    if let Some(kind) = options.alone {
        return alone::serve(kind, &options, &tables()?, &runtime);
    }
    match options.mode {
        Mode::Beside => beside(&options, &tables()?, &runtime),
        Mode::Each => each::run(&options, &runtime),
        Mode::Shorts => shorts::run(&options, &tables()?, &runtime),
        Mode::Objects => objects::run(&options, &tables()?, &runtime),
        Mode::Timeline => timeline::run(&options, &tables()?, &runtime),
        Mode::Cancel => cancel::run(&options, &tables()?, &runtime),
    }
}

fn beside(options: &Options, tables: &Tables, runtime: &Runtime) -> anyhow::Result<()> {
    let short = if options.short_join {
        queries::SHORT_JOIN
    } else {
        queries::SHORT
    };
    let heavies = queries::heavy(&options.load.heavy).context("no such heavy query")?;
    let load = options.load.load(short, heavies, WARM_UP);
    let mut of_all = vec![Rounds::default(); options.engines.len()];
    let mut answers: Vec<Option<Vec<String>>> = vec![None; load.heavies.len() + 1];
    for _round in 0..options.load.rounds {
        for (&kind, of_engine) in options.engines.iter().zip(&mut of_all) {
            let engine = runtime.block_on(Engine::new(kind, tables, options.main, options.spares))?;
            for (sql, expected) in load.queries().zip(&mut answers) {
                let found = rows(&runtime.block_on(engine.query(sql))?)?;
                let expected = expected.get_or_insert_with(|| found.clone());
                anyhow::ensure!(*expected == found, "{} answers {sql} otherwise", kind.name());
            }
            let measured = load.run(&Asked {
                engine: &engine,
                runtime: runtime.handle(),
            })?;
            if options.load.rounds > 1 {
                print(options, kind.name(), &measured.clone().into());
            }
            of_engine.add(measured);
        }
    }
    for (kind, of_engine) in options.engines.iter().zip(&of_all) {
        print(options, kind.name(), of_engine);
    }
    Ok(())
}

/// Sorted. Numbers have 9 digits, because sums of doubles depend on the order of partitions.
pub(crate) fn rows(batches: &[RecordBatch]) -> anyhow::Result<Vec<String>> {
    let options = arrow::util::display::FormatOptions::default();
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter();
        let columns = columns
            .map(|column| arrow::util::display::ArrayFormatter::try_new(column, &options))
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let value = |column: &arrow::util::display::ArrayFormatter<'_>| {
                let text = column.value(row).to_string();
                match text.parse::<f64>() {
                    Ok(number) if text.contains(['.', 'e']) => format!("{number:.9e}"),
                    _ => text,
                }
            };
            rows.push(columns.iter().map(value).collect::<Vec<_>>().join("|"));
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

fn print(options: &Options, engine: &str, rounds: &Rounds) {
    let latencies = rounds.latencies();
    println!(
        "{engine:<15} {:>2} x {:<7} p50 {:>8.2} p95 {:>8.2} p99 {:>8.2} ({}) max {:>8.2} ms, {} asked, {} not; {:.2} heavy/s ({}), {:.2} CPUs",
        options.load.clients,
        options.load.heavy,
        at(&latencies, 0.5),
        at(&latencies, 0.95),
        at(&latencies, 0.99),
        rounds.p99s(),
        at(&latencies, 1.0),
        latencies.len(),
        rounds.unasked(),
        rounds.heavy_rate(),
        rounds.heavy_rates(),
        rounds.cpus(),
    );
}

/// An engine in this process, with the runtime on which its clients wait.
struct Asked<'a> {
    engine: &'a Engine,
    runtime: &'a Handle,
}

impl paced_load::Engine for Asked<'_> {
    fn client(&self) -> anyhow::Result<impl FnMut(&'static str) -> anyhow::Result<()>> {
        Ok(|sql| {
            self.runtime.block_on(self.engine.query(sql))?;
            Ok(())
        })
    }

    fn cpu(&self) -> anyhow::Result<Duration> {
        Ok(cpu_time::ProcessTime::now().as_duration())
    }
}
