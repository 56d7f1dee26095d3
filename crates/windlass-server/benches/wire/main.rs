//! Short queries beside heavy ones, over the wire: windlass-server, plain DataFusion behind the
//! same protocol, and PostgreSQL: `cargo xtask bench wire [MODE]`.
//!
//! ```text
//!   8 connections with heavy queries, back to back   ┐
//!   1 connection with a short query, each 50 ms      ├─► engine ─► a row of the table
//!   200 connections that do nothing                  ┘
//! ```
//!
//! That is the mode `beside`: engines in turn, each in processes of its own, asked for the same
//! answers. `--help` lists all modes and options.

mod answers;
mod clients;
mod engine;
mod failures;
mod idle;
mod options;
mod plain;
mod postgres;
mod process;
#[path = "../../../windlass-datafusion/benches/beside/queries.rs"]
#[expect(dead_code, reason = "the other bench asks more")]
mod queries;
mod report;
mod soak;
#[path = "../../../windlass-datafusion/benches/beside/tables.rs"]
mod tables;
mod windlass;

use std::time::Duration;

use anyhow::Context as _;

use answers::Answers;
use engine::Tables;
use idle::Idle;
use options::{Mode, Options};

/// Each kind of heavy query has run by then.
const WARM_UP: Duration = Duration::from_secs(3);

fn main() -> anyhow::Result<()> {
    let options = Options::read();
    match options.mode {
        Mode::Beside => beside(&options),
        Mode::Soak => soak::run(&options),
        Mode::Failures => failures::run(&options),
        Mode::Plain => plain::serve(&options),
        Mode::PlainWorker => plain::serve_parts(&options),
    }
}

fn beside(options: &Options) -> anyhow::Result<()> {
    let heavies = queries::heavy(&options.load.heavy).context("no such heavy query")?;
    let load = options.load.load(options.short.sql(), heavies, WARM_UP);
    let mut answers = Answers::default();
    let mut table = report::Table::new(&load, options);
    for _round in 0..options.load.rounds {
        for kind in &options.engines {
            for tables in [Tables::Memory, Tables::Parquet] {
                if !options.tables.contains(&tables) || !kind.has(tables) {
                    continue;
                }
                let engine = engine::Running::start(*kind, tables, options)?;
                answers.compare(&engine, load.queries())?;
                let idle = Idle::connect(&engine, options.idle)?;
                let measured = load.run(&engine)?;
                idle.ensure_answered()?;
                table.add(*kind, tables, measured);
                engine.stop()?;
            }
        }
    }
    table.print_all();
    Ok(())
}
