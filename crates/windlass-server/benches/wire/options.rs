//! The command line: the modes and options of this bench.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use lexopt::ValueExt as _;
use paced_load::{Setting, Settings, parse_to};

use crate::engine::{Kind, Tables};
use crate::queries;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Beside,
    Soak,
    Plain,
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
    pub(crate) load: Settings,
    pub(crate) engines: Vec<Kind>,
    pub(crate) tables: Vec<Tables>,
    pub(crate) short: Short,
    pub(crate) idle: usize,
    pub(crate) threads: usize,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) postgres: PathBuf,
    pub(crate) server: PathBuf,
    pub(crate) memory: String,
    pub(crate) sample_every: Duration,
    pub(crate) parquet: Option<PathBuf>,
    pub(crate) port: u16,
}

impl Options {
    /// Returns `None` if only the usage was asked for.
    pub(crate) fn read() -> anyhow::Result<Option<Self>> {
        let defaults = Self {
            mode: Mode::Beside,
            load: Settings {
                heavy: "mix".to_owned(),
                lasts: Duration::from_secs(60),
                ..Settings::default()
            },
            engines: Vec::new(),
            tables: Vec::new(),
            short: Short::Point,
            idle: 200,
            threads: 2,
            folder: None,
            postgres: "/usr/lib/postgresql/15/bin".into(),
            server: env!("CARGO_BIN_EXE_windlass-server").into(),
            memory: "1GiB".to_owned(),
            sample_every: Duration::from_secs(10),
            parquet: None,
            port: 0,
        };
        let Some(mut options) = paced_load::read(defaults, std::env::args_os().skip(1))? else {
            return Ok(None);
        };
        if options.engines.is_empty() {
            options.engines = vec![Kind::Windlass, Kind::Plain, Kind::Postgres];
        }
        if options.tables.is_empty() {
            options.tables = vec![Tables::Memory, Tables::Parquet];
        }
        Ok(Some(options))
    }
}

impl paced_load::Options for Options {
    type Mode = Mode;

    const ABOUT: &'static str = "Short queries beside heavy ones, over PostgreSQL's protocol: \
         cargo xtask bench wire [MODE] [OPTIONS]";

    const MODES: &'static [(&'static str, Mode, &'static str)] = &[
        (
            "beside",
            Mode::Beside,
            "a short query at a fixed pace beside heavy ones and idle connections: a row for each engine",
        ),
        (
            "soak",
            Mode::Soak,
            "a mixed load with cancels, timeouts and clients that die: what is left at its end",
        ),
        (
            "plain",
            Mode::Plain,
            "serves the tables with plain DataFusion; `beside` starts it",
        ),
    ];

    const OWN: &'static [Setting<Self>] = &[
        Setting::new(
            "engine",
            "NAME",
            "windlass, plain, postgres; repeated; all by default",
            |options, value| {
                let name = value.string()?;
                let kind = Kind::of_name(&name);
                options
                    .engines
                    .push(kind.with_context(|| format!("there is no engine `{name}`"))?);
                Ok(())
            },
        ),
        Setting::new(
            "tables",
            "PLACE",
            "memory, parquet; repeated; both by default; PostgreSQL has its own",
            |options, value| {
                options.tables.push(match &*value.string()? {
                    "memory" => Tables::Memory,
                    "parquet" => Tables::Parquet,
                    other => bail!("tables are in `memory` or `parquet`, not `{other}`"),
                });
                Ok(())
            },
        ),
        Setting::new(
            "short",
            "NAME",
            "the short query: point, aggregate",
            |options, value| {
                options.short = match &*value.string()? {
                    "point" => Short::Point,
                    "aggregate" => Short::Aggregate,
                    other => bail!("the short query is a `point` or an `aggregate`, not `{other}`"),
                };
                Ok(())
            },
        ),
        Setting::new("idle", "N", "connections that do nothing", |options, value| {
            parse_to(&mut options.idle, value)
        }),
        Setting::new(
            "threads",
            "N",
            "threads that compute, and number of partitions",
            |options, value| parse_to(&mut options.threads, value),
        ),
        Setting::new(
            "folder",
            "FOLDER",
            "keeps Parquet files and PostgreSQL's tables; by default a temporary one",
            |options, value| {
                options.folder = Some(value.into());
                Ok(())
            },
        ),
        Setting::new("postgres", "FOLDER", "PostgreSQL's programs", |options, value| {
            options.postgres = value.into();
            Ok(())
        }),
        Setting::new(
            "server",
            "FILE",
            "another build of windlass-server",
            |options, value| {
                options.server = value.into();
                Ok(())
            },
        ),
        Setting::new(
            "memory",
            "SIZE",
            "of windlass-server, for `soak`",
            |options, value| parse_to(&mut options.memory, value),
        ),
        Setting::new(
            "sample-seconds",
            "S",
            "from one sample of `soak` to the next",
            |options, value| {
                options.sample_every = Duration::try_from_secs_f64(value.parse()?)?;
                Ok(())
            },
        ),
        Setting::new("parquet", "FOLDER", "the tables of `plain`", |options, value| {
            options.parquet = Some(value.into());
            Ok(())
        }),
        Setting::new("port", "PORT", "of `plain`", |options, value| {
            parse_to(&mut options.port, value)
        }),
    ];

    fn mode(&mut self) -> &mut Mode {
        &mut self.mode
    }

    fn load(&mut self) -> &mut Settings {
        &mut self.load
    }
}
