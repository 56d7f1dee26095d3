//! The counters of a stream, and their text.

use std::fmt;

/// State and counters of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSnapshot {
    /// Bytes that count.
    pub bytes: usize,
    /// Their peak.
    pub bytes_peak: usize,
    /// Their bound.
    pub read_ahead_bytes: usize,
    /// Batches that were read and not taken.
    pub ready: usize,
    /// Batches read so far.
    pub batches: u64,
    /// Bytes of the largest batch.
    pub largest: usize,
    /// The source is closed, and the `on_close` calls were made.
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
