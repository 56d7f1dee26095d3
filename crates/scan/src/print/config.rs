//! How findings are printed, as plain data.

use crate::pattern::{Keep, PatternConfig, Spans, Wanted};

/// How findings are printed. The defaults are ripgrep's into a pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintConfig {
    /// What is printed of a file.
    pub format: Format,
    /// Lines and counts have the file's path.
    pub path: bool,
    /// Paths are printed without `./` at their beginning.
    pub strip_dot: bool,
    /// The path stands above a file's lines, not in each.
    pub heading: bool,
    /// Lines have their number. Without, JSON has `null`.
    pub line_numbers: bool,
    /// Found lines have the column of their first match, in bytes from 1.
    pub column: bool,
    /// Lines have their offset in the file.
    pub byte_offset: bool,
    /// Matches alone are printed, each on a line.
    pub only_matching: bool,
    /// With a terminal's escapes.
    pub color: bool,
    /// Lines printed before each found one.
    pub before: usize,
    /// Lines printed after each found one.
    pub after: usize,
    /// Matches are counted for statistics, where the format alone would not need it.
    pub stats: bool,
    /// The time that each file took is measured; otherwise it is 0.
    pub timed: bool,
}

/// What is printed of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Its found lines.
    #[default]
    Text,
    /// JSON Lines: `begin`, `match`, `context`, `end`.
    Json,
    /// The number of found lines, if there are any.
    Count,
    /// The number of matches, if there are any.
    CountMatches,
    /// Its path, if a line is found.
    Paths,
    /// Its path, if no line is found.
    PathsWithout,
    /// Nothing. A line is looked for.
    Quiet,
}

impl Default for PrintConfig {
    fn default() -> Self {
        Self {
            format: Format::default(),
            path: true,
            strip_dot: false,
            heading: false,
            line_numbers: false,
            column: false,
            byte_offset: false,
            only_matching: false,
            color: false,
            before: 0,
            after: 0,
            stats: false,
            timed: false,
        }
    }
}

impl PrintConfig {
    /// Whether a file's first found line decides.
    pub(crate) fn wants_first(&self) -> bool {
        !self.stats && matches!(self.format, Format::Paths | Format::PathsWithout | Format::Quiet)
    }

    /// What an engine must find. `ranges`: a match may contain ends of lines.
    pub(crate) fn wanted(&self, pattern: &PatternConfig, ranges: bool) -> Wanted {
        let counts = if ranges || self.stats {
            Spans::Counts
        } else {
            Spans::None
        };
        let places = self.color || self.column || self.only_matching || self.stats;
        let (keep, spans) = match self.format {
            Format::Text if places => (Keep::Text, Spans::Places),
            Format::Text => (Keep::Text, Spans::None),
            Format::Json => (Keep::Text, Spans::Places),
            // How many are found before the bound is reached is known when pieces are in order.
            _ if self.wants_first() => (Keep::Places, Spans::None),
            Format::CountMatches if pattern.max_count.is_some() && !ranges => (Keep::Places, Spans::Counts),
            Format::CountMatches => (Keep::Counts, Spans::Counts),
            _ if pattern.max_count.is_some() && !ranges => (Keep::Places, counts),
            _ => (Keep::Counts, counts),
        };
        Wanted {
            keep,
            spans,
            line_numbers: match self.format {
                Format::Text | Format::Json => self.line_numbers,
                _ => false,
            },
            max_count: if self.wants_first() {
                Some(1)
            } else {
                pattern.max_count
            },
            terminator: pattern.line_terminator(),
        }
    }
}
