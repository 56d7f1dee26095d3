//! A snapshot of the counters.

use std::fmt;
use std::time::Duration;

use executor_core::{thousands, write_columns};

use super::counts::{Activity, JobCounts, Times};
use crate::policy::job::spec::Class;

/// The counters of an executor, which may be some operations apart. [`PipelineSnapshot::since`]
/// subtracts snapshots.
///
/// ```
/// use pipeline_exec::{Class, Job, PipelineExecutor, step};
///
/// let executor = PipelineExecutor::new(2)?;
/// let before = executor.snapshot();
/// for _ in 0..10 {
///     executor.submit(Job::from_steps("cities", vec![step(|_| Ok(())), step(|_| Ok(()))]))?.wait()?;
/// }
/// executor.submit(Job::from_steps("roads", vec![step(|_| Err("washed away".into()))]))?.wait().unwrap_err();
///
/// let interval = executor.snapshot().since(&before);
/// assert_eq!((interval.jobs.completed, interval.jobs.failed), (10, 1));
/// assert_eq!(interval.total().slots(), 21);
/// let p99 = interval.times_of(Class::Normal).wait.percentile(99.0);
/// assert!(p99 <= interval.times_of(Class::Normal).wait.max());
///
/// let text = interval.to_string();
/// assert!(text.contains("11 jobs submitted, 0 wait, 0 run"), "{text}");
/// assert!(text.contains("11 ended: 10 completed, 1 failed"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Its `Display`: *busy* is time in jobs, and *others* appears if other threads counted something.
///
/// ```text
/// 11 jobs submitted, 0 wait, 0 run in 1.4ms
/// 11 ended: 10 completed, 1 failed
/// worker  role     slots  as main  as reserve  claims  visits  ended     busy
///       0  main        17       17           0      17      11      9  102.1µs
///       1  reserve      4        0           4       4       3      2   31.5µs
///   total              21       17           4      21      14     11  133.6µs
///    time   class  jobs     p50     p90     p99     max
/// waited  normal    11  17.4µs  25.1µs  51.7µs  51.7µs
///     ran  normal    11   6.1µs   8.4µs  11.3µs  11.3µs
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipelineSnapshot {
    /// Time since the build, or the earlier snapshot.
    pub elapsed: Duration,
    /// Jobs that wait or run now.
    pub queue_depth: usize,
    /// Jobs without a claim.
    pub waiting: usize,
    /// Unfinished jobs with a claim.
    pub running: usize,
    /// Jobs submitted, and their ends.
    pub jobs: JobCounts,
    /// Each worker's activity, by number.
    pub workers: Vec<Activity>,
    /// Activity of helpers, spare threads, and callers on which a job ended.
    pub others: Activity,
    /// Workers in the main role; higher numbers are in reserve. A single worker has both.
    pub workers_main: usize,
    /// Times by class: see [`PipelineSnapshot::times_of`].
    pub times: [Times; Class::ALL.len()],
}

impl PipelineSnapshot {
    /// Returns the difference to an earlier snapshot. Waiting and running jobs are those of now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        since.elapsed = self.elapsed.saturating_sub(earlier.elapsed);
        since.jobs = self.jobs.each(&earlier.jobs, u64::saturating_sub);
        for (worker, before) in since.workers.iter_mut().zip(&earlier.workers) {
            *worker = worker.since(before);
        }
        since.others = self.others.since(&earlier.others);
        for (times, before) in since.times.iter_mut().zip(&earlier.times) {
            times.wait = times.wait.since(&before.wait);
            times.run = times.run.since(&before.run);
        }
        since
    }

    /// Returns the activity of all threads together.
    #[must_use]
    pub fn total(&self) -> Activity {
        self.workers
            .iter()
            .fold(self.others, |total, worker| total.and(worker))
    }

    /// Waiting and run times of a class.
    #[must_use]
    pub fn times_of(&self, class: Class) -> &Times {
        &self.times[class as usize]
    }

    /// Waiting and run times of all classes.
    #[must_use]
    pub fn times_of_all(&self) -> Times {
        let mut all = Times::default();
        for times in &self.times {
            all.wait.merge(&times.wait);
            all.run.merge(&times.run);
        }
        all
    }
}

impl fmt::Display for PipelineSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs = &self.jobs;
        write!(
            f,
            "{} jobs submitted, {} wait, {} run in {:.1?}",
            thousands(jobs.submitted),
            thousands(self.waiting as u64),
            thousands(self.running as u64),
            self.elapsed
        )?;
        if jobs.refused_full > 0 {
            write!(f, "; {} refused for want of room", thousands(jobs.refused_full))?;
        }
        write!(f, "\n{} ended", thousands(jobs.ended()))?;
        let mut before = ": ";
        for (count, how) in jobs.ends().into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{before}{} {how}", thousands(count))?;
            before = ", ";
        }
        f.write_str("\n")?;
        write_columns(f, &self.rows_by_worker())?;
        let by_time = self.rows_by_time();
        if by_time.len() > 1 {
            f.write_str("\n")?;
            write_columns(f, &by_time)?;
        }
        Ok(())
    }
}

impl PipelineSnapshot {
    fn rows_by_worker(&self) -> Vec<[String; 9]> {
        let heads = [
            "worker",
            "role",
            "slots",
            "as main",
            "as reserve",
            "claims",
            "visits",
            "ended",
            "busy",
        ];
        let mut rows = vec![heads.map(str::to_owned)];
        for (id, worker) in self.workers.iter().enumerate() {
            let role = match self.workers.len() {
                1 => "both",
                _ if id < self.workers_main => "main",
                _ => "reserve",
            };
            rows.push(worker.row(id.to_string(), role));
        }
        let others = self.others != Activity::default();
        if others {
            rows.push(self.others.row("others".to_owned(), ""));
        }
        if others || self.workers.len() > 1 {
            rows.push(self.total().row("total".to_owned(), ""));
        }
        rows
    }

    fn rows_by_time(&self) -> Vec<[String; 7]> {
        let heads = ["time", "class", "jobs", "p50", "p90", "p99", "max"];
        let mut rows = vec![heads.map(str::to_owned)];
        for kind in ["waited", "ran"] {
            for (class, times) in Class::ALL.iter().zip(&self.times) {
                let histogram = if kind == "ran" { &times.run } else { &times.wait };
                if histogram.samples() > 0 {
                    let [p50, p90, p99] =
                        [50.0, 90.0, 99.0].map(|percent| format!("{:.1?}", histogram.percentile(percent)));
                    let (jobs, max) = (thousands(histogram.samples()), format!("{:.1?}", histogram.max()));
                    rows.push([kind.to_owned(), class.name().to_owned(), jobs, p50, p90, p99, max]);
                }
            }
        }
        rows
    }
}
