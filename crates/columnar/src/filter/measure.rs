//! What a filter step has seen so far: rows in, rows out, time.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Rows after which a measurement says more than an estimate.
const ENOUGH_ROWS: u64 = 65_536;

/// Counters of one step, added to by all workers.
#[derive(Debug, Default)]
pub(super) struct Measured {
    rows_in: AtomicU64,
    rows_out: AtomicU64,
    nanos: AtomicU64,
}

impl Measured {
    pub(super) fn add(&self, rows_in: usize, rows_out: usize, time: Duration) {
        // Ordering: Relaxed, here and below. The counters publish nothing: they choose an order of steps on which no
        // result depends, and are shown to a reader who takes them as they are.
        self.rows_in.fetch_add(rows_in as u64, Ordering::Relaxed);
        self.rows_out.fetch_add(rows_out as u64, Ordering::Relaxed);
        self.nanos.fetch_add(
            u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// The part of the rows that stayed and the nanoseconds a row took, once enough rows were seen.
    pub(super) fn selectivity_and_cost(&self) -> Option<(f64, f64)> {
        let Seen {
            rows_in,
            rows_out,
            nanos,
        } = self.seen();
        (rows_in >= ENOUGH_ROWS).then(|| (rows_out as f64 / rows_in as f64, nanos as f64 / rows_in as f64))
    }

    fn seen(&self) -> Seen {
        // Ordering: Relaxed, all three. As in `add`.
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Seen {
            rows_in: read(&self.rows_in),
            rows_out: read(&self.rows_out),
            nanos: read(&self.nanos),
        }
    }
}

/// The counters at about one moment.
struct Seen {
    rows_in: u64,
    rows_out: u64,
    nanos: u64,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen {
            rows_in,
            rows_out,
            nanos,
        } = self.seen();
        if rows_in == 0 {
            return Ok(());
        }
        let part = rows_out as f64 / rows_in as f64 * 100.0;
        let ms = Duration::from_nanos(nanos).as_secs_f64() * 1e3;
        write!(
            f,
            "; measured {part:.1} %, {rows_in} rows in, {rows_out} out, {ms:.3} ms"
        )
    }
}
