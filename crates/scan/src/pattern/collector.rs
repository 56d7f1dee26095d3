//! What becomes of a found line: it is counted, and kept as far as the printer wants it.

use std::ops::Range;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

use super::line;
use super::wanted::{Keep, Spans, Wanted};
use crate::engine::{Finding, Found, Span};

/// Regexes may look ahead of a range of lines this far, as in ripgrep.
const LOOK_AHEAD: usize = 128;

pub(crate) struct Collector<'a> {
    pub(crate) matcher: &'a RegexMatcher,
    pub(crate) wanted: &'a Wanted,
    /// What is searched: the piece, or its part before it becomes binary.
    pub(crate) text: &'a [u8],
    offset: u64,
    found: &'a mut Found,
    /// Ends of lines before `counted` are in `lines`.
    counted: usize,
    lines: u64,
    left: u64,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        matcher: &'a RegexMatcher,
        wanted: &'a Wanted,
        (text, offset): (&'a [u8], u64),
        found: &'a mut Found,
    ) -> Self {
        Self {
            matcher,
            wanted,
            text,
            offset,
            lines: found.lines,
            left: wanted.max_count.unwrap_or(u64::MAX),
            found,
            counted: 0,
        }
    }

    /// Whether lines are neither kept nor looked into.
    pub(crate) fn only_counts(&self) -> bool {
        self.wanted.keep == Keep::Counts && self.wanted.spans == Spans::None
    }

    /// How many lines may still be found.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Counts `lines` found lines. Only if [`Self::only_counts`].
    pub(crate) fn count(&mut self, lines: u64) {
        self.found.found += lines;
        self.left -= lines;
    }

    /// Takes a found line. Returns whether more are wanted.
    #[inline]
    pub(crate) fn line(&mut self, range: Range<usize>) -> bool {
        if self.wanted.spans == Spans::None {
            self.keep(range, 0);
        } else {
            let line = &self.text[range.clone()];
            let content = line::trimmed(line, self.wanted.terminator);
            let matches = self.spans_within(content, 0, line.len());
            self.keep(range, matches);
        }
        self.left -= 1;
        self.left > 0
    }

    /// Takes a found range of lines.
    pub(crate) fn range(&mut self, range: Range<usize>) {
        let matches = match self.wanted.spans {
            Spans::None => 0,
            Spans::Counts | Spans::Places => {
                let end = self.text.len().min(range.end.saturating_add(LOOK_AHEAD));
                self.spans_within(&self.text[..end], range.start, range.end)
            }
        };
        self.keep(range, matches);
    }

    /// Closes the books on the piece.
    pub(crate) fn end(mut self, last: bool) {
        if self.wanted.line_numbers && !last {
            self.count_lines(self.text.len());
        }
        if self.wanted.line_numbers {
            self.found.lines = self.lines;
        }
        self.found.bytes += self.text.len() as u64;
        self.found.last = last;
    }

    #[inline]
    fn keep(&mut self, range: Range<usize>, matches: usize) {
        self.found.found += 1;
        if self.wanted.keep == Keep::Counts {
            return;
        }
        self.count_lines(range.start);
        self.found.findings.push(Finding {
            offset: self.offset + range.start as u64,
            line: self.lines,
            start: self.found.text.len(),
            len: range.len(),
            matches,
        });
        if self.wanted.keep == Keep::Text {
            self.found.text.extend_from_slice(&self.text[range]);
        }
    }

    #[inline]
    fn count_lines(&mut self, until: usize) {
        if self.wanted.line_numbers {
            let ends = memchr::memchr_iter(b'\n', &self.text[self.counted..until]).count();
            self.lines += ends as u64;
            self.counted = until;
        }
    }

    /// Matches in `haystack` that begin in `from..until`; the number of those that are kept.
    fn spans_within(&mut self, haystack: &[u8], from: usize, until: usize) -> usize {
        let (keeps, mut count) = (self.wanted.spans == Spans::Places, 0);
        let spans = &mut self.found.spans;
        let searched = self.matcher.find_iter_at(haystack, from, |span| {
            if span.start() >= until {
                return false;
            }
            count += 1;
            if keeps {
                spans.push(Span {
                    start: span.start() - from,
                    end: span.end() - from,
                });
            }
            true
        });
        debug_assert!(searched.is_ok(), "a regex of this crate never fails");
        if keeps {
            self.found.matches += count as u64;
            count
        } else {
            // What lies around a range may hide a match from the second look.
            self.found.matches += count.max(1) as u64;
            count.max(1)
        }
    }
}
