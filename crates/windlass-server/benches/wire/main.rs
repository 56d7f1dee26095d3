//! Short queries beside heavy ones, over the wire: windlass-server, plain DataFusion behind the same
//! protocol, and PostgreSQL: `cargo xtask bench wire [MODE]`.
//!
//! ```text
//!   beside  engines in turn, each in processes of its own, asked for the same answers:
//!             8 connections with heavy queries, back to back   ┐
//!             1 connection with a short query, each 50 ms      ├─► engine ─► a row of the table
//!             200 connections that do nothing                  ┘
//!   soak    a mixed load with cancels, timeouts and clients that die: what is left at its end
//!   failures  several machines of which one dies again and again: answers and errors
//!   plain, plain-worker   serve the tables with plain DataFusion; for `beside`, which starts them
//! ```
//!
//! The default is `beside`. [`Options`] lists the settings of a mode.

mod answers;
mod clients;
mod engine;
mod failures;
mod load;
mod options;
#[path = "../../../windlass-datafusion/benches/beside/percentile.rs"]
mod percentile;
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
use load::Load;
use options::{Mode, Options};

fn main() -> anyhow::Result<()> {
    let options = Options::read()?;
    match options.mode {
        Mode::Beside => beside(&options),
        Mode::Soak => soak::run(&options),
        Mode::Failures => failures::run(&options),
        Mode::Plain => plain::serve(&options),
        Mode::PlainWorker => plain::serve_parts(&options),
    }
}

fn beside(options: &Options) -> anyhow::Result<()> {
    let load = Load {
        short: options.short.sql(),
        heavies: queries::heavy(&options.heavy).context("no such heavy query")?,
        clients: options.clients,
        idle: options.idle,
        pace: Duration::from_millis(options.pace_ms),
        lasts: Duration::from_secs_f64(options.seconds),
    };
    let mut answers = Answers::default();
    let mut table = report::Table::new(&load, options.nodes);
    for _round in 0..options.rounds {
        for kind in &options.engines {
            for tables in [Tables::Memory, Tables::Parquet] {
                if !options.tables.contains(&tables) || !kind.has(tables) {
                    continue;
                }
                let engine = engine::Running::start(*kind, tables, options)?;
                answers.compare(&engine, load.queries())?;
                let measured = load::run(&engine, &load)?;
                table.add(*kind, tables, &measured);
                engine.stop()?;
            }
        }
    }
    table.print_all();
    Ok(())
}
