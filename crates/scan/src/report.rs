//! What became of each object, and the sums over all.

use std::fmt;
use std::io;
use std::time::Duration;

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

impl Skipped {
    /// Every reason, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Link, Self::Special, Self::TooLarge, Self::Cancelled];
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

/// Skipped objects by reason. They add up to [`Summary::skipped`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedBy([u64; Skipped::ALL.len()]);

impl SkippedBy {
    /// How many were skipped for this reason.
    #[must_use]
    pub fn get(&self, why: Skipped) -> u64 {
        self.0[why as usize]
    }

    fn of(&mut self, why: Skipped) -> &mut u64 {
        &mut self.0[why as usize]
    }
}

/// Sums over all objects of a scan. `clean`, `with_findings`, `skipped` and `errors` add up to
/// `objects`. Names that rules leave out, and directories that could be read, are no objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Objects found.
    pub objects: u64,
    /// Searched, and nothing found.
    pub clean: u64,
    /// Searched, and something found.
    pub with_findings: u64,
    /// Not searched, on purpose: [`Self::skipped_by`] says why.
    pub skipped: u64,
    /// The same by reason.
    pub skipped_by: SkippedBy,
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
    /// Times of the files, added up, if they were measured. Files of several workers overlap.
    pub elapsed: Duration,
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
            Outcome::Skipped(why) => {
                self.skipped += 1;
                *self.skipped_by.of(why) += 1;
            }
            Outcome::Error(_) => self.errors += 1,
        }
        self.lines += report.findings.lines;
        self.matches += report.findings.matches;
        self.bytes += report.findings.bytes;
        self.printed += report.findings.printed;
        self.elapsed += report.findings.elapsed;
        self.cut_lines += report.cut_lines;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.objects += other.objects;
        self.clean += other.clean;
        self.with_findings += other.with_findings;
        self.skipped += other.skipped;
        for why in Skipped::ALL {
            *self.skipped_by.of(why) += other.skipped_by.get(why);
        }
        self.errors += other.errors;
        self.lines += other.lines;
        self.matches += other.matches;
        self.bytes += other.bytes;
        self.printed += other.printed;
        self.elapsed += other.elapsed;
        self.cut_lines += other.cut_lines;
    }
}

/// What became of the objects: a line of sums, and one for each reason to skip some.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            objects,
            clean,
            with_findings,
            skipped,
            errors,
            ..
        } = self;
        writeln!(
            f,
            "{objects} objects found = {clean} clean + {with_findings} with findings + {skipped} \
             skipped + {errors} failed"
        )?;
        for why in Skipped::ALL {
            match self.skipped_by.get(why) {
                0 => {}
                count => writeln!(f, "{count} skipped: {why}")?,
            }
        }
        match self.cut_lines {
            0 => Ok(()),
            lines => writeln!(f, "{lines} lines too long and searched in pieces"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_is_in_one_sum_and_every_skipped_one_in_the_sum_of_its_reason() {
        let mut summary = Summary::default();
        let clean = Report::of(Outcome::Clean);
        let failed = Report::error(Trouble::Loop);
        for report in Skipped::ALL.map(Report::skipped).iter().chain([&clean, &failed]) {
            summary.count(report);
        }
        let one = summary;
        summary.add(&one);
        assert_eq!((summary.clean, summary.errors, summary.skipped), (2, 2, 8));
        for (place, why) in Skipped::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, place);
            assert_eq!(summary.skipped_by.get(why), 2, "{why}");
        }
        summary.objects = 12;
        let text = summary.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "12 objects found = 2 clean + 0 with findings + 8 skipped + 2 failed"
        );
        assert_eq!(lines[1], "2 skipped: a symbolic link");
        assert_eq!(lines.len(), 5);
    }
}
