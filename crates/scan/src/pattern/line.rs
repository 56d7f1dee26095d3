//! Where lines begin and end.

use std::ops::Range;

use grep_matcher::LineTerminator;
use memchr::{memchr, memrchr};

/// The line around `at`. `from` is the beginning of a line at or before it.
#[inline(always)]
pub(crate) fn around(text: &[u8], from: usize, at: usize) -> Range<usize> {
    let start = memrchr(b'\n', &text[from..at]).map_or(from, |newline| from + newline + 1);
    start..end(text, at)
}

/// The end of the line in which `at` is, or begins.
#[inline(always)]
pub(crate) fn end(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1)
}

/// Lines from the first byte on, the last one perhaps without its end.
pub(crate) fn all(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        at = end(text, start);
        (start < at).then_some(start..at)
    })
}

/// The line without its end. `\n` alone is one in a CRLF file, too.
#[inline(always)]
pub(crate) fn trimmed(line: &[u8], terminator: LineTerminator) -> &[u8] {
    match line {
        [content @ .., b'\r', b'\n'] if terminator.is_crlf() => content,
        [content @ .., b'\n'] => content,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_after_a_newline_to_after_the_next() {
        let text = b"ab\n\nc";
        assert_eq!(all(text).collect::<Vec<_>>(), [0..3, 3..4, 4..5]);
        for (at, line) in [(0, 0..3), (2, 0..3), (3, 3..4), (4, 4..5), (5, 4..5)] {
            assert_eq!(around(text, 0, at), line, "{at}");
        }
        assert_eq!(all(b"").count(), 0);
    }
}
