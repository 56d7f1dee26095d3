//! Lines around found ones, and what stands for those that are left out.

use std::io;
use std::ops::Range;

use grep_matcher::Matcher;

use super::super::Printer;
use super::super::config::Format;
use super::super::held::Line;
use super::super::json;
use super::super::text::Kind;
use super::Work;
use crate::engine::Span;
use crate::pattern::{text_ends, trimmed};

impl Work<'_> {
    /// Prints lines after the last found one, up to `until`. `is_bound`: nothing further is looked
    /// for, but what matches among them is shown as found.
    pub(super) fn after(&mut self, until: u64, is_bound: bool) -> io::Result<()> {
        let nul = self.file.nul.or(self.file.converted);
        let binary = nul.filter(|_| !self.shows_binary()).map_or(u64::MAX, text_ends);
        while self.file.after > 0 && self.file.visited < until {
            let from = self.file.visited;
            let Some(range) = self.file.around.line(self.source, from, until)? else {
                break;
            };
            if range.end > binary {
                break;
            }
            let left = self.file.after - 1;
            self.around(range, self.file.number, is_bound)?;
            self.file.after = left;
        }
        Ok(())
    }

    /// Prints lines before a found one.
    pub(super) fn before(&mut self, line: &Line<'_>) -> io::Result<()> {
        let (mut start, mut count) = (line.offset, 0);
        while count < self.printer.config.before && start > self.file.visited {
            start = self.file.around.begin(self.source, self.file.visited, start)?;
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        self.gap(start);
        for nth in (1..=count).rev() {
            let until = line.offset;
            let Some(range) = self.file.around.line(self.source, start, until)? else {
                break;
            };
            start = range.end;
            self.around(range, line.number.saturating_sub(nth as u64), false)?;
        }
        Ok(())
    }

    /// Prints a line that stands around found ones.
    fn around(&mut self, range: Range<u64>, number: u64, is_bound: bool) -> io::Result<()> {
        let bytes = self.file.around.bytes(self.source, range.clone())?.to_vec();
        let printer = self.printer;
        let content = trimmed(&bytes, printer.terminator);
        let is_found = is_bound && printer.matcher.is_match(content).unwrap_or(false) != printer.invert;
        let spans = if printer.spans && (is_found || printer.invert) {
            printer.spans_of(&bytes)
        } else {
            Vec::new()
        };
        let line = Line {
            offset: range.start,
            number,
            bytes: &bytes,
            len: range.end - range.start,
            matches: spans.len(),
            spans: &spans,
        };
        if is_found {
            self.file.matches += spans.len() as u64;
            self.found(&line);
            return Ok(());
        }
        self.begin();
        match printer.config.format {
            Format::Json => json::line(
                self.out,
                "context",
                self.path(),
                &line,
                printer.config.line_numbers,
            ),
            _ => self.text().line(&line, Kind::Around),
        }
        self.visit(&line, 1);
        Ok(())
    }

    /// Shows that lines before `offset` are left out, if there are any.
    pub(super) fn gap(&mut self, offset: u64) {
        let config = &self.printer.config;
        let is_gap = self.file.has_lines && self.file.visited < offset;
        if is_gap && config.format == Format::Text && (config.before > 0 || config.after > 0) {
            self.text().gap();
        }
    }
}

impl Printer {
    fn spans_of(&self, line: &[u8]) -> Vec<Span> {
        let mut spans = Vec::new();
        let haystack = if self.ranges {
            line
        } else {
            trimmed(line, self.terminator)
        };
        let searched = self.matcher.find_iter_at(haystack, 0, |span| {
            let begins_within = span.start() < line.len();
            if begins_within {
                spans.push(Span {
                    start: span.start(),
                    end: span.end(),
                });
            }
            begins_within
        });
        debug_assert!(searched.is_ok(), "a regex of this crate never fails");
        spans
    }
}
