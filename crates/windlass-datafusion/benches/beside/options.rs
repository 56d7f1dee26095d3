//! The command line: the modes and options of this bench.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use paced_load::Settings;

use crate::engine::{self, Kind};
use crate::queries::TPCH;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// A short query at a fixed pace beside clients with heavy ones: a row for each engine
    Beside,
    /// The 22 queries of TPC-H by one client: time and memory beside plain, and the same rows
    Each,
    /// Many clients with short queries only: throughput
    Shorts,
    /// A query over an object that is far away, beside heavy ones
    Objects,
    /// A picture of who polls what, for each engine
    Timeline,
    /// A query is dropped beside heavy ones: how long until its last task is dropped
    Cancel,
}

/// Short queries beside heavy ones, in plain DataFusion and on windlass
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench datafusion")]
pub(crate) struct Options {
    #[arg(value_enum, default_value_t = Mode::Beside)]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) load: Settings,
    /// Engine, repeated
    #[arg(long = "engine", value_enum, default_values_t = [Kind::Plain, Kind::Windlass])]
    pub(crate) engines: Vec<Kind>,
    /// Number of a query for `each`, repeated; all 22 by default
    #[arg(long = "query", value_parser = clap::value_parser!(u8).range(1..=22))]
    pub(crate) queries: Vec<u8>,
    /// Processes of each engine for `each`, one after the other
    #[arg(long, default_value = "3")]
    pub(crate) processes: NonZeroUsize,
    /// The short query is a join of two small tables
    #[arg(long)]
    pub(crate) short_join: bool,
    /// The tables are files in this folder; for `objects` only the object is
    #[arg(long)]
    pub(crate) parquet: Option<PathBuf>,
    /// Main workers of windlass
    #[arg(long)]
    pub(crate) main: Option<usize>,
    /// Spare threads of windlass
    #[arg(long, default_value_t = engine::THREADS)]
    pub(crate) spares: usize,
    /// Threads of the clients' runtime, on which plain DataFusion computes
    #[arg(long, default_value_t = engine::THREADS)]
    pub(crate) threads: usize,
    /// This process is one of `each`, and has this engine
    #[arg(long, value_enum, hide = true)]
    pub(crate) alone: Option<Kind>,
    /// The picture of `timeline`
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

impl Options {
    /// The places among the 22 of the queries that `each` asks.
    pub(crate) fn asked(&self) -> impl Iterator<Item = usize> {
        let is_named = |place: usize| {
            self.queries
                .iter()
                .any(|&number| usize::from(number) == place + 1)
        };
        (0..TPCH.len()).filter(move |&place| self.queries.is_empty() || is_named(place))
    }
}
