//! Options of the command line.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use lexopt::ValueExt as _;

use crate::engine::{Kind, Tables};
use crate::queries;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Beside,
    Soak,
    Failures,
    Plain,
    PlainWorker,
}

/// A query that a person waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    /// One row by its key.
    Point,
    /// A count over 150,000 rows at scale 1.
    Aggregate,
}

impl Short {
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Point => "select c_name, c_acctbal from customer where c_custkey = 123",
            Self::Aggregate => queries::SHORT,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    /// `--engine`, repeated: `windlass`, `plain`, `postgres`; all by default.
    pub(crate) engines: Vec<Kind>,
    /// `--tables`, repeated: `memory`, `parquet`; both by default. PostgreSQL has its own.
    pub(crate) tables: Vec<Tables>,
    /// `--short`: `point` or `aggregate`.
    pub(crate) short: Short,
    /// `--heavy`, as in the bench `datafusion`.
    pub(crate) heavy: String,
    /// `--clients` with heavy queries.
    pub(crate) clients: usize,
    /// `--nodes`: workers besides the server, each a process with as many threads; for tables in
    /// Parquet files.
    pub(crate) nodes: usize,
    /// `--idle` connections.
    pub(crate) idle: usize,
    pub(crate) seconds: f64,
    /// `--pace-ms` from one short query to the next.
    pub(crate) pace_ms: u64,
    pub(crate) scale: f64,
    pub(crate) rounds: usize,
    /// `--threads` that compute, and number of partitions.
    pub(crate) threads: usize,
    /// `--folder` for Parquet files and PostgreSQL's tables, which are kept; by default a temporary
    /// one.
    pub(crate) folder: Option<PathBuf>,
    /// `--postgres`: the folder of PostgreSQL's programs.
    pub(crate) postgres: PathBuf,
    /// `--server`: another build of windlass-server.
    pub(crate) server: PathBuf,
    /// `--memory` of windlass-server, for `soak`.
    pub(crate) memory: String,
    /// `--sample-seconds` of `soak`.
    pub(crate) sample_seconds: f64,
    /// `--parquet FOLDER`, `--port` and `--worker PORT`, repeated, of `plain`; `plain-worker` has a
    /// port alone.
    pub(crate) parquet: Option<PathBuf>,
    pub(crate) port: u16,
    pub(crate) workers: Vec<u16>,
}

impl Options {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut options = Self {
            mode: Mode::Beside,
            engines: Vec::new(),
            tables: Vec::new(),
            short: Short::Point,
            heavy: "mix".to_owned(),
            clients: 8,
            nodes: 0,
            idle: 200,
            seconds: 60.0,
            pace_ms: 50,
            scale: 1.0,
            rounds: 1,
            threads: 2,
            folder: None,
            postgres: "/usr/lib/postgresql/15/bin".into(),
            server: env!("CARGO_BIN_EXE_windlass-server").into(),
            memory: "1GiB".to_owned(),
            sample_seconds: 10.0,
            parquet: None,
            port: 0,
            workers: Vec::new(),
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                lexopt::Arg::Value(mode) => {
                    options.mode = match &*mode.string()? {
                        "beside" => Mode::Beside,
                        "soak" => Mode::Soak,
                        "failures" => Mode::Failures,
                        "plain" => Mode::Plain,
                        "plain-worker" => Mode::PlainWorker,
                        other => {
                            bail!("there is no mode `{other}`: beside, soak, failures, plain, plain-worker")
                        }
                    };
                }
                lexopt::Arg::Long("engine") => {
                    let name = parser.value()?.string()?;
                    let kind = Kind::of_name(&name);
                    let kind = kind.with_context(|| format!("there is no engine `{name}`"))?;
                    options.engines.push(kind);
                }
                lexopt::Arg::Long("tables") => {
                    options.tables.push(match &*parser.value()?.string()? {
                        "memory" => Tables::Memory,
                        "parquet" => Tables::Parquet,
                        other => bail!("tables are in `memory` or `parquet`, not `{other}`"),
                    });
                }
                lexopt::Arg::Long("short") => {
                    options.short = match &*parser.value()?.string()? {
                        "point" => Short::Point,
                        "aggregate" => Short::Aggregate,
                        other => bail!("the short query is a `point` or an `aggregate`, not `{other}`"),
                    };
                }
                lexopt::Arg::Long("heavy") => options.heavy = parser.value()?.string()?,
                lexopt::Arg::Long("clients") => options.clients = parser.value()?.parse()?,
                lexopt::Arg::Long("nodes") => options.nodes = parser.value()?.parse()?,
                lexopt::Arg::Long("worker") => options.workers.push(parser.value()?.parse()?),
                lexopt::Arg::Long("idle") => options.idle = parser.value()?.parse()?,
                lexopt::Arg::Long("seconds") => options.seconds = parser.value()?.parse()?,
                lexopt::Arg::Long("pace-ms") => options.pace_ms = parser.value()?.parse()?,
                lexopt::Arg::Long("scale") => options.scale = parser.value()?.parse()?,
                lexopt::Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                lexopt::Arg::Long("threads") => options.threads = parser.value()?.parse()?,
                lexopt::Arg::Long("folder") => options.folder = Some(parser.value()?.into()),
                lexopt::Arg::Long("postgres") => options.postgres = parser.value()?.into(),
                lexopt::Arg::Long("server") => options.server = parser.value()?.into(),
                lexopt::Arg::Long("memory") => options.memory = parser.value()?.string()?,
                lexopt::Arg::Long("sample-seconds") => options.sample_seconds = parser.value()?.parse()?,
                lexopt::Arg::Long("parquet") => options.parquet = Some(parser.value()?.into()),
                lexopt::Arg::Long("port") => options.port = parser.value()?.parse()?,
                lexopt::Arg::Long("bench") => {}
                other => bail!("{}", other.unexpected()),
            }
        }
        if options.engines.is_empty() {
            options.engines = vec![Kind::Windlass, Kind::Plain, Kind::Postgres];
        }
        if options.tables.is_empty() {
            options.tables = vec![Tables::Memory, Tables::Parquet];
        }
        if options.nodes > 0 {
            // Workers read files, and PostgreSQL has none.
            options.tables.retain(|tables| *tables == Tables::Parquet);
            options.engines.retain(|kind| *kind != Kind::Postgres);
        }
        Ok(options)
    }
}
