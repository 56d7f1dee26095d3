//! The counters of a stream, and their text.

use std::fmt;

/// The state and counters of a stream at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSnapshot {
    /// Bytes that count against the bound.
    pub bytes: usize,
    /// Largest value of `bytes` so far.
    pub bytes_peak: usize,
    /// The bound in bytes.
    pub read_ahead_bytes: usize,
    /// Number of batches that were read and not taken.
    pub ready: usize,
    /// Number of batches read so far.
    pub batches: u64,
    /// Bytes of the largest batch.
    pub largest: usize,
    /// Whether the source is closed and the calls of `on_close` were made.
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
