//! What searches bytes: an engine, the pieces that it is given, and what it finds in them.

/// Searches pieces of files.
///
/// What it finds in a file depends on the file's bytes alone: not on where pieces are cut, nor on
/// the worker, nor on what was searched before.
pub trait Engine: Send + Sync {
    /// What a worker keeps from piece to piece, such as a regex cache.
    type Scratch: Send;

    /// How files are cut into pieces.
    fn unit(&self) -> Unit;

    /// Scratch for one worker.
    fn scratch(&self) -> Self::Scratch;

    /// Searches `piece` and adds what it finds to `found`, by offset.
    fn scan(&self, piece: Piece<'_>, scratch: &mut Self::Scratch, found: &mut Found);
}

/// How a file may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Between lines. A line longer than `max_line` bytes is cut into pieces of that length, from
    /// its beginning on, and the report says so.
    Lines {
        /// Bytes of the longest line that is searched whole.
        max_line: usize,
    },
    /// Nowhere: the file is searched whole. A longer file is an error.
    Whole {
        /// Bytes of the longest file.
        max_file: usize,
    },
}

/// A part of a file: whole units.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The bytes. Their last line may lack its end only if it is the file's last or longer than
    /// `max_line`.
    pub bytes: &'a [u8],
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Whether the caller named the file itself. Then a NUL does not end the search.
    pub named: bool,
    /// Whether the file ends with this piece, as far as the caller knows. Ends of lines after the
    /// last finding need not be counted then; `false` is never wrong.
    pub last: bool,
}

/// What was found in a piece, or in several pieces of a file one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By offset.
    pub findings: Vec<Finding>,
    /// Matches within findings, by finding and offset.
    pub spans: Vec<Span>,
    /// Bytes of the findings, one after another: a piece's buffer is used again before they are
    /// printed.
    pub text: Vec<u8>,
    /// Ends of lines in the pieces. 0 if the engine was told that line numbers are not wanted.
    pub lines: u64,
    /// Lines found, or ranges of lines: more than there are findings if only counts are wanted.
    pub found: u64,
    /// Matches found, if the engine counts them.
    pub matches: u64,
    /// Bytes searched.
    pub bytes: u64,
    /// Offset in the file of the first NUL, if the engine stops at such. What comes after this
    /// piece is not searched.
    pub nul: Option<u64>,
    /// Offset in the file of the first NUL that was searched as if it were the end of a line.
    pub converted: Option<u64>,
    /// [`Piece::last`] of the last piece: an output need not wait for what comes.
    pub last: bool,
}

impl Found {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.findings.clear();
        self.spans.clear();
        self.text.clear();
        let Self {
            findings,
            spans,
            text,
            ..
        } = std::mem::take(self);
        *self = Self {
            findings,
            spans,
            text,
            ..Self::default()
        };
    }
}

/// One found line, or one found range of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Ends of lines before it in [`Found`], from 0.
    pub line: u64,
    /// Where its bytes begin in [`Found::text`].
    pub start: usize,
    /// Number of its bytes, the line's end included.
    pub len: usize,
    /// How many of [`Found::spans`] are within it.
    pub matches: usize,
}

/// One match: a range of a finding's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last; equal to `start` for an empty match.
    pub end: usize,
}
