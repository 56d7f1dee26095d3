//! The counters of all workers, as a table for people.

mod delays;

use std::fmt;

use executor_core::{thousands, write_columns};

pub use delays::Delays;
pub use executor_core::WorkerMetricsLocal;

/// The counters of an executor that has ended.
///
/// Its `Display` is a summary, a table with a line for each worker, and the delays. In the table,
/// *run* is the sum of *own*, *injected* and *stolen*; *published* counts private tasks that became
/// public; *steals* are the probes that brought a task, of those *tried*; *vain* are wakes of this
/// worker that found nothing.
///
/// ```
/// use executor_threaded::{Executor, ExecutorConfig};
///
/// let executor = Executor::<u32>::new(ExecutorConfig::default(), |_| (), |n, cx| {
///     if n > 0 {
///         cx.spawn_local(n - 1);
///     }
/// })?;
/// executor.spawn_external(9)?;
/// let metrics = executor.join();
/// assert_eq!((metrics.total.executed(), metrics.total.spawned), (10, 9));
/// assert_eq!(metrics.accepted_external(), 1);
/// assert!(metrics.to_string().starts_with("10 tasks run by 1 worker"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetricsSnapshot {
    /// The sum over all workers.
    pub total: WorkerMetricsLocal,
    /// Each worker's counters, by its number.
    pub workers: Vec<WorkerMetricsLocal>,
    /// Workers that producers woke; not part of `total.wakes`.
    pub wakes_external: u64,
    /// How long tasks waited in the injector, by a sample of one push in 64 of each thread. Up to
    /// 31 tasks that were taken together may run before one of them.
    pub injector_wait: Delays,
    /// The time from an unpark of a parked worker until it runs.
    pub wake_delay: Delays,
}

impl MetricsSnapshot {
    pub(crate) fn new(
        workers: Vec<WorkerMetricsLocal>,
        wakes_external: u64,
        injector_wait: Delays,
        wake_delay: Delays,
    ) -> Self {
        let mut total = WorkerMetricsLocal::default();
        for worker in &workers {
            total.merge(worker);
        }
        Self {
            total,
            workers,
            wakes_external,
            injector_wait,
            wake_delay,
        }
    }

    /// Tasks from outside: those that ran or were returned and were not spawned by a task.
    #[must_use]
    pub fn accepted_external(&self) -> u64 {
        (self.total.executed() + self.total.returned).saturating_sub(self.total.spawned)
    }
}

const COLUMNS: [&str; 13] = [
    "worker",
    "run",
    "own",
    "injected",
    "stolen",
    "spawned",
    "published",
    "steals",
    "tried",
    "parks",
    "wakes",
    "vain",
    "idle",
];

impl fmt::Display for MetricsSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.workers.len();
        write!(
            f,
            "{} tasks run by {n} {}",
            thousands(self.total.executed()),
            if n == 1 { "worker" } else { "workers" }
        )?;
        write!(
            f,
            ", {} of them from outside",
            thousands(self.accepted_external())
        )?;
        if self.total.panicked > 0 {
            write!(f, ", {} panicked", thousands(self.total.panicked))?;
        }
        if self.total.returned > 0 {
            write!(f, ", {} returned", thousands(self.total.returned))?;
        }
        writeln!(f)?;

        let mut rows = vec![COLUMNS.map(str::to_owned)];
        rows.extend(
            self.workers
                .iter()
                .enumerate()
                .map(|(id, w)| row(id.to_string(), w)),
        );
        if n > 1 {
            rows.push(row("total".to_owned(), &self.total));
        }
        write_columns(f, &rows)?;
        for (what, delays) in [
            ("waited in the injector", &self.injector_wait),
            ("from wake to running", &self.wake_delay),
        ] {
            if delays.samples > 0 {
                write!(f, "\n{what}: {delays}")?;
            }
        }
        Ok(())
    }
}

fn row(name: String, w: &WorkerMetricsLocal) -> [String; COLUMNS.len()] {
    [
        name,
        thousands(w.executed()),
        thousands(w.executed_local),
        thousands(w.executed_injector),
        thousands(w.executed_stolen),
        thousands(w.spawned),
        thousands(w.published),
        thousands(w.steals_won),
        thousands(w.steals_tried),
        thousands(w.parks),
        thousands(w.wakes),
        thousands(w.wakes_for_nothing),
        format!("{:.1?}", w.idle),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use executor_core::TimeHistogram;

    use super::*;

    #[test]
    fn the_total_is_the_sum_and_the_table_has_a_line_a_worker() {
        let worker = |n: u64| WorkerMetricsLocal {
            executed_local: 1_000 * n,
            executed_stolen: n,
            spawned: 1_000 * n,
            idle: Duration::from_millis(n),
            ..WorkerMetricsLocal::default()
        };
        let snapshot = MetricsSnapshot::new(
            vec![worker(1), worker(2)],
            5,
            Delays::default(),
            Delays::default(),
        );
        assert_eq!(snapshot.total.executed(), 3_003);
        assert_eq!(snapshot.accepted_external(), 3);
        let text = snapshot.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "3,003 tasks run by 2 workers, 3 of them from outside");
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[4].starts_with(" total  3,003"), "{text}");
        assert!(
            lines[1..].iter().all(|line| line.len() == lines[1].len()),
            "{text}"
        );
        let mut waits = TimeHistogram::default();
        waits.add_ns(1_500);
        let told = MetricsSnapshot {
            injector_wait: Delays::of(&waits),
            ..snapshot
        };
        let text = told.to_string();
        assert!(
            text.ends_with("\nwaited in the injector: p50 1.5µs, p99 1.5µs, max 1.5µs of 1"),
            "{text}"
        );
    }
}
