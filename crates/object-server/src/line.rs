//! The line between client and server.

use std::io::Write;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const PIECE_BYTES: usize = 64 << 10;
/// Lag that later writes make up for: an overlong sleep does not slow the line.
const SLACK: Duration = Duration::from_millis(2);

/// Speed of a line; by default unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// From a request to the first byte of its answer.
    pub latency: Duration,
    /// Bytes per second, of all answers together.
    pub bytes_per_second: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Pace {
    line: Line,
    free_at: Mutex<Option<Instant>>,
}

impl Pace {
    pub(crate) fn of(line: Line) -> Self {
        Self {
            line,
            free_at: Mutex::new(None),
        }
    }

    pub(crate) fn begin(&self) {
        if !self.line.latency.is_zero() {
            thread::sleep(self.line.latency);
        }
    }

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
