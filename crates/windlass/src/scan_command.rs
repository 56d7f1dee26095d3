//! `windlass scan`: what is asked for, a scan, and what comes out.

mod arguments;
mod sink;
mod task;

use std::fmt;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use scan::ignore::overrides::OverrideBuilder;
use scan::ignore::types::TypesBuilder;
use scan::pattern::PatternError;
use scan::print::{Format, Printer};
use scan::report::Summary;
use scan::{CancelToken, ParallelScanConfig, Progress, ScanError, parallel_scan_paths};

pub(crate) use self::arguments::ScanArguments;
use self::arguments::SortArgument;
use self::sink::StdoutSink;
use self::task::{Task, TaskError, stdin_is_readable};
use crate::message::say;
use crate::terminal::{Cancelled, EXIT_CANCELLED, Terminal, Watched};

/// Nothing was found.
const EXIT_NONE: u8 = 1;

/// The arguments make no sense, or something could not be read.
const EXIT_TROUBLE: u8 = 2;

/// Runs the command and says on stderr what went wrong.
pub(crate) fn run(arguments: &ScanArguments) -> ExitCode {
    match scan(arguments) {
        Ok(code) => code,
        Err(failure) => {
            say(format_args!("error: {failure}"));
            ExitCode::from(failure.code())
        }
    }
}

fn scan(arguments: &ScanArguments) -> Result<ExitCode, Failure> {
    let began = Instant::now();
    let Task {
        patterns,
        paths,
        is_implicit,
        is_one_file,
    } = arguments.task(stdin_is_readable())?;
    let config = scan_config(arguments, patterns.is_none())?;
    let nothing = patterns.as_ref().is_some_and(Vec::is_empty) && !arguments.invert_match;
    let lists = patterns.is_none();
    let on_terminal = std::io::stdout().is_terminal();
    let mut print = arguments.print_config(on_terminal, is_one_file);
    print.strip_dot = is_implicit;
    if lists {
        // Files without a found line: nothing is looked for.
        print.format = Format::PathsWithout;
    }
    let pattern = arguments.pattern_config(patterns.unwrap_or_default());
    let (engine, printer) = Printer::new(&pattern, print.clone())?;
    if nothing || (arguments.max_count == Some(0) && !lists) {
        return Ok(ExitCode::from(EXIT_NONE));
    }
    let cancel = CancelToken::default();
    let sink = StdoutSink::new(printer, arguments, pattern.max_line, is_implicit, cancel.clone());
    let by_hand = cancel.clone();
    let terminal = Terminal::new(move || by_hand.cancel())?;
    let progress = Arc::new(Progress::default());
    let shown = progress.clone();
    let summary = terminal.watch(&*shown, || {
        parallel_scan_paths(paths, &engine, &config, &sink, cancel, progress).map_err(Failure::Scan)
    });
    let summary = match summary {
        Err(Failure::Scan(ScanError::Sink(_))) if sink.reader_has_gone() => None,
        summary => Some(summary?),
    };
    if let Some(summary) = &summary {
        let stats = sink.stats(summary);
        if print.format == Format::Json || (arguments.stats && arguments.wants_json()) {
            let objects = arguments.stats.then_some(summary);
            sink.last(&stats.summary(began.elapsed(), objects));
        } else if arguments.stats && !lists {
            sink.last(format!("{}{summary}", stats.text(began.elapsed())).as_bytes());
        }
    }
    let has_errors = sink.has_errors();
    let has_searched = |summary: &Summary| summary.clean + summary.with_findings > 0;
    let has_nothing = is_implicit && !lists && !summary.as_ref().is_none_or(has_searched);
    if has_nothing && !has_errors {
        say("error: no file was searched: all are left out, see --hidden, --no-ignore, -g and -t");
    }
    Ok(ExitCode::from(
        match (sink.has_found(), has_errors || has_nothing) {
            (true, false) => 0,
            (true, true) if arguments.quiet => 0,
            (_, true) => EXIT_TROUBLE,
            (false, false) => EXIT_NONE,
        },
    ))
}

fn scan_config(arguments: &ScanArguments, lists: bool) -> Result<ParallelScanConfig, Failure> {
    let host = ParallelScanConfig::for_host().map_err(|error| Failure::Host(error.to_string()))?;
    let workers = arguments
        .threads
        .map_or(host.workers, std::num::NonZeroUsize::get);
    let mut config = ParallelScanConfig::with_workers(workers);
    config.follow_symlinks = arguments.follow;
    config.skip_hidden = !arguments.hidden;
    config.respect_gitignore = !arguments.no_ignore;
    config.max_file_size = arguments.max_filesize;
    config.sort = arguments.sort == SortArgument::Path;
    config.names_only = lists;
    config.dash_is_stdin = true;
    let folder = std::env::current_dir()
        .map_err(|error| Failure::Host(format!("cannot find the working directory: {error}")))?;
    let mut globs = OverrideBuilder::new(folder);
    for glob in &arguments.glob {
        globs.add(glob).map_err(Failure::rule)?;
    }
    config.rules.overrides = globs.build().map_err(Failure::rule)?;
    if !arguments.types.is_empty() || !arguments.types_not.is_empty() {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        arguments.types.iter().for_each(|name| {
            types.select(name);
        });
        arguments.types_not.iter().for_each(|name| {
            types.negate(name);
        });
        config.rules.types = types.build().map_err(Failure::rule)?;
    }
    Ok(config)
}

/// Why a scan has no result.
#[derive(Debug)]
enum Failure {
    Task(TaskError),
    Pattern(PatternError),
    Rule(String),
    Host(String),
    Scan(ScanError),
    Cancelled,
}

impl Failure {
    fn rule(error: scan::ignore::Error) -> Self {
        Self::Rule(error.to_string())
    }

    fn code(&self) -> u8 {
        match self {
            Self::Cancelled => EXIT_CANCELLED,
            _ => EXIT_TROUBLE,
        }
    }
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        Self::Task(error)
    }
}

impl From<PatternError> for Failure {
    fn from(error: PatternError) -> Self {
        Self::Pattern(error)
    }
}

impl From<ctrlc::Error> for Failure {
    fn from(error: ctrlc::Error) -> Self {
        Self::Host(error.to_string())
    }
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(error) => error.fmt(f),
            Self::Pattern(error) => {
                error.fmt(f)?;
                if error.to_string().contains("not allowed") {
                    f.write_str("\nhint: with -U a match may contain the end of a line")?;
                }
                Ok(())
            }
            Self::Rule(error) | Self::Host(error) => f.write_str(error),
            Self::Scan(error) => error.fmt(f),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl Watched for Progress {
    fn message(&self) -> String {
        format!("{} files, {} MiB", self.reported(), self.bytes() >> 20)
    }

    fn parts(&self) -> (u64, u64) {
        (self.reported(), self.discovered())
    }

    /// Lines and a bar would write over each other.
    fn has_room(&self) -> bool {
        !std::io::stdout().is_terminal()
    }
}
