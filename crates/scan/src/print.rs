//! Findings as text, as `rg` prints them, or as the JSON Lines of `rg --json`.
//!
//! A [`Printer`] sees a file's pieces in order and knows nothing of other files: what stands between
//! files is the beginning of each, and the sink's writer takes it off the first
//! ([`Output::separator`]). Lines around found ones are read again when they are printed.
//!
//! Where this differs from ripgrep: a line before the first NUL of a named file is found even if a
//! line before it would be shown with it; there ripgrep shows nothing.

mod around;
mod config;
mod file;
mod held;
mod json;
mod text;

use std::fmt;
use std::io;

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;

pub use self::config::{Format, PrintConfig};
pub use self::file::PrintedFile;
use self::file::Work;
pub use self::json::Stats;
use self::text::TextPrinter;
use crate::engine::Found;
use crate::object::Object;
use crate::output::{Findings, More, Output, ReadAt};
use crate::pattern::{PatternConfig, PatternEngine, PatternError, Spans};

/// Prints what a [`PatternEngine`] finds.
///
/// # Examples
///
/// ```
/// use scan::engine::{Engine, Found, Piece};
/// use scan::object::Object;
/// use scan::output::Output;
/// use scan::pattern::PatternConfig;
/// use scan::print::{PrintConfig, Printer};
///
/// let pattern = PatternConfig::new(["b"]);
/// let print = PrintConfig { line_numbers: true, before: 1, ..PrintConfig::default() };
/// let (engine, printer) = Printer::new(&pattern, print)?;
///
/// let file: &[u8] = b"one\ntwo\nbee\n";
/// let object = Object { id: 0, path: "list".into(), named: false };
/// let (mut found, mut source, mut out) = (Found::default(), file, Vec::new());
/// let piece = Piece { bytes: file, offset: 0, named: object.named, last: true };
/// engine.scan(piece, &mut engine.scratch(), &mut found);
///
/// let mut printed = printer.begin(&object);
/// printer.piece(&mut printed, &object, &found, &mut source, &mut out)?;
/// let findings = printer.end(printed, &object, &mut source, &mut out)?;
/// assert_eq!(findings.lines, 1);
/// assert_eq!(out, b"--\nlist-2-two\nlist:3:bee\n");
/// assert_eq!(printer.separator(), b"--\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Printer {
    config: PrintConfig,
    terminator: LineTerminator,
    separator: Vec<u8>,
    matcher: RegexMatcher,
    invert: bool,
    /// A NUL is a byte like others.
    reads_nul: bool,
    /// A finding may be several lines.
    ranges: bool,
    spans: bool,
    wants_first: bool,
    max_count: Option<u64>,
}

impl Printer {
    /// A printer, and the engine that finds what it prints.
    ///
    /// # Errors
    ///
    /// As [`PatternConfig::validate`].
    pub fn new(pattern: &PatternConfig, config: PrintConfig) -> Result<(PatternEngine, Self), PatternError> {
        let engine = PatternEngine::new(pattern, |ranges| config.wanted(pattern, ranges))?;
        let terminator = pattern.line_terminator();
        let printer = Self {
            terminator,
            separator: match config.format {
                Format::Text => TextPrinter::separator(&config, terminator),
                _ => Vec::new(),
            },
            matcher: engine.matcher().clone(),
            invert: pattern.invert,
            reads_nul: pattern.text,
            ranges: engine.finds_ranges(),
            spans: engine.wanted().spans == Spans::Places,
            wants_first: config.wants_first(),
            max_count: pattern.max_count,
            config,
        };
        Ok((engine, printer))
    }
}

impl Output for Printer {
    type File = PrintedFile;

    fn separator(&self) -> &[u8] {
        &self.separator
    }

    fn reads_again(&self) -> bool {
        self.config.before > 0 || self.config.after > 0
    }

    fn begin(&self, object: &Object) -> PrintedFile {
        PrintedFile::new(self, object)
    }

    fn piece(
        &self,
        file: &mut PrintedFile,
        object: &Object,
        found: &Found,
        source: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<More> {
        Work {
            printer: self,
            object,
            file,
            source,
            out,
        }
        .piece(found)
    }

    fn end(
        &self,
        mut file: PrintedFile,
        object: &Object,
        source: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<Findings> {
        Work {
            printer: self,
            object,
            file: &mut file,
            source,
            out,
        }
        .end()
    }
}

impl fmt::Debug for Printer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Printer")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
