//! Lines that match, or do not, when no match can contain a line's end.
//!
//! The fast way lets the regex run over lines: it finds a match, or a candidate that one of the
//! regex's literals gives away, and the line around it is cut out. A candidate line is searched once
//! more. It needs a regex that cannot match a line's end. For the others, and for those that have an
//! anchor of the text's beginning or end, each line is searched alone.

use std::ops::Range;

use grep_matcher::{LineMatchKind, LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use memchr::memchr_iter;

use super::collector::Collector;
use super::line;

/// Whether the regex may run over ends of lines.
pub(crate) fn is_fast(matcher: &RegexMatcher, terminator: LineTerminator) -> bool {
    // Without a terminator of its own the regex has an anchor such as `\A`, whose meaning would
    // depend on where pieces begin.
    matcher.line_terminator() == Some(terminator)
}

pub(crate) fn search(mut lines: Collector<'_>, invert: bool, fast: bool, last: bool) {
    if lines.left() > 0 {
        match (fast, invert) {
            (true, false) if lines.only_counts() => count(&mut lines),
            (true, false) => matching(&mut lines),
            (true, true) => inverted(&mut lines),
            (false, _) => each_alone(&mut lines, invert),
        }
    }
    lines.end(last);
}

fn matching(lines: &mut Collector<'_>) {
    let mut at = 0;
    while let Some(line) = next(lines, at) {
        at = line.end;
        if !lines.line(line) {
            break;
        }
    }
}

/// Like [`matching`], but where a line begins is of no interest.
fn count(lines: &mut Collector<'_>) {
    let (mut at, mut count) = (0, 0);
    while count < lines.left() {
        match find(lines, at) {
            Some(LineMatchKind::Confirmed(end)) if !is_behind(lines.text, end) => {
                at = line::end(lines.text, end);
            }
            Some(LineMatchKind::Candidate(_)) => match next(lines, at) {
                Some(line) => at = line.end,
                None => break,
            },
            _ => break,
        }
        count += 1;
    }
    lines.count(count);
}

fn inverted(lines: &mut Collector<'_>) {
    let mut at = 0;
    while at < lines.text.len() {
        let found = next(lines, at);
        let (until, after) = found.map_or((lines.text.len(), lines.text.len()), |line| {
            (line.start, line.end)
        });
        let between = &lines.text[at..until];
        if lines.only_counts() {
            let unended = between.last().is_some_and(|byte| *byte != b'\n');
            let count = memchr_iter(b'\n', between).count() as u64 + u64::from(unended);
            lines.count(count.min(lines.left()));
            if lines.left() == 0 {
                return;
            }
        } else {
            for line in line::all(between) {
                if !lines.line(at + line.start..at + line.end) {
                    return;
                }
            }
        }
        at = after;
    }
}

fn each_alone(lines: &mut Collector<'_>, invert: bool) {
    for line in line::all(lines.text) {
        let matches = is_match(lines, &lines.text[line.clone()]);
        if matches != invert && !lines.line(line) {
            break;
        }
    }
}

/// The next line that matches, from the beginning of a line on.
#[inline(always)]
fn next(lines: &Collector<'_>, mut at: usize) -> Option<Range<usize>> {
    loop {
        match find(lines, at)? {
            LineMatchKind::Confirmed(end) if is_behind(lines.text, end) => return None,
            LineMatchKind::Confirmed(end) => return Some(line::around(lines.text, at, end)),
            LineMatchKind::Candidate(end) => {
                let line = line::around(lines.text, at, end);
                if is_match(lines, &lines.text[line.clone()]) {
                    return Some(line);
                }
                at = line.end;
            }
        }
    }
}

#[inline(always)]
fn find(lines: &Collector<'_>, at: usize) -> Option<LineMatchKind> {
    let rest = &lines.text[at..];
    if rest.is_empty() {
        return None;
    }
    // A regex of this crate never fails.
    match lines.matcher.find_candidate_line(rest).ok()?? {
        LineMatchKind::Confirmed(end) => Some(LineMatchKind::Confirmed(at + end)),
        LineMatchKind::Candidate(end) => Some(LineMatchKind::Candidate(at + end)),
    }
}

#[inline(always)]
fn is_match(lines: &Collector<'_>, line: &[u8]) -> bool {
    let content = line::trimmed(line, lines.wanted.terminator);
    lines.matcher.is_match(content).unwrap_or(false)
}

/// Whether an empty match is behind the last line's end, where no line is.
#[inline(always)]
fn is_behind(text: &[u8], end: usize) -> bool {
    end == text.len() && text.last().is_none_or(|byte| *byte == b'\n')
}
