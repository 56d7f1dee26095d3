//! Ranges of lines, when a match may contain ends of lines: a file is searched whole.
//!
//! Matches on the same line, or on lines one after another, are one range.

use std::ops::Range;

use grep_matcher::Matcher;
use memchr::memrchr;

use super::collector::Collector;
use super::line;

/// `max_count` counts matches here, of the patterns even if the search is inverted, as in ripgrep.
pub(crate) fn search(mut lines: Collector<'_>, invert: bool, max_count: u64) {
    if invert {
        inverted(&mut lines, max_count);
    } else {
        matching(&mut lines, max_count);
    }
    lines.end(true);
}

fn matching(lines: &mut Collector<'_>, mut left: u64) {
    let mut at = 0;
    let mut pending: Option<Range<usize>> = None;
    while at < lines.text.len() {
        let Some(found) = next(lines, &mut at, &mut left) else {
            break;
        };
        let range = around(lines.text, &found);
        match &mut pending {
            Some(last) if last.end >= range.start => last.end = range.end,
            _ => {
                if !take(lines, pending.replace(range)) {
                    return;
                }
            }
        }
    }
    take(lines, pending);
}

/// Returns `false` at a match behind the last line's end, after which there is none.
fn take(lines: &mut Collector<'_>, range: Option<Range<usize>>) -> bool {
    match range {
        Some(range) if range.is_empty() => false,
        Some(range) => {
            lines.range(range);
            true
        }
        None => true,
    }
}

fn inverted(lines: &mut Collector<'_>, mut left: u64) {
    let mut at = 0;
    while at < lines.text.len() {
        let from = at;
        let until = match next(lines, &mut at, &mut left) {
            Some(found) => {
                let range = around(lines.text, &found);
                at = range.end;
                if range.is_empty() && at < lines.text.len() {
                    at += 1;
                }
                range.start
            }
            None => {
                at = lines.text.len();
                at
            }
        };
        if from < until {
            for line in line::all(&lines.text[from..until]) {
                lines.range(from + line.start..from + line.end);
            }
        }
    }
}

/// The next match, and `at` behind it.
fn next(lines: &Collector<'_>, at: &mut usize, left: &mut u64) -> Option<Range<usize>> {
    *left = left.checked_sub(1)?;
    let found = lines.matcher.find(&lines.text[*at..]).ok()??;
    let found = *at + found.start()..*at + found.end();
    *at = found.end;
    if found.is_empty() && *at < lines.text.len() {
        *at += 1;
    }
    Some(found)
}

fn around(text: &[u8], found: &Range<usize>) -> Range<usize> {
    let start = memrchr(b'\n', &text[..found.start]).map_or(0, |newline| newline + 1);
    let ended = found.end > start && text[found.end - 1] == b'\n';
    start..if ended {
        found.end
    } else {
        line::end(text, found.end)
    }
}
