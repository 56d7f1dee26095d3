//! What the program is told on its command line.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Parser, Subcommand};
use url::Url;
use windlass_datafusion::amount;
use windlass_server::{NamedTable, TablesError};

/// One process for everybody's queries: PostgreSQL's protocol over DataFusion on windlass.
///
/// Without a password it listens on this machine alone. Any other address needs --users and
/// --tls-cert with --tls-key.
#[derive(Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: ServeArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Computes parts of a server's statements, over the same tables.
    Worker(Box<WorkerArguments>),
    /// Sets a user's password in a file of users, or removes the user.
    Passwd(PasswdArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PasswdArguments {
    /// The file of users; made if it is not there.
    #[arg(long, value_name = "FILE")]
    pub(crate) users: PathBuf,
    /// Removes the user.
    #[arg(long)]
    pub(crate) remove: bool,
    /// The user's name.
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    /// The eight tables of TPC-H at this scale, in memory.
    #[arg(long, value_name = "SCALE")]
    pub(crate) tpch: Option<f64>,
    /// Where clients connect.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5432")]
    pub(crate) listen: String,
    /// Users and their passwords' verifiers, written by `windlass-server passwd`.
    #[arg(long, value_name = "FILE")]
    pub(crate) users: Option<PathBuf>,
    /// Other machines that compute, each a `windlass-server worker`: http://HOST:PORT,…
    #[arg(long, value_name = "URL", value_delimiter = ',', value_parser = worker)]
    pub(crate) workers: Vec<Url>,
    /// A file of other machines that compute, one a line; read again when it changes.
    #[arg(long, value_name = "FILE", conflicts_with = "workers")]
    pub(crate) workers_file: Option<PathBuf>,
    /// Bytes of files for which a thread of a worker is worth asking.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size)]
    pub(crate) worker_bytes: usize,
    /// Longest time of a statement.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) statement_time: Option<Duration>,
    /// Number of statements that run at once.
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) statements: NonZeroUsize,
    /// Number of statements of one user that run or wait.
    #[arg(long, value_name = "N", default_value = "128")]
    pub(crate) user_statements: NonZeroUsize,
    /// Number of connections at once.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) connections: NonZeroUsize,
    /// Where a browser sees what runs; by default nowhere.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) ui: Option<String>,
    /// A name by which browsers reach --ui, beside its address and localhost.
    #[arg(long, value_name = "NAME", requires = "ui")]
    pub(crate) ui_host: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    /// Where the server and other workers connect.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5433")]
    pub(crate) listen: String,
    /// Number of queries at once.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub(crate) queries: NonZeroUsize,
}

/// What a server and a worker have in common.
#[derive(Debug, Args)]
pub(crate) struct MachineArguments {
    /// A folder whose Parquet and CSV files, and folders of such files, are tables.
    #[arg(long, value_name = "DIR")]
    pub(crate) tables: Vec<PathBuf>,
    /// A file or folder as a table, or the https:// or http:// URL of a Parquet or CSV file.
    #[arg(long, value_name = "NAME=PATH|URL", value_parser = TableParser)]
    pub(crate) table: Vec<NamedTable>,
    /// Certificates by which https servers of tables are checked, as PEM; by default those that this
    /// machine trusts.
    #[arg(long, value_name = "FILE")]
    pub(crate) table_ca: Option<PathBuf>,
    /// Its certificate and those above it, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's key, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A file with a secret that the server and its workers share.
    #[arg(long, value_name = "FILE")]
    pub(crate) node_secret: Option<PathBuf>,
    /// Certificates by which those of workers are checked, as PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) node_ca: Option<PathBuf>,
    /// Number of threads that compute; by default one for each core.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Memory of all statements together; by default half of the machine's.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<usize>,
    /// Memory of one statement.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) statement_memory: Option<usize>,
    /// Memory of one user's statements together.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) user_memory: Option<usize>,
    /// A folder of its own for what does not fit into memory; emptied on start.
    #[arg(long, value_name = "DIR")]
    pub(crate) spill: Option<PathBuf>,
    /// Bytes of all files in the spill folder.
    #[arg(long, value_name = "SIZE", default_value = "16GiB", value_parser = size)]
    pub(crate) spill_max: usize,
    /// Time that running statements have after SIGTERM or Ctrl-C.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub(crate) drain: Duration,
    /// Where /health and /metrics are; by default nowhere.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) operator: Option<String>,
    /// Writes log lines as JSON.
    #[arg(long)]
    pub(crate) log_json: bool,
}

/// Its errors show no secret of a URL; those of other parsers show all that was given.
#[derive(Clone, Debug)]
struct TableParser;

impl TypedValueParser for TableParser {
    type Value = NamedTable;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<NamedTable, clap::Error> {
        let wrong = |reason: String| {
            let what = format!("--table {reason}\n");
            clap::Error::raw(ErrorKind::ValueValidation, what).with_cmd(command)
        };
        let text = value.to_str().ok_or_else(|| wrong("is no UTF-8".to_owned()))?;
        text.parse()
            .map_err(|error: TablesError| wrong(error.to_string()))
    }
}

fn worker(text: &str) -> Result<Url, String> {
    if text.parse::<usize>().is_ok() {
        return Err(format!("a number of threads is --threads {text}"));
    }
    Url::parse(text).map_err(|error| format!("{error}; a worker is http://HOST:PORT"))
}

fn size(text: &str) -> Result<usize, String> {
    let size = amount::size(text);
    size.ok_or_else(|| format!("`{text}` is no size: a number with a unit, such as 512MiB or 2GB"))
}

fn time(text: &str) -> Result<Duration, String> {
    let time = amount::time(text);
    time.ok_or_else(|| format!("`{text}` is no time: a number with a unit, such as 250ms, 30s or 2m"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_unit_and_the_container_are_started_with_arguments_that_there_are() {
        let unit = include_str!("../deploy/windlass-server.service").replace("\\\n", " ");
        let start = unit
            .lines()
            .find_map(|line| line.strip_prefix("ExecStart="))
            .unwrap();
        let Arguments { serve, .. } = Arguments::try_parse_from(start.split_whitespace()).unwrap();
        let stops = unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec="));
        assert!(time(stops.unwrap()).unwrap() > serve.machine.drain);

        let container = include_str!("../deploy/Containerfile");
        let list = container
            .lines()
            .find_map(|line| line.strip_prefix("CMD ["))
            .unwrap();
        let words = list
            .trim_end_matches(']')
            .split(", ")
            .map(|word| word.trim_matches('"'));
        Arguments::try_parse_from(["windlass-server"].into_iter().chain(words)).unwrap();
    }

    #[test]
    fn what_is_no_size_or_time_is_told_with_an_example() {
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert!(size("lots").unwrap_err().contains("such as 512MiB"));
        assert_eq!(time("0s"), Ok(Duration::ZERO));
        assert!(time("30").unwrap_err().contains("such as 250ms"));
    }

    #[test]
    fn an_error_about_a_tables_url_shows_no_password() {
        for table in ["t=https://alice:secret@host/t.csv", "T https://alice:secret@host"] {
            let error = Arguments::try_parse_from(["windlass-server", "--table", table]).unwrap_err();
            for text in [
                error.to_string(),
                format!("{error:?}"),
                error.render().ansi().to_string(),
            ] {
                assert!(!text.contains("secret") && text.contains("--table"), "{text}");
            }
        }
        let given = ["windlass-server", "--table", "t=https://host/t.csv?key=concealed"];
        let arguments = Arguments::try_parse_from(given).unwrap();
        assert!(!format!("{arguments:?}").contains("concealed"));
    }

    #[test]
    fn workers_are_addresses_and_threads_are_another_option() {
        let arguments = |text: &str| Arguments::try_parse_from(["windlass-server", "--workers", text]);
        let workers = arguments("http://127.0.0.1:1,http://127.0.0.1:2")
            .unwrap()
            .serve
            .workers;
        assert_eq!(workers.len(), 2);
        assert!(arguments("2").unwrap_err().to_string().contains("--threads 2"));
    }
}
