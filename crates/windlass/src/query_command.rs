//! `windlass query`: open the tables, plan, run, write.

use std::io::{ErrorKind, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use program_allocator::keep_freed_memory;
use query::output::{OutputFormat, render};
use query::pipeline_exec::PipelineExecutor;
use query::source::ScaleFactor;
use query::{AggregateFunction, CancellationToken, Progress, QueryError, Session, Work};

use crate::amount;
use crate::message::say;
use crate::terminal::{Cancelled, EXIT_CANCELLED, Terminal, Watched};

/// Answer a SQL query over one table
#[derive(Debug, Args)]
#[command(long_about = long_about(), after_help = "Examples:
  windlass query --tpch 0.1 \"select l_returnflag, sum(l_quantity) from lineitem group by l_returnflag\"
  windlass query --table trips=http://127.0.0.1:8080/trips.parquet \"select count(*) from trips\"
  windlass query --table trips=trips.csv --format csv \"select count(*) from trips where distance > 10\"
  windlass query --table trips=trips.parquet --memory 256MiB --timeout 30s \"select city, count(*) from trips group by city\"

Exit codes: 0 the result was written, 1 an error, 2 the arguments make no sense, 130 cancelled by Ctrl-C.")]
pub(crate) struct QueryArguments {
    /// A table: a Parquet file, a folder of Parquet files or a CSV file, by its path or by its URL
    /// (file://, http://)
    #[arg(long = "table", value_name = "NAME=PATH", value_parser = table_argument)]
    tables: Vec<TableArgument>,

    /// Generate the TPC-H tables lineitem, orders and customer at this scale factor (1 is about 6
    /// million line items)
    #[arg(long, value_name = "SF", allow_negative_numbers = true)]
    tpch: Option<ScaleFactor>,

    /// How many threads work [default: one per core]
    #[arg(long, value_name = "N", value_parser = amount::threads, allow_negative_numbers = true)]
    threads: Option<NonZeroUsize>,

    /// The most memory that the query may take, for example 256MiB; over it the query fails
    /// [default: no bound]
    ///
    /// Counted is what grows with rows: bytes that are read ahead and decoded, groups, rows that
    /// are kept and sorted. Tables of --tpch and the result are not counted.
    #[arg(long, value_name = "SIZE", value_parser = amount::size, allow_negative_numbers = true)]
    memory: Option<usize>,

    /// How long all of it may take, for example 30s; after that it fails [default: no bound]
    #[arg(long, value_name = "TIME", value_parser = amount::time, allow_negative_numbers = true)]
    timeout: Option<Duration>,

    /// Show the steps on stderr, with estimated and measured selectivity
    #[arg(long)]
    explain: bool,

    /// Show on stderr what each worker did
    #[arg(long)]
    stats: bool,

    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: FormatArgument,

    /// The query
    sql: String,
}

fn long_about() -> String {
    let call = |name| match AggregateFunction::by_name(name, true) {
        Some(_) => format!("{name}([distinct] x)"),
        None => format!("{name}(x)"),
    };
    let calls: Vec<String> = AggregateFunction::names().map(call).collect();
    format!(
        "Answer a SQL query over one table\n\n\
         The subset of SQL: columns and arithmetic; the aggregates {}; WHERE with AND, OR, NOT, \
         comparisons, BETWEEN, IN, LIKE, IS NULL; GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET.",
        calls.join(", ")
    )
}

#[derive(Debug, Clone)]
struct TableArgument {
    name: String,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum FormatArgument {
    /// Aligned columns
    #[default]
    Table,
    /// RFC 4180 with a header; NULL is an empty field
    Csv,
    /// One array, an object per row
    Json,
}

impl From<FormatArgument> for OutputFormat {
    fn from(format: FormatArgument) -> Self {
        match format {
            FormatArgument::Table => Self::Table,
            FormatArgument::Csv => Self::Csv,
            FormatArgument::Json => Self::Json,
        }
    }
}

/// Runs the command and says on stderr what went wrong.
pub(crate) fn run(arguments: &QueryArguments) -> ExitCode {
    let began = Instant::now();
    keep_freed_memory();
    let failed = |error: &dyn std::fmt::Display, code: u8| {
        say(format_args!("error: {error}"));
        ExitCode::from(code)
    };
    let threads = arguments
        .threads
        .or_else(|| available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let executor = match PipelineExecutor::new(threads.get()) {
        Ok(executor) => executor,
        Err(error) => return failed(&error, 1),
    };
    let token = CancellationToken::new();
    let mut work = Work::from(executor).cancelled_by(token.clone());
    if let Some(deadline) = arguments.timeout.and_then(|timeout| began.checked_add(timeout)) {
        work = work.deadline(deadline);
    }
    let terminal = match Terminal::new(move || token.cancel()) {
        Ok(terminal) => terminal,
        Err(error) => return failed(&error, 1),
    };
    match answer(arguments, Session::new(work), &terminal) {
        Ok(text) => match write(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&format_args!("cannot write the result: {error}"), 1),
        },
        Err(error @ QueryError::Cancelled) => failed(&error, EXIT_CANCELLED),
        Err(error) => {
            let code = failed(&error, 1);
            if let Some(marked) = error.position().and_then(|place| place.mark(&arguments.sql)) {
                for line in marked.lines() {
                    say(format_args!("  | {line}"));
                }
            }
            if arguments.tables.is_empty() && arguments.tpch.is_none() {
                say("hint: name a table with --table NAME=PATH, or generate some with --tpch SF");
            }
            if matches!(error, QueryError::Quota(_)) {
                say("hint: allow it more with --memory SIZE, or have fewer threads work with --threads N");
            }
            code
        }
    }
}

impl Watched for Progress {
    fn message(&self) -> String {
        self.activity()
    }

    fn parts(&self) -> (u64, u64) {
        let (finished, total) = self.slots();
        (finished as u64, total as u64)
    }
}

impl From<Cancelled> for QueryError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// `--explain` and `--stats` write to stderr before it returns.
fn answer(
    arguments: &QueryArguments,
    mut session: Session,
    terminal: &Terminal,
) -> Result<Vec<u8>, QueryError> {
    if let Some(scale) = arguments.tpch {
        session.generate(scale)?;
    }
    for TableArgument { name, path } in &arguments.tables {
        let progress = session.progress();
        terminal.watch(&progress, || session.open(name, path))?;
    }
    let mut query = session.sql(&arguments.sql)?;
    if let Some(bytes) = arguments.memory {
        query = query.memory_limit(bytes);
    }
    let explain = query.explain();
    let outcome = terminal.watch(&query.progress(), || query.run());
    if arguments.explain {
        say(explain.to_string().trim_end());
    }
    let report = outcome?;
    if arguments.stats {
        say(report.to_string().trim_end());
    }
    render(&report.rows, arguments.format.into())
}

/// A reader that closes stdout early (`| head`) is no error.
fn write(text: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

fn table_argument(text: &str) -> Result<TableArgument, String> {
    match text.split_once('=') {
        Some((name, path)) if !name.trim().is_empty() && !path.is_empty() => Ok(TableArgument {
            name: name.trim().to_owned(),
            path: PathBuf::from(path),
        }),
        _ => Err("a table is given as NAME=PATH, for example trips=data/trips.parquet".to_owned()),
    }
}
