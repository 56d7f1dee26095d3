//! The line between a client and the server: what an answer takes to begin, and how many bytes go through in a second, of all answers together.

use std::io::Write;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that are sent in one piece.
const PIECE_BYTES: usize = 64 << 10;
/// So much that was not sent in time is made up for: a sleep that lasted too long does not make the line slower.
const SLACK: Duration = Duration::from_millis(2);

/// How slow a line is; by default not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// From a request to the first byte of its answer.
    pub latency: Duration,
    /// As many bytes, of all answers together.
    pub bytes_per_second: Option<u64>,
}

/// A line in use.
#[derive(Debug)]
pub(crate) struct Pace {
    line: Line,
    /// When the bytes that were let in are through.
    free_at: Mutex<Option<Instant>>,
}

impl Pace {
    pub(crate) fn of(line: Line) -> Self {
        Self {
            line,
            free_at: Mutex::new(None),
        }
    }

    /// Waits until an answer may begin.
    pub(crate) fn begin(&self) {
        if !self.line.latency.is_zero() {
            thread::sleep(self.line.latency);
        }
    }

    /// Sends a body, piece by piece as the line allows.
    pub(crate) fn send(&self, to: &mut impl Write, body: &[u8]) -> std::io::Result<()> {
        let Some(bytes_per_second) = self.line.bytes_per_second else {
            return to.write_all(body);
        };
        for piece in body.chunks(PIECE_BYTES) {
            let takes = Duration::from_secs_f64(piece.len() as f64 / bytes_per_second as f64);
            let through = {
                let mut free_at = self.free_at.lock().expect("nobody panics with it");
                let now = Instant::now();
                let soonest = now.checked_sub(SLACK).unwrap_or(now);
                let begins = free_at.map_or(now, |free_at| free_at.max(soonest));
                *free_at.insert(begins + takes)
            };
            thread::sleep(through.saturating_duration_since(Instant::now()));
            to.write_all(piece)?;
        }
        Ok(())
    }
}
