//! A file that is printed: what is known of it so far, piece by piece.
//!
//! ```text
//!   found lines ──► text or binary?  ──► after-context of the line before ──► before-context ──► line
//!                    └ not yet known: held until it is
//! ```

mod context;

use std::io;
use std::path::Path;
use std::time::Instant;

use super::around::Around;
use super::config::Format;
use super::held::{Held, Line, lines};
use super::json;
use super::text::{self, Kind, TextPrinter};
use super::{Printer, Stats};
use crate::engine::Found;
use crate::object::Object;
use crate::output::{Findings, More, ReadAt};
use crate::pattern::{known_at, text_ends};

/// What a [`Printer`] keeps of a file between its pieces.
#[derive(Debug, Default)]
pub struct PrintedFile {
    /// Ends of lines in the pieces before.
    lines: u64,
    /// Bytes searched.
    searched: u64,
    /// Up to where it is known whether there are NULs.
    known: u64,
    nul: Option<u64>,
    converted: Option<u64>,
    found: u64,
    matched_lines: u64,
    matches: u64,
    held: Held,
    around: Around,
    /// Where the last printed line ends, the number of the line that begins there, and how many
    /// lines after the last found one are still to be printed.
    visited: u64,
    number: u64,
    after: usize,
    has_lines: bool,
    /// Where the last found line ends.
    last: u64,
    begun: bool,
    done: bool,
    printed: u64,
    began: Option<Instant>,
}

/// What is known of a line in a file that may be binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Text,
    Binary,
    NotYet,
}

/// One call's work on a file.
pub(super) struct Work<'a> {
    pub(super) printer: &'a Printer,
    pub(super) object: &'a Object,
    pub(super) file: &'a mut PrintedFile,
    pub(super) source: &'a mut dyn ReadAt,
    pub(super) out: &'a mut Vec<u8>,
}

impl PrintedFile {
    pub(super) fn new(printer: &Printer, object: &Object) -> Self {
        Self {
            number: 1,
            around: Around::new(object.named && !printer.reads_nul && !printer.ranges),
            began: printer.config.timed.then(Instant::now),
            ..Self::default()
        }
    }
}

impl<'a> Work<'a> {
    pub(super) fn piece(&mut self, found: &Found) -> io::Result<More> {
        let before = self.out.len();
        if !self.file.done {
            self.file.nul = self.file.nul.or(found.nul);
            self.file.converted = self.file.converted.or(found.converted);
            self.file.searched += found.bytes;
            self.file.known = if found.last { u64::MAX } else { self.file.searched };
            if found.findings.is_empty() {
                self.file.found += found.found;
                self.file.matched_lines += found.found;
                self.file.matches += found.matches;
            }
            let base = self.file.lines;
            self.lines(lines(found, base))?;
            self.file.lines += found.lines;
        }
        self.file.printed += (self.out.len() - before) as u64;
        let over = self.file.done || self.file.nul.is_some();
        Ok(if over { More::Enough } else { More::Wanted })
    }

    pub(super) fn end(mut self) -> io::Result<Findings> {
        let before = self.out.len();
        if !self.file.done {
            // Nothing comes any more, so nothing can turn out to be binary.
            self.file.known = u64::MAX;
            self.lines(std::iter::empty())?;
        }
        if !self.file.done {
            let bound_is_near = self.printer.ranges && self.printer.max_count.is_some();
            self.after(u64::MAX, bound_is_near)?;
        }
        let nul = self.file.nul.or(self.file.converted);
        if let Some(nul) = nul.filter(|_| self.printer.ranges) {
            // Where a file is searched whole, ripgrep counts what stands before.
            self.file.searched = self.file.searched.min(nul);
        }
        let is_dropped = self.file.nul.is_some() && !self.shows_lines();
        let has_lines = self.file.found > 0 && !is_dropped;
        self.summary(nul, has_lines, is_dropped);
        self.file.printed += (self.out.len() - before) as u64;
        let found = match self.printer.config.format {
            Format::PathsWithout => !has_lines && !is_dropped,
            _ => has_lines,
        };
        let file = &*self.file;
        let findings = Findings {
            found,
            lines: file.matched_lines,
            matches: file.matches,
            bytes: file.searched,
            printed: file.printed,
            nul,
            elapsed: file.began.map(|began| began.elapsed()).unwrap_or_default(),
        };
        if self.printer.config.format == Format::Json && file.begun {
            let stats = Stats {
                elapsed: findings.elapsed,
                searches: 1,
                searches_with_match: u64::from(file.found > 0),
                bytes_searched: file.searched,
                bytes_printed: file.printed,
                matched_lines: file.matched_lines,
                matches: file.matches,
            };
            json::end(self.out, self.path(), nul, &stats);
        }
        Ok(findings)
    }

    fn summary(&mut self, nul: Option<u64>, has_lines: bool, is_dropped: bool) {
        let matches = self.file.matches;
        let found = if self.printer.ranges {
            matches
        } else {
            self.file.found
        };
        let stopped = self.file.nul.is_some();
        let format = self.printer.config.format;
        let mut text = self.text();
        match (format, nul) {
            (Format::Text, Some(nul)) if has_lines => text.binary(nul, stopped),
            (Format::Count, _) if has_lines => text.count(found),
            (Format::CountMatches, _) if has_lines => text.count(matches),
            (Format::Paths, _) if has_lines => text.path_line(),
            (Format::PathsWithout, _) if !has_lines && !is_dropped => text.path_line(),
            _ => {}
        }
    }

    /// Prints what is held and then `new` lines, as far as they are known to be text.
    fn lines<'l>(&mut self, new: impl Iterator<Item = Line<'l>>) -> io::Result<()> {
        let held = std::mem::take(&mut self.file.held);
        for line in held.lines() {
            self.take(&line)?;
        }
        for line in new {
            self.take(&line)?;
        }
        Ok(())
    }

    fn take(&mut self, line: &Line<'_>) -> io::Result<()> {
        if self.file.done {
            return Ok(());
        }
        let is_held = !self.file.held.is_empty();
        match self.verdict(line) {
            Verdict::Text if !is_held => self.line(line)?,
            Verdict::Binary if !is_held => self.binary(line)?,
            _ => self.file.held.hold(line),
        }
        Ok(())
    }

    fn verdict(&self, line: &Line<'_>) -> Verdict {
        let nul = self.file.nul.or(self.file.converted);
        let is_known = nul.is_some() || known_at(line.end()) <= self.file.known;
        if self.printer.reads_nul {
            return Verdict::Text;
        }
        if self.object.named && self.printer.config.format != Format::Text {
            // Whether a file is binary is said even of one that is read up to a bound.
            let waits = self.printer.max_count.is_some() && !is_known;
            return if waits { Verdict::NotYet } else { Verdict::Text };
        }
        match nul {
            Some(nul) if line.end() <= text_ends(nul) => Verdict::Text,
            Some(_) => Verdict::Binary,
            None if is_known => Verdict::Text,
            None => Verdict::NotYet,
        }
    }

    /// A found line of a file that is binary where it is.
    fn binary(&mut self, line: &Line<'_>) -> io::Result<()> {
        self.after(line.offset, false)?;
        if self.object.named {
            self.file.found += 1;
            self.file.matched_lines += self.lines_of(line);
            self.file.matches += line.matches as u64;
            self.stop(line.end());
        } else {
            self.file.done = true;
        }
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        self.file.found += 1;
        self.file.matches += line.matches as u64;
        match self.printer.config.format {
            Format::Text | Format::Json => {
                self.after(line.offset, false)?;
                self.before(line)?;
                self.found(line);
            }
            _ => self.file.matched_lines += 1,
        }
        let bound = if self.printer.wants_first {
            Some(1)
        } else {
            self.printer.max_count
        };
        let is_bounded = self.printer.wants_first || !self.printer.ranges;
        if is_bounded && bound.is_some_and(|bound| self.file.found >= bound) {
            self.file.last = line.end();
            self.after(u64::MAX, true)?;
            // A NUL in a later block would not have been read.
            let read = known_at(line.end());
            self.file.nul = self.file.nul.filter(|nul| *nul < read);
            self.file.converted = self.file.converted.filter(|nul| *nul < read);
            let ended = self.file.after > 0;
            self.stop(if ended { self.file.visited } else { self.file.last });
        }
        Ok(())
    }

    fn stop(&mut self, searched: u64) {
        self.file.searched = searched;
        self.file.done = true;
    }

    /// Prints a found line.
    fn found(&mut self, line: &Line<'_>) {
        let lines = self.lines_of(line);
        self.file.matched_lines += lines;
        self.gap(line.offset);
        self.begin();
        match self.printer.config.format {
            Format::Json => json::line(
                self.out,
                "match",
                self.path(),
                line,
                self.printer.config.line_numbers,
            ),
            _ if self.printer.ranges => self.text().range(line),
            _ => self.text().line(line, Kind::Found),
        }
        self.visit(line, lines);
        self.file.last = line.end();
        self.file.after = self.printer.config.after;
    }

    fn lines_of(&self, line: &Line<'_>) -> u64 {
        if self.printer.ranges {
            text::lines(line.bytes).count().max(1) as u64
        } else {
            1
        }
    }

    fn visit(&mut self, line: &Line<'_>, lines: u64) {
        self.file.visited = line.end();
        self.file.number = line.number + lines;
        self.file.has_lines = true;
    }

    fn begin(&mut self) {
        if self.file.begun {
            return;
        }
        self.file.begun = true;
        match self.printer.config.format {
            Format::Json => json::begin(self.out, self.path()),
            _ => {
                let printer = self.printer;
                self.text().begin(&printer.separator);
            }
        }
    }

    /// Whether lines behind a NUL are shown like others.
    fn shows_binary(&self) -> bool {
        self.object.named && self.printer.config.format != Format::Text
    }

    fn shows_lines(&self) -> bool {
        matches!(self.printer.config.format, Format::Text | Format::Json)
    }

    fn path(&self) -> &'a Path {
        let path = &self.object.path;
        if self.printer.config.strip_dot {
            path.strip_prefix("./").unwrap_or(path)
        } else {
            path
        }
    }

    fn text(&mut self) -> TextPrinter<'_> {
        TextPrinter {
            config: &self.printer.config,
            terminator: self.printer.terminator,
            path: self.path(),
            out: self.out,
        }
    }
}
