//! Found lines whose file may still turn out to be binary where they are.

use crate::engine::{Finding, Found, Span};

/// Found lines with their bytes and spans.
#[derive(Debug, Default)]
pub(crate) struct Held(Found);

/// One found line or range of lines, ready to be printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) offset: u64,
    /// From 1.
    pub(crate) number: u64,
    /// Empty if only places are wanted.
    pub(crate) bytes: &'a [u8],
    pub(crate) len: u64,
    /// More than there are spans if those are only counted.
    pub(crate) matches: usize,
    pub(crate) spans: &'a [Span],
}

impl Line<'_> {
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len
    }
}

impl Held {
    /// `line` is after all that are held.
    pub(crate) fn hold(&mut self, line: &Line<'_>) {
        self.0.findings.push(Finding {
            offset: line.offset,
            line: line.number - 1,
            start: self.0.text.len(),
            len: usize::try_from(line.len).unwrap_or(usize::MAX),
            matches: line.matches,
        });
        self.0.text.extend_from_slice(line.bytes);
        self.0.spans.extend_from_slice(line.spans);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.findings.is_empty()
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        lines(&self.0, 0)
    }
}

/// The lines of `found`. `base` ends of lines are before it in the file.
pub(crate) fn lines(found: &Found, base: u64) -> impl Iterator<Item = Line<'_>> {
    let mut spans = &found.spans[..];
    found.findings.iter().map(move |finding| {
        let (own, rest) = spans.split_at(spans.len().min(finding.matches));
        spans = rest;
        let bytes = found.text.get(finding.start..finding.start + finding.len);
        Line {
            offset: finding.offset,
            number: base + finding.line + 1,
            bytes: bytes.unwrap_or(&[]),
            len: finding.len as u64,
            matches: finding.matches,
            spans: own,
        }
    })
}
