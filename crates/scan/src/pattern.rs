//! The pattern engine: lines that regular expressions match, as ripgrep finds them.
//!
//! ```text
//!   piece ──► binary: is there a NUL? ──► by_line   a match lies within a line
//!                                    └──► by_range  a match may contain ends of lines
//!                                             └──► collector: counts, places, text, spans
//! ```
//!
//! The regexes are those of `grep-regex`, which is ripgrep's. The loops over lines are ours, since a
//! piece may begin anywhere in a file. Two things differ from ripgrep's loops, where those depend on
//! how its buffers happen to fill: `\A` and `\z` mean a line's beginning and end, and which lines
//! before a NUL are text depends on blocks of the file (module `binary`).

mod binary;
mod by_line;
mod by_range;
mod collector;
mod config;
mod line;
mod wanted;

use std::fmt;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use memchr::{memchr, memrchr};

pub(crate) use self::binary::{known_at, text_ends};
use self::collector::Collector;
pub use self::config::{Bounds, Case, PatternConfig, PatternError};
pub(crate) use self::line::trimmed;
pub(crate) use self::wanted::{Keep, Spans, Wanted};
use crate::engine::{Engine, Found, Piece, Unit};

/// Finds the lines that a [`PatternConfig`] describes. A [`Printer`](crate::print::Printer) comes
/// with the one that finds what it prints.
///
/// # Examples
///
/// ```
/// use scan::engine::{Engine, Found, Piece};
/// use scan::pattern::PatternConfig;
/// use scan::print::{PrintConfig, Printer};
///
/// let (engine, _) = Printer::new(&PatternConfig::new(["b+"]), PrintConfig::default())?;
/// let mut found = Found::default();
/// let piece = Piece { bytes: b"a\nabb\n", offset: 0, named: false, last: true };
/// engine.scan(piece, &mut engine.scratch(), &mut found);
/// assert_eq!(found.findings[0].offset, 2);
/// assert_eq!(found.text, b"abb\n");
/// # Ok::<(), scan::pattern::PatternError>(())
/// ```
#[derive(Clone)]
pub struct PatternEngine {
    matcher: RegexMatcher,
    wanted: Wanted,
    search: Search,
    invert: bool,
    text: bool,
    unit: Unit,
}

/// What a worker keeps between pieces: a regex with caches of its own.
pub struct PatternScratch {
    matcher: RegexMatcher,
    converted: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    ByLine { fast: bool },
    ByRange { max_count: u64 },
}

impl PatternEngine {
    pub(crate) fn new(
        config: &PatternConfig,
        want: impl FnOnce(bool) -> Wanted,
    ) -> Result<Self, PatternError> {
        let mut matcher = config.compile()?;
        let terminator = config.line_terminator();
        let ranges = config.multi_line && may_match_newline(&matcher);
        let wanted = want(ranges);
        let (search, unit) = if ranges {
            // What is not found has no matches to count.
            let bound = if config.invert {
                config.max_count
            } else {
                wanted.max_count
            };
            let max_count = bound.unwrap_or(u64::MAX);
            (
                Search::ByRange { max_count },
                Unit::Whole {
                    max_file: config.max_file,
                },
            )
        } else {
            if config.multi_line {
                matcher = PatternConfig {
                    multi_line: false,
                    ..config.clone()
                }
                .compile()?;
            }
            let fast = by_line::is_fast(&matcher, terminator);
            (
                Search::ByLine { fast },
                Unit::Lines {
                    max_line: config.max_line,
                },
            )
        };
        Ok(Self {
            matcher,
            wanted,
            search,
            invert: config.invert,
            text: config.text,
            unit,
        })
    }

    pub(crate) fn matcher(&self) -> &RegexMatcher {
        &self.matcher
    }

    pub(crate) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Whether a finding may be several lines.
    pub(crate) fn finds_ranges(&self) -> bool {
        matches!(self.search, Search::ByRange { .. })
    }
}

impl Engine for PatternEngine {
    type Scratch = PatternScratch;

    fn unit(&self) -> Unit {
        self.unit
    }

    fn scratch(&self) -> PatternScratch {
        PatternScratch {
            matcher: self.matcher.clone(),
            converted: Vec::new(),
        }
    }

    fn scan(&self, piece: Piece<'_>, scratch: &mut PatternScratch, found: &mut Found) {
        let PatternScratch { matcher, converted } = scratch;
        let mut text = piece.bytes;
        let nul = if self.text { None } else { memchr(0, text) };
        if let Some(at) = nul {
            let offset = piece.offset + at as u64;
            if !piece.named {
                found.nul = Some(offset);
                text = before(text, binary::text_ends(offset).saturating_sub(piece.offset));
            } else {
                found.converted = found.converted.or(Some(offset));
                if matches!(self.search, Search::ByLine { .. }) {
                    convert(text, at, converted);
                    text = converted;
                }
            }
        }
        let lines = Collector::new(matcher, &self.wanted, (text, piece.offset), found);
        match self.search {
            Search::ByLine { fast } => by_line::search(lines, self.invert, fast, piece.last),
            Search::ByRange { max_count } => by_range::search(lines, self.invert, max_count),
        }
    }
}

impl fmt::Debug for PatternEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PatternEngine")
            .field("search", &self.search)
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PatternScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PatternScratch").finish_non_exhaustive()
    }
}

fn may_match_newline(matcher: &RegexMatcher) -> bool {
    matcher
        .non_matching_bytes()
        .is_none_or(|bytes| !bytes.contains(b'\n'))
}

/// The lines that end in the first `len` bytes.
fn before(text: &[u8], len: u64) -> &[u8] {
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(text.len());
    let end = memrchr(b'\n', &text[..len]).map_or(0, |newline| newline + 1);
    &text[..end]
}

/// Copies `text`, with an end of line for each NUL from `at` on.
fn convert(text: &[u8], at: usize, converted: &mut Vec<u8>) {
    converted.clear();
    converted.extend_from_slice(text);
    for byte in &mut converted[at..] {
        if *byte == 0 {
            *byte = b'\n';
        }
    }
}
