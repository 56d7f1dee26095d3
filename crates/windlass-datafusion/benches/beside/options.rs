//! Options of the command line.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use lexopt::ValueExt as _;

use crate::engine::{self, Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Beside,
    Each,
    Shorts,
    Cancel,
    Timeline,
    Objects,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    /// `--engine`, repeated: `plain`, `batches-1024`, `second-runtime`, `windlass`, `session`.
    pub(crate) engines: Vec<Kind>,
    /// `--heavy`: `q1` to `q22`, `join`, `groups`, `mix`, `builds`.
    pub(crate) heavy: String,
    /// `--clients`: with heavy queries, or of `shorts`.
    pub(crate) clients: usize,
    pub(crate) seconds: f64,
    /// `--pace-ms` from one short query to the next.
    pub(crate) pace_ms: u64,
    pub(crate) scale: f64,
    pub(crate) short_join: bool,
    /// `--parquet FOLDER`: the tables are files there; for `objects` only the object is.
    pub(crate) parquet: Option<PathBuf>,
    pub(crate) main: Option<usize>,
    pub(crate) spares: usize,
    /// `--threads` of the clients' runtime, on which plain DataFusion computes.
    pub(crate) threads: usize,
    pub(crate) rounds: usize,
    pub(crate) out: Option<PathBuf>,
}

impl Options {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut options = Self {
            mode: Mode::Beside,
            engines: Vec::new(),
            heavy: "q1".to_owned(),
            clients: 8,
            seconds: 8.0,
            pace_ms: 50,
            scale: 1.0,
            short_join: false,
            parquet: None,
            main: None,
            spares: engine::THREADS,
            threads: engine::THREADS,
            rounds: 1,
            out: None,
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                lexopt::Arg::Value(mode) => {
                    options.mode = match &*mode.string()? {
                        "beside" => Mode::Beside,
                        "each" => Mode::Each,
                        "shorts" => Mode::Shorts,
                        "cancel" => Mode::Cancel,
                        "timeline" => Mode::Timeline,
                        "objects" => Mode::Objects,
                        other => bail!("there is no mode `{other}`"),
                    };
                }
                lexopt::Arg::Long("engine") => {
                    let name = parser.value()?.string()?;
                    options
                        .engines
                        .push(Kind::of_name(&name).context("no such engine")?);
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
                lexopt::Arg::Long("threads") => options.threads = parser.value()?.parse()?,
                lexopt::Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                lexopt::Arg::Long("out") => options.out = Some(parser.value()?.into()),
                lexopt::Arg::Long("bench") => {}
                other => bail!("{}", other.unexpected()),
            }
        }
        if options.engines.is_empty() {
            options.engines = vec![Kind::Plain, Kind::Windlass];
        }
        Ok(options)
    }
}
