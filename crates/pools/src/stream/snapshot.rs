//! What is in a stream at a moment, and what it has counted.

use std::fmt;

/// A stream at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSnapshot {
    /// Bytes that are held now: of batches that were read and not taken, and of those whose slices are not done.
    pub bytes: usize,
    /// The most that there have been.
    pub bytes_peak: usize,
    /// As many as it may read ahead.
    pub read_ahead_bytes: usize,
    /// Batches that were read and not taken.
    pub ready: usize,
    /// Batches that were read, in all.
    pub batches: u64,
    /// The largest of them, in bytes.
    pub largest: usize,
    /// Whether the source is closed and everybody who wanted to know has been told.
    pub over: bool,
}

impl fmt::Display for StreamSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bytes,
            bytes_peak,
            read_ahead_bytes,
            ready,
            batches,
            largest,
            over,
        } = self;
        let over = if *over { ", over" } else { "" };
        write!(
            f,
            "{bytes} of {read_ahead_bytes} bytes held (at most {bytes_peak}), {ready} batches ready of {batches} read, the largest {largest} bytes{over}"
        )
    }
}
