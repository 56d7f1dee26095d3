//! Found lines as `rg` prints them: path, line number, column, offset, line.

use std::path::Path;

use grep_matcher::LineTerminator;

use super::config::PrintConfig;
use super::held::Line;
use crate::engine::Span;
use crate::pattern::trimmed;

const RESET: &[u8] = b"\x1b[0m";
const PATH: &[u8] = b"\x1b[0m\x1b[35m";
const NUMBER: &[u8] = b"\x1b[0m\x1b[32m";
const COLUMN: &[u8] = b"\x1b[0m";
const MATCH: &[u8] = b"\x1b[0m\x1b[1m\x1b[31m";

pub(crate) struct TextPrinter<'a> {
    pub(crate) config: &'a PrintConfig,
    pub(crate) terminator: LineTerminator,
    pub(crate) path: &'a Path,
    pub(crate) out: &'a mut Vec<u8>,
}

/// Whether a line was found or stands around one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Found,
    Around,
}

impl TextPrinter<'_> {
    /// What stands between files, if anything does.
    pub(crate) fn separator(config: &PrintConfig, terminator: LineTerminator) -> Vec<u8> {
        let text: &[u8] = if config.heading {
            b""
        } else if config.before > 0 || config.after > 0 {
            b"--"
        } else {
            return Vec::new();
        };
        [text, terminator.as_bytes()].concat()
    }

    /// What stands above a file's first line.
    pub(crate) fn begin(&mut self, separator: &[u8]) {
        self.out.extend_from_slice(separator);
        if self.config.heading && self.config.path {
            self.path();
            self.end_line();
        }
    }

    /// What stands in the place of lines that are left out.
    pub(crate) fn gap(&mut self) {
        self.out.extend_from_slice(b"--");
        self.end_line();
    }

    pub(crate) fn line(&mut self, line: &Line<'_>, kind: Kind) {
        if line.spans.is_empty() {
            self.prelude(line, 0, None, kind);
            self.write_line(line.bytes);
        } else if self.config.only_matching {
            for span in line.spans {
                self.prelude(line, span.start, Some(span.start), kind);
                let matched = &line.bytes[span.start..span.end];
                self.colored(
                    matched,
                    &[Span {
                        start: 0,
                        end: matched.len(),
                    }],
                );
            }
        } else {
            self.prelude(line, 0, line.spans.first().map(|span| span.start), kind);
            self.colored(line.bytes, line.spans);
        }
    }

    /// Several lines, which one match or more have found together.
    pub(crate) fn range(&mut self, range: &Line<'_>) {
        if self.config.only_matching && !range.spans.is_empty() {
            return self.matches_of_range(range);
        }
        let column = range.spans.first().map(|span| span.start);
        let mut spans = range.spans;
        for (number, line) in lines(range.bytes).enumerate() {
            let within = Line {
                number: range.number + number as u64,
                ..*range
            };
            self.prelude(&within, line.start, column, Kind::Found);
            if spans.is_empty() {
                self.write_line(&range.bytes[line]);
            } else {
                let end = line.start + trimmed(&range.bytes[line.clone()], self.terminator).len();
                self.spans(range.bytes, line.start..end, &mut spans);
                self.end_line();
            }
        }
    }

    /// What is said of a binary file in which something was found.
    pub(crate) fn binary(&mut self, offset: u64, stopped: bool) {
        if self.config.path {
            self.path();
            self.out.extend_from_slice(b": ");
        }
        self.out.extend_from_slice(if stopped {
            b"WARNING: stopped searching binary file after match"
        } else {
            b"binary file matches"
        });
        self.out.extend_from_slice(b" (found \"\\0\" byte around offset ");
        number(self.out, offset);
        self.out.extend_from_slice(b")\n");
    }

    /// The path as a line of its own.
    pub(crate) fn path_line(&mut self) {
        self.path();
        self.end_line();
    }

    pub(crate) fn count(&mut self, count: u64) {
        if self.config.path {
            self.path();
            self.out.push(b':');
        }
        number(self.out, count);
        self.end_line();
    }

    fn prelude(&mut self, line: &Line<'_>, within: usize, column: Option<usize>, kind: Kind) {
        let separator = if kind == Kind::Found { b':' } else { b'-' };
        if self.config.path && !self.config.heading {
            self.path();
            self.out.push(separator);
        }
        if self.config.line_numbers {
            self.number(NUMBER, line.number, separator);
        }
        if let Some(column) = column.filter(|_| self.config.column) {
            self.number(COLUMN, column as u64 + 1, separator);
        }
        if self.config.byte_offset {
            self.number(COLUMN, line.offset + within as u64, separator);
        }
    }

    fn number(&mut self, color: &[u8], value: u64, separator: u8) {
        if self.config.color {
            self.out.extend_from_slice(color);
            number(self.out, value);
            self.out.extend_from_slice(RESET);
        } else {
            number(self.out, value);
        }
        self.out.push(separator);
    }

    fn path(&mut self) {
        let path = self.path.as_os_str().as_encoded_bytes();
        if self.config.color {
            self.out.extend_from_slice(PATH);
            self.out.extend_from_slice(path);
            self.out.extend_from_slice(RESET);
        } else {
            self.out.extend_from_slice(path);
        }
    }

    fn colored(&mut self, line: &[u8], mut spans: &[Span]) {
        if !self.config.color {
            return self.write_line(line);
        }
        let end = trimmed(line, self.terminator).len();
        self.spans(line, 0..end, &mut spans);
        self.end_line();
    }

    /// A part of a line, or of a range, with its matches in color. Spans behind it are left.
    fn spans(&mut self, bytes: &[u8], part: std::ops::Range<usize>, spans: &mut &[Span]) {
        let (mut at, mut is_colored) = (part.start, false);
        while at < part.end {
            let Some(span) = spans.first() else { break };
            if span.end <= at && spans.len() > 1 {
                *spans = &spans[1..];
                continue;
            }
            if span.end <= at {
                break;
            }
            let is_match = span.start <= at;
            let until = part.end.min(if is_match { span.end } else { span.start });
            self.switch(&mut is_colored, is_match);
            self.out.extend_from_slice(&bytes[at..until]);
            at = until;
        }
        self.switch(&mut is_colored, false);
        self.out.extend_from_slice(&bytes[at..part.end.max(at)]);
    }

    fn switch(&mut self, is_colored: &mut bool, to: bool) {
        if *is_colored != to && self.config.color {
            self.out.extend_from_slice(if to { MATCH } else { RESET });
        }
        *is_colored = to;
    }

    fn matches_of_range(&mut self, range: &Line<'_>) {
        let mut spans = range.spans;
        for (count, line) in lines(range.bytes).enumerate() {
            let within = Line {
                number: range.number + count as u64,
                ..*range
            };
            let end = line.start + trimmed(&range.bytes[line.clone()], self.terminator).len();
            let mut at = line.start;
            while at < end {
                let Some(span) = spans.first() else { break };
                if span.end <= at {
                    if spans.len() == 1 {
                        break;
                    }
                    spans = &spans[1..];
                } else if at < span.start {
                    at = end.min(span.start);
                } else {
                    let until = end.min(span.end);
                    self.prelude(&within, span.start, Some(span.start), Kind::Found);
                    let matched = &range.bytes[at..until];
                    if self.config.color {
                        self.out.extend_from_slice(MATCH);
                        self.out.extend_from_slice(matched);
                        self.out.extend_from_slice(RESET);
                    } else {
                        self.out.extend_from_slice(matched);
                    }
                    self.end_line();
                    at = until;
                }
            }
        }
    }

    fn write_line(&mut self, line: &[u8]) {
        self.out.extend_from_slice(line);
        if line.last() != Some(&b'\n') {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        self.out.extend_from_slice(self.terminator.as_bytes());
    }
}

/// Lines of a range, with their ends.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        at = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |end| start + end + 1);
        (start < at).then_some(start..at)
    })
}

/// `write!` is several times slower, and there is a number in each line.
pub(crate) fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for value in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
        }
    }
}
