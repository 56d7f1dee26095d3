//! The command line: the modes and options of this bench.

use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use paced_load::{Settings, seconds};

use crate::engine::{Kind, Tables};
use crate::queries;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// A short query at a fixed pace beside heavy ones and idle connections: a row for each engine
    Beside,
    /// A mixed load with cancels, timeouts and clients that die: what is left at its end
    Soak,
    /// Several machines of which one dies again and again: answers and errors
    Failures,
    /// Serves the tables with plain DataFusion; for `beside`, which starts it
    Plain,
    /// Computes parts of queries with plain datafusion-distributed; for `beside` as well
    PlainWorker,
}

/// A query that a person waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Short {
    /// One row by its key
    Point,
    /// A count over 150,000 rows at scale 1
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

/// Short queries beside heavy ones, over PostgreSQL's protocol
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench wire")]
pub(crate) struct Options {
    #[arg(value_enum, default_value_t = Mode::Beside)]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) load: Settings,
    /// Engine, repeated; all by default
    #[arg(long = "engine", value_enum)]
    pub(crate) engines: Vec<Kind>,
    /// Where tables are, repeated; both by default. PostgreSQL has its own
    #[arg(long, value_enum)]
    pub(crate) tables: Vec<Tables>,
    #[arg(long, value_enum, default_value_t = Short::Point)]
    pub(crate) short: Short,
    /// Workers besides the server, each a process with as many threads, over Parquet files
    #[arg(long, default_value_t = 0)]
    pub(crate) nodes: usize,
    /// Bytes of files for which a thread of a worker is worth asking; the server's default
    #[arg(long)]
    pub(crate) worker_bytes: Option<String>,
    /// Connections that do nothing
    #[arg(long, default_value_t = 200)]
    pub(crate) idle: usize,
    /// Threads that compute, and number of partitions
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// Keeps Parquet files and PostgreSQL's tables; by default a temporary one
    #[arg(long)]
    pub(crate) folder: Option<PathBuf>,
    /// Folder of PostgreSQL's programs
    #[arg(long, default_value = "/usr/lib/postgresql/15/bin")]
    pub(crate) postgres: PathBuf,
    /// Another build of windlass-server
    #[arg(long, default_value = env!("CARGO_BIN_EXE_windlass-server"), hide_default_value = true)]
    pub(crate) server: PathBuf,
    /// Memory of windlass-server, for `soak`
    #[arg(long, default_value = "1GiB")]
    pub(crate) memory: String,
    /// Seconds from one sample of `soak` to the next
    #[arg(long = "sample-seconds", default_value = "10", value_parser = seconds)]
    pub(crate) sample_every: Duration,
    /// Tables of `plain`
    #[arg(long)]
    pub(crate) parquet: Option<PathBuf>,
    /// Port of `plain` and `plain-worker`
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Port of a worker that `plain` plans over, repeated
    #[arg(long = "worker")]
    pub(crate) workers: Vec<u16>,
}

impl Options {
    /// Reads the command line. Prints usage or what is wrong, and ends the program then.
    pub(crate) fn read() -> Self {
        let command = Self::command()
            .mut_arg("heavy", |arg| arg.default_value("mix"))
            .mut_arg("lasts", |arg| arg.default_value("60"));
        let read = Self::from_arg_matches(&command.get_matches());
        let mut options = read.unwrap_or_else(|error| error.exit());
        if options.engines.is_empty() {
            options.engines = Kind::value_variants().to_vec();
        }
        if options.tables.is_empty() {
            options.tables = Tables::value_variants().to_vec();
        }
        if options.nodes > 0 {
            // Workers read files, and PostgreSQL has none.
            options.tables.retain(|tables| *tables == Tables::Parquet);
            options.engines.retain(|kind| *kind != Kind::Postgres);
        }
        options
    }
}
