//! Short queries beside heavy ones, in plain DataFusion and on windlass: `cargo xtask bench
//! datafusion [MODE]`.
//!
//! ```text
//!   beside   a short query at a fixed pace beside clients with heavy ones: a row for each engine
//!   each     the 22 queries of TPC-H by one client: time and memory beside plain, and the same rows
//!   shorts   many clients with short queries only: throughput
//!   objects  a query over an object that is far away, beside heavy ones
//!   timeline a picture of who polls what, for each engine
//!   cancel   a query is dropped beside heavy ones: how long until its last task is dropped
//! ```
//!
//! The default is `beside`. [`Options`] lists the settings of a mode.

mod cancel;
mod each;
mod engine;
mod heavy;
mod load;
mod objects;
mod options;
mod percentile;
mod queries;
mod recorder;
mod shorts;
mod tables;
mod timeline;

use std::time::Duration;

use anyhow::Context as _;
use arrow::array::RecordBatch;
use tokio::runtime::Runtime;

use engine::Engine;
use load::{Load, Measured};
use options::{Mode, Options};
use percentile::at;
use tables::Tables;

fn main() -> anyhow::Result<()> {
    let options = Options::read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads)
        .enable_all()
        .build()?;
    let tables = match &options.parquet {
        Some(folder) if options.mode != Mode::Objects => {
            runtime.block_on(Tables::in_files(folder, options.scale))?
        }
        _ => Tables::in_memory(options.scale)?,
    };
    match options.mode {
        Mode::Beside => beside(&options, &tables, &runtime),
        Mode::Each => each::run(&options, &tables, &runtime),
        Mode::Shorts => shorts::run(&options, &tables, &runtime),
        Mode::Objects => objects::run(&options, &tables, &runtime),
        Mode::Timeline => timeline::run(&options, &tables, &runtime),
        Mode::Cancel => cancel::run(&options, &tables, &runtime),
    }
}

fn beside(options: &Options, tables: &Tables, runtime: &Runtime) -> anyhow::Result<()> {
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
    let mut of_all = vec![Vec::new(); options.engines.len()];
    let mut answers: Vec<Option<Vec<String>>> = vec![None; load.heavies.len() + 1];
    for _round in 0..options.rounds {
        for (&kind, of_engine) in options.engines.iter().zip(&mut of_all) {
            let engine = runtime.block_on(Engine::new(kind, tables, options.main, options.spares))?;
            for (sql, expected) in load.queries().zip(&mut answers) {
                let found = rows(&runtime.block_on(engine.query(sql))?)?;
                let expected = expected.get_or_insert_with(|| found.clone());
                anyhow::ensure!(*expected == found, "{} answers {sql} otherwise", kind.name());
            }
            let measured = load::run(&engine, &load, runtime.handle())?;
            if options.rounds > 1 {
                print(options, kind.name(), std::slice::from_ref(&measured));
            }
            of_engine.push(measured);
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

fn print(options: &Options, engine: &str, rounds: &[Measured]) {
    let mut latencies: Vec<_> = rounds
        .iter()
        .flat_map(|round| &round.latencies)
        .copied()
        .collect();
    latencies.sort_unstable();
    let mean = |of: fn(&Measured) -> f64| rounds.iter().map(of).sum::<f64>() / rounds.len() as f64;
    let p99s: Vec<_> = rounds
        .iter()
        .map(|round| format!("{:.1}", at(&round.latencies, 0.99)))
        .collect();
    let kinds = rounds.first().map_or(0, |round| round.heavy_rates.len());
    let by_kind: Vec<_> = (0..kinds)
        .map(|kind| {
            let rates = rounds.iter().map(|round| round.heavy_rates[kind]);
            format!("{:.2}", rates.sum::<f64>() / rounds.len() as f64)
        })
        .collect();
    println!(
        "{engine:<15} {:>2} x {:<7} p50 {:>8.2} p95 {:>8.2} p99 {:>8.2} ({}) max {:>8.2} ms, {} asked, {} not; {:.2} heavy/s ({}), {:.2} CPUs",
        options.clients,
        options.heavy,
        at(&latencies, 0.5),
        at(&latencies, 0.95),
        at(&latencies, 0.99),
        p99s.join(", "),
        at(&latencies, 1.0),
        latencies.len(),
        rounds.iter().map(|round| round.unasked).sum::<usize>(),
        mean(|round| round.heavy_rates.iter().sum::<f64>()),
        by_kind.join(", "),
        mean(|round| round.cpus),
    );
}
