//! What of a found line is wanted, which a printer knows: the less, the faster.

use grep_matcher::LineTerminator;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) keep: Keep,
    pub(crate) spans: Spans,
    pub(crate) line_numbers: bool,
    /// Lines found in a piece, at the most.
    pub(crate) max_count: Option<u64>,
    pub(crate) terminator: LineTerminator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// How many there are.
    Counts,
    /// Where they are.
    Places,
    /// Where they are and what they say.
    Text,
}

/// Of matches within a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spans {
    None,
    /// How many there are, at least one a line.
    Counts,
    /// Where they are.
    Places,
}
