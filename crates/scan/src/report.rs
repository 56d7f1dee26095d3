//! What became of each object, and the sums over all.

use std::fmt;
use std::io;

use crate::output::Findings;

/// What became of one object.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// What was found up to there.
    pub findings: Findings,
    /// Lines that were longer than the engine's longest, and searched in pieces.
    pub cut_lines: u64,
}

/// How an object ended.
#[derive(Debug)]
pub enum Outcome {
    /// It was searched, and nothing was found.
    Clean,
    /// It was searched, and something was found.
    Findings,
    /// It was not searched, on purpose.
    Skipped(Skipped),
    /// It could not be searched, or not to its end.
    Error(Trouble),
}

/// Why an object was not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// A symbolic link, and links are not followed.
    Link,
    /// A FIFO, socket or device.
    Special,
    /// The file is larger than [`crate::ParallelScanConfig::max_file_size`].
    TooLarge,
    /// The scan was cancelled first.
    Cancelled,
}

/// Why an object could not be searched to its end.
#[derive(Debug)]
pub enum Trouble {
    /// The file or directory could not be opened, or is gone.
    Open(io::Error),
    /// A read failed; `offset` is where, and 0 for a directory.
    Read {
        /// Where in the file.
        offset: u64,
        /// Why.
        error: io::Error,
    },
    /// Another kind of thing has taken the place of a file or directory since it was listed.
    Replaced,
    /// A followed link leads to a directory that it is in.
    Loop,
    /// The engine searches files whole, and this one is longer than it takes.
    TooLong {
        /// Bytes of the longest.
        max: u64,
    },
}

impl Report {
    pub(crate) fn skipped(why: Skipped) -> Self {
        Self::of(Outcome::Skipped(why))
    }

    pub(crate) fn error(trouble: Trouble) -> Self {
        Self::of(Outcome::Error(trouble))
    }

    pub(crate) fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            findings: Findings::default(),
            cut_lines: 0,
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "a symbolic link",
            Self::Special => "no regular file",
            Self::TooLarge => "larger than the limit",
            Self::Cancelled => "cancelled",
        })
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::Read { offset: 0, error } => error.fmt(f),
            Self::Read { offset, error } => write!(f, "at byte {offset}: {error}"),
            Self::Replaced => f.write_str("replaced by something else while it was listed"),
            Self::Loop => f.write_str("a link to a directory that it is in"),
            Self::TooLong { max } => write!(f, "longer than {max} bytes, and to be searched whole"),
        }
    }
}

/// Sums over all objects of a scan. `clean`, `with_findings`, `skipped` and `errors` add up to
/// `objects`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Objects found.
    pub objects: u64,
    /// Searched, and nothing found.
    pub clean: u64,
    /// Searched, and something found.
    pub with_findings: u64,
    /// Not searched, on purpose.
    pub skipped: u64,
    /// Not searched, or not to their end.
    pub errors: u64,
    /// Lines found.
    pub lines: u64,
    /// Matches in them.
    pub matches: u64,
    /// Bytes searched.
    pub bytes: u64,
    /// Bytes printed.
    pub printed: u64,
    /// Lines that were searched in pieces.
    pub cut_lines: u64,
    /// Whether the scan was cancelled.
    pub cancelled: bool,
}

impl Summary {
    pub(crate) fn count(&mut self, report: &Report) {
        match report.outcome {
            Outcome::Clean => self.clean += 1,
            Outcome::Findings => self.with_findings += 1,
            Outcome::Skipped(_) => self.skipped += 1,
            Outcome::Error(_) => self.errors += 1,
        }
        self.lines += report.findings.lines;
        self.matches += report.findings.matches;
        self.bytes += report.findings.bytes;
        self.printed += report.findings.printed;
        self.cut_lines += report.cut_lines;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.objects += other.objects;
        self.clean += other.clean;
        self.with_findings += other.with_findings;
        self.skipped += other.skipped;
        self.errors += other.errors;
        self.lines += other.lines;
        self.matches += other.matches;
        self.bytes += other.bytes;
        self.printed += other.printed;
        self.cut_lines += other.cut_lines;
    }
}
