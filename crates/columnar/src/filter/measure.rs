//! Measurements of a filter step: rows in, rows out, time.
//!
//! The counters publish no other memory. They choose an order of steps, on which no result depends,
//! and appear in plans.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Rows after which a measurement replaces the estimate.
const ENOUGH_ROWS: u64 = 65_536;

#[derive(Debug, Default)]
pub(super) struct Measured {
    rows_in: Counter,
    rows_out: Counter,
    nanos: Counter,
}

impl Measured {
    pub(super) fn add(&self, rows_in: usize, rows_out: usize, time: Duration) {
        self.rows_in.add(rows_in as u64);
        self.rows_out.add(rows_out as u64);
        self.nanos.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The cost is in nanoseconds per row. `None` until enough rows were seen.
    pub(super) fn selectivity_and_cost(&self) -> Option<(f64, f64)> {
        let rows_in = self.rows_in.get();
        let per_row = |total: u64| total as f64 / rows_in as f64;
        (rows_in >= ENOUGH_ROWS).then(|| (per_row(self.rows_out.get()), per_row(self.nanos.get())))
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows_in, rows_out) = (self.rows_in.get(), self.rows_out.get());
        if rows_in == 0 {
            return Ok(());
        }
        let part = rows_out as f64 / rows_in as f64 * 100.0;
        let ms = Duration::from_nanos(self.nanos.get()).as_secs_f64() * 1e3;
        write!(
            f,
            "; measured {part:.1} %, {rows_in} rows in, {rows_out} out, {ms:.3} ms"
        )
    }
}

#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    fn add(&self, amount: u64) {
        // Ordering: Relaxed. A count; it publishes nothing.
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        // Ordering: Relaxed. A count; nothing else is read because of it.
        self.0.load(Ordering::Relaxed)
    }
}
