//! What a pipeline executor counts, in one snapshot: for people a few lines, for machines plain numbers.
//!
//! Counting is always on. A slot costs a load and a store of a word of its worker's own, a job a dozen of them, and nothing that workers
//! share; see the decision record 0026.

mod meter;

use std::fmt;
use std::time::Duration;

use executor_core::{TimeHistogram, thousands, write_columns};

use crate::native::Hub;
use crate::policy::{Class, PipelinePorts};
pub(crate) use meter::Meter;

/// A pipeline executor in numbers, at one moment; the numbers may be some operations apart. What is counted only grows, and
/// [`PipelineSnapshot::since`] gives what came in between two of them.
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
/// Its `Display` looks like this. The line *others* is for threads that are no workers, and is there if they did anything; *busy*
/// is time in jobs.
///
/// ```text
/// 11 jobs submitted, 0 wait, 0 run in 1.4ms
/// 11 ended: 10 completed, 1 failed
/// worker  role     slots  as main  as reserve  claims  visits  ended     busy
///      0  main        17       17           0      17      11      9  102.1µs
///      1  reserve      4        0           4       4       3      2   31.5µs
///  total              21       17           4      21      14     11  133.6µs
///   time   class  jobs     p50     p90     p99     max
/// waited  normal    11  17.4µs  25.1µs  51.7µs  51.7µs
///    ran  normal    11   6.1µs   8.4µs  11.3µs  11.3µs
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipelineSnapshot {
    /// Since the executor was built, or since the earlier snapshot.
    pub elapsed: Duration,
    /// Jobs that wait or run now.
    pub queue_depth: usize,
    /// Jobs of which nothing has been claimed yet.
    pub waiting: usize,
    /// Jobs of which something has been claimed and that have not ended.
    pub running: usize,
    /// Jobs that were submitted, and how those ended that have.
    pub jobs: JobCounts,
    /// What each worker did, by its number.
    pub workers: Vec<Activity>,
    /// What threads did that are no workers: those that are lent, spare threads, and those that submit or cancel a job that ends thereby.
    pub others: Activity,
    /// Workers in the main role; those with higher numbers are in the reserve role. A single one has both.
    pub workers_main: usize,
    /// How long jobs waited and ran, by class: see [`PipelineSnapshot::times_of`].
    pub times: [Times; Class::ALL.len()],
}

/// How many jobs came, and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobCounts {
    /// Were let in.
    pub submitted: u64,
    /// Were refused since as many waited and ran as may. One that waits for room is not refused.
    pub refused_full: u64,
    /// Completed.
    pub completed: u64,
    /// Failed by a step that returned an error.
    pub failed: u64,
    /// Failed by a step that panicked.
    pub panicked: u64,
    /// Were cancelled, by whoever held a control or by a shutdown while they ran.
    pub cancelled: u64,
    /// Were not done by their deadlines.
    pub deadline_exceeded: u64,
    /// Were handed back by a shutdown.
    pub handed_back: u64,
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Slots that it ran in the main role, well or not.
    pub slots_main: u64,
    /// Slots that it ran in the reserve role.
    pub slots_reserve: u64,
    /// Slots that threads ran which were lent to a job.
    pub slots_lent: u64,
    /// Slots that spare threads ran.
    pub slots_spare: u64,
    /// Times that it claimed slots.
    pub claims: u64,
    /// Times that it came to a job.
    pub visits: u64,
    /// Jobs that ended on it.
    pub jobs_ended: u64,
    /// Time in jobs in the main role, that of a worker's visit that goes on included.
    pub busy_main: Duration,
    /// Time in jobs in the reserve role.
    pub busy_reserve: Duration,
    /// Time in jobs of threads that were lent, from when they leave.
    pub busy_lent: Duration,
    /// Time in jobs of spare threads, from when they leave.
    pub busy_spare: Duration,
}

/// How long jobs took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// From the submission to the first claim, or to the end of a job of which nothing was claimed.
    pub wait: TimeHistogram,
    /// From the first claim to the end, however it ended.
    pub run: TimeHistogram,
}

impl PipelineSnapshot {
    pub(crate) fn read(hub: &Hub) -> Self {
        let (shared, meter) = (hub.shared(), hub.meter());
        // Latest things first: what has ended was submitted, whatever happens while this goes on.
        let ended = meter.jobs(0);
        let times = Class::ALL.map(|class| meter.times(class));
        let submitted = shared.submitted(hub) as u64;
        let waited: u64 = times.iter().map(|times| times.wait.samples()).sum();
        let now_ns = executor_core::ports::Clock::now_ns(hub);
        let mut workers = meter.activities(now_ns);
        let less =
            |all: u64, of_them: u64| usize::try_from(all.saturating_sub(of_them)).unwrap_or(usize::MAX);
        Self {
            elapsed: Duration::from_nanos(now_ns),
            queue_depth: shared.admission().in_flight(hub),
            waiting: less(submitted, waited),
            running: less(waited, ended.ended()),
            jobs: JobCounts { submitted, ..ended },
            others: workers.pop().unwrap_or_default(),
            workers,
            workers_main: shared.config().main,
            times,
        }
    }

    /// What was counted since `earlier`, a snapshot of the same executor. What waits and runs is as it is now.
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

    /// What all workers and others did together.
    #[must_use]
    pub fn total(&self) -> Activity {
        self.workers
            .iter()
            .fold(self.others, |total, worker| total.and(worker))
    }

    /// How long jobs of a class waited and ran.
    #[must_use]
    pub fn times_of(&self, class: Class) -> &Times {
        &self.times[class as usize]
    }

    /// How long jobs of all classes waited and ran.
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

impl JobCounts {
    /// Jobs that have ended, however.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ends().into_iter().map(|(count, _)| count).sum()
    }

    fn ends(&self) -> [(u64, &'static str); 6] {
        [
            (self.completed, "completed"),
            (self.failed, "failed"),
            (self.panicked, "panicked"),
            (self.cancelled, "cancelled"),
            (self.deadline_exceeded, "past their deadlines"),
            (self.handed_back, "handed back"),
        ]
    }

    fn each(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            submitted: with(self.submitted, other.submitted),
            refused_full: with(self.refused_full, other.refused_full),
            completed: with(self.completed, other.completed),
            failed: with(self.failed, other.failed),
            panicked: with(self.panicked, other.panicked),
            cancelled: with(self.cancelled, other.cancelled),
            deadline_exceeded: with(self.deadline_exceeded, other.deadline_exceeded),
            handed_back: with(self.handed_back, other.handed_back),
        }
    }
}

impl Activity {
    /// Slots that it ran, in whatever role.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.slots_main + self.slots_reserve + self.slots_lent + self.slots_spare
    }

    /// Time in jobs, in whatever role.
    #[must_use]
    pub fn busy(&self) -> Duration {
        self.busy_main + self.busy_reserve + self.busy_lent + self.busy_spare
    }

    fn since(&self, earlier: &Self) -> Self {
        self.each(earlier, u64::saturating_sub, Duration::saturating_sub)
    }

    fn and(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add, Duration::saturating_add)
    }

    fn each(
        &self,
        other: &Self,
        with: impl Fn(u64, u64) -> u64,
        time: impl Fn(Duration, Duration) -> Duration,
    ) -> Self {
        Self {
            slots_main: with(self.slots_main, other.slots_main),
            slots_reserve: with(self.slots_reserve, other.slots_reserve),
            slots_lent: with(self.slots_lent, other.slots_lent),
            slots_spare: with(self.slots_spare, other.slots_spare),
            claims: with(self.claims, other.claims),
            visits: with(self.visits, other.visits),
            jobs_ended: with(self.jobs_ended, other.jobs_ended),
            busy_main: time(self.busy_main, other.busy_main),
            busy_reserve: time(self.busy_reserve, other.busy_reserve),
            busy_lent: time(self.busy_lent, other.busy_lent),
            busy_spare: time(self.busy_spare, other.busy_spare),
        }
    }

    fn row(&self, name: String, role: &str) -> [String; 9] {
        [
            name,
            role.to_owned(),
            thousands(self.slots()),
            thousands(self.slots_main),
            thousands(self.slots_reserve),
            thousands(self.claims),
            thousands(self.visits),
            thousands(self.jobs_ended),
            format!("{:.1?}", self.busy()),
        ]
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
