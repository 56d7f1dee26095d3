//! Measurements of a filter step: rows in, rows out, time.
//!
//! All of them are for people. The order of steps follows the recent ones: with each window of rows,
//! what was counted before weighs half, so a step is judged by the part of the table that is being
//! read. Counters publish no other memory, and no result depends on them; threads that halve at the
//! same time lose some counts.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Rows after which a measurement replaces the estimate.
const ENOUGH_ROWS: u64 = 65_536;

/// Rows after which what was counted weighs half.
const WINDOW_ROWS: u64 = 4 * ENOUGH_ROWS;

#[derive(Debug, Default)]
pub(super) struct Measured {
    all: Counts,
    recent: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    rows_in: Counter,
    rows_out: Counter,
    nanos: Counter,
}

impl Measured {
    pub(super) fn add(&self, rows_in: usize, rows_out: usize, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        for counts in [&self.all, &self.recent] {
            counts.rows_in.add(rows_in as u64);
            counts.rows_out.add(rows_out as u64);
            counts.nanos.add(nanos);
        }
        let Counts {
            rows_in,
            rows_out,
            nanos,
        } = &self.recent;
        if rows_in.get() > WINDOW_ROWS {
            [rows_in, rows_out, nanos].into_iter().for_each(Counter::halve);
        }
    }

    /// Of the recent rows. The cost is in nanoseconds per row. `None` until enough rows were seen.
    pub(super) fn selectivity_and_cost(&self) -> Option<(f64, f64)> {
        let Counts {
            rows_in,
            rows_out,
            nanos,
        } = &self.recent;
        let rows = rows_in.get();
        let per_row = |total: u64| total as f64 / rows as f64;
        (rows >= ENOUGH_ROWS).then(|| (per_row(rows_out.get()), per_row(nanos.get())))
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows_in, rows_out) = (self.all.rows_in.get(), self.all.rows_out.get());
        if rows_in == 0 {
            return Ok(());
        }
        let part = rows_out as f64 / rows_in as f64 * 100.0;
        let ms = Duration::from_nanos(self.all.nanos.get()).as_secs_f64() * 1e3;
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

    fn halve(&self) {
        // Ordering: Relaxed. A count; what another thread adds meanwhile may be lost.
        self.0.store(self.get() / 2, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        // Ordering: Relaxed. A count; nothing else is read because of it.
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_judged_by_the_rows_that_it_saw_last() {
        let measured = Measured::default();
        assert_eq!(measured.selectivity_and_cost(), None);
        let chunk = |rows_out| measured.add(16_384, rows_out, Duration::from_micros(1));
        (0..1_000).for_each(|_| chunk(0));
        assert_eq!(measured.selectivity_and_cost().unwrap().0, 0.0);
        // One in eleven would pass if all rows counted alike.
        (0..100).for_each(|_| chunk(16_384));
        let (selectivity, _) = measured.selectivity_and_cost().unwrap();
        assert!(selectivity > 0.99, "{selectivity}");
        let shown = measured.to_string();
        assert!(shown.contains("measured 9.1 %, 18022400 rows in"), "{shown}");
    }
}
