//! Standard output, as far as a scan knows it, and what the reports add up to.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path;
use std::sync::atomic::{AtomicBool, Ordering};

use scan::object::Object;
use scan::print::{Printer, Stats};
use scan::report::{Outcome, Report, Skipped, Summary};
use scan::{CancelToken, Sink};

use super::arguments::ScanArguments;
use crate::message::say;

pub(super) struct StdoutSink {
    printer: Printer,
    /// Nothing is printed, and the first finding is enough.
    is_quiet: bool,
    needs_all: bool,
    /// Bytes of the longest line that is searched whole.
    max_line: usize,
    /// Paths are said without `./` at their beginning.
    strip_dot: bool,
    on_terminal: bool,
    cancel: CancelToken,
    has_found: AtomicBool,
    has_errors: AtomicBool,
    reader_has_gone: AtomicBool,
}

/// Bytes that a pipe holds, at most what the system allows every user: a search goes on while its
/// reader is not.
const PIPE: usize = 1 << 20;

impl StdoutSink {
    pub(super) fn new(
        printer: Printer,
        arguments: &ScanArguments,
        max_line: usize,
        strip_dot: bool,
        cancel: CancelToken,
    ) -> Self {
        // Fails if it is no pipe, or if the user has too many: then it stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(io::stdout(), PIPE);
        Self {
            printer,
            is_quiet: arguments.quiet,
            needs_all: arguments.stats,
            max_line,
            strip_dot,
            on_terminal: io::stdout().is_terminal(),
            cancel,
            has_found: AtomicBool::new(false),
            has_errors: AtomicBool::new(false),
            reader_has_gone: AtomicBool::new(false),
        }
    }

    pub(super) fn has_found(&self) -> bool {
        is_set(&self.has_found)
    }

    pub(super) fn has_errors(&self) -> bool {
        is_set(&self.has_errors)
    }

    /// A reader that closes stdout early (`| head`) is no error.
    pub(super) fn reader_has_gone(&self) -> bool {
        is_set(&self.reader_has_gone)
    }

    pub(super) fn stats(&self, summary: &Summary) -> Stats {
        Stats {
            searches: summary.clean + summary.with_findings,
            searches_with_match: summary.with_findings,
            bytes_searched: summary.bytes,
            bytes_printed: summary.printed,
            matched_lines: summary.lines,
            matches: summary.matches,
            elapsed: summary.elapsed,
        }
    }

    fn said<'o>(&self, object: &'o Object) -> path::Display<'o> {
        let path = match object.path.strip_prefix("./") {
            Ok(path) if self.strip_dot && path.as_os_str() != "" => path,
            _ => &object.path,
        };
        path.display()
    }

    /// Sums after everything else. Whether they can be written changes nothing any more.
    pub(super) fn last(&self, text: &[u8]) {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(text).and_then(|()| stdout.flush());
    }
}

impl Sink for StdoutSink {
    type Output = Printer;

    fn output(&self) -> &Printer {
        &self.printer
    }

    fn write(&self, block: &[u8]) -> io::Result<()> {
        if self.is_quiet {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(block).and_then(|()| stdout.flush());
        if written
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::BrokenPipe)
        {
            set(&self.reader_has_gone);
        }
        written
    }

    fn report(&self, object: &Object, report: &Report) {
        if report.findings.found {
            set(&self.has_found);
            if self.is_quiet && !self.needs_all {
                self.cancel.cancel();
            }
        }
        if report.cut_lines > 0 {
            say(format_args!(
                "warning: {}: {} longer than {} MiB searched in pieces of that length",
                self.said(object),
                match report.cut_lines {
                    1 => "a line".to_owned(),
                    lines => format!("{lines} lines"),
                },
                self.max_line >> 20
            ));
        }
        match &report.outcome {
            Outcome::Error(trouble) => {
                set(&self.has_errors);
                say(format_args!("error: {}: {trouble}", self.said(object)));
            }
            Outcome::Skipped(why) if object.named && *why != Skipped::Cancelled => {
                say(format_args!("{}: skipped: {why}", self.said(object)));
            }
            Outcome::Clean | Outcome::Findings | Outcome::Skipped(_) => {}
        }
    }

    fn is_prompt(&self) -> bool {
        self.on_terminal
    }
}

fn set(flag: &AtomicBool) {
    // Ordering: Relaxed. Read after the scan, whose end orders it.
    flag.store(true, Ordering::Relaxed);
}

fn is_set(flag: &AtomicBool) -> bool {
    // Ordering: Relaxed. As above.
    flag.load(Ordering::Relaxed)
}
