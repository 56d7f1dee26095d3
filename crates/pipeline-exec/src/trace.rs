//! A run of jobs as a picture, in a file for Perfetto and `chrome://tracing`. Each thread has a
//! lane, a bounded list behind its own lock; later entries are counted and dropped.

mod drawing;
mod entry;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Instant;

use executor_core::{ChromeArg, ChromeFile, ChromePhase, ChromeRow, nanos};
use executor_threaded::lock;

pub use drawing::{JobLane, JobNames};
pub use entry::JobEntry;

const ENTRIES_MAX: usize = 1 << 18;

/// Number of lanes of threads other than workers.
const OTHERS_MAX: usize = 64;

/// Records the jobs of an executor. Clones are the same trace.
///
/// ```
/// use pipeline_exec::{Job, PipelineExecutor, step, trace::PipelineTrace};
///
/// let trace = PipelineTrace::new();
/// let executor = PipelineExecutor::builder().threads(2).trace(&trace).build()?;
/// let job = Job::from_steps("cities", vec![step(|_| Ok(())), step(|_| Ok(()))]);
/// executor.submit(job)?.wait()?;
/// executor.drain();
///
/// let mut file = Vec::new();
/// trace.write_to(&mut file)?;
/// let text = String::from_utf8(file)?;
/// assert!(text.contains("submit cities") && text.contains("stage 1..2"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PipelineTrace {
    recorders: Arc<Mutex<Vec<Arc<Recorder>>>>,
    started: Instant,
    entries_max: usize,
}

pub(crate) struct Recorder {
    offset_ns: u64,
    entries_max: usize,
    workers: Box<[Mutex<Recorded>]>,
    others: Mutex<Others>,
}

struct Recorded {
    name: String,
    entries: Vec<(u64, JobEntry)>,
    lost: u64,
}

#[derive(Default)]
struct Others {
    lanes: Vec<(ThreadId, Recorded)>,
    lost: u64,
}

impl PipelineTrace {
    /// Makes an empty trace; time counts from now. A lane keeps up to 262,144 entries.
    #[must_use]
    pub fn new() -> Self {
        Self::with_entries_max(ENTRIES_MAX)
    }

    /// Makes an empty trace with room for `entries_max` entries in each lane. A claim is one entry,
    /// a visit two, a job three plus one or two for each stage.
    #[must_use]
    pub fn with_entries_max(entries_max: usize) -> Self {
        Self {
            recorders: Arc::default(),
            started: Instant::now(),
            entries_max,
        }
    }

    /// Writes everything recorded so far as JSON. Open bars end at their lane's last entry.
    ///
    /// # Errors
    ///
    /// If `out` returns one.
    pub fn write_to(&self, mut out: impl io::Write) -> io::Result<()> {
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        for recorder in lock(&self.recorders).iter() {
            recorder.draw(&mut names, &mut rows);
        }
        let rows = rows.iter().cloned();
        write!(out, "{}", ChromeFile { lanes: &names, rows })
    }

    pub(crate) fn recorder(
        &self,
        epoch: Instant,
        workers: impl IntoIterator<Item = String>,
    ) -> Arc<Recorder> {
        let offset = epoch.saturating_duration_since(self.started);
        let recorder = Arc::new(Recorder {
            offset_ns: nanos(offset),
            entries_max: self.entries_max,
            workers: workers
                .into_iter()
                .map(|name| Mutex::new(Recorded::new(name)))
                .collect(),
            others: Mutex::default(),
        });
        lock(&self.recorders).push(Arc::clone(&recorder));
        recorder
    }
}

impl Recorder {
    pub(crate) fn record(&self, worker: Option<usize>, at_ns: u64, mut entry: JobEntry) {
        let at_ns = self.offset_ns.saturating_add(at_ns);
        if let JobEntry::Submitted { since_ns, .. } = &mut entry {
            *since_ns = self.offset_ns.saturating_add(*since_ns);
        }
        if let Some(lane) = worker.and_then(|worker| self.workers.get(worker)) {
            return lock(lane).push(self.entries_max, at_ns, entry);
        }
        let mut others = lock(&self.others);
        let me = thread::current();
        let known = others.lanes.iter().position(|(thread, _)| *thread == me.id());
        let lane = known.or_else(|| {
            let number = others.lanes.len();
            let name = match me.name() {
                Some(name) => format!("outside: {name}"),
                None => format!("outside {number}"),
            };
            (number < OTHERS_MAX).then(|| {
                others.lanes.push((me.id(), Recorded::new(name)));
                number
            })
        });
        match lane {
            Some(lane) => others.lanes[lane].1.push(self.entries_max, at_ns, entry),
            None => others.lost += 1,
        }
    }

    fn draw(&self, names: &mut Vec<String>, rows: &mut Vec<ChromeRow<String>>) {
        let workers: Vec<MutexGuard<'_, Recorded>> = self.workers.iter().map(lock).collect();
        let others = lock(&self.others);
        let told: Vec<&Recorded> = workers
            .iter()
            .map(|lane| &**lane)
            .chain(others.lanes.iter().map(|(_, lane)| lane))
            .collect();
        let entries = told.iter().flat_map(|lane| &lane.entries);
        let jobs = JobNames::of(entries.map(|(_, entry)| entry));
        for lane in told {
            lane.draw(names.len(), &jobs, rows);
            names.push(lane.name.clone());
        }
        if others.lost > 0 {
            rows.push(lost(names.len(), 0, others.lost));
            names.push("other threads".to_owned());
        }
    }
}

impl Recorded {
    fn new(name: String) -> Self {
        Self {
            name,
            entries: Vec::new(),
            lost: 0,
        }
    }

    fn push(&mut self, entries_max: usize, at_ns: u64, entry: JobEntry) {
        if self.entries.len() < entries_max {
            self.entries.push((at_ns, entry));
        } else {
            self.lost += 1;
        }
    }

    fn draw(&self, lane: usize, jobs: &JobNames, rows: &mut Vec<ChromeRow<String>>) {
        let mut drawing = JobLane::new(lane, jobs);
        for (at_ns, entry) in &self.entries {
            drawing.draw(*at_ns, entry, rows);
        }
        let last_ns = self.entries.last().map_or(0, |(at_ns, _)| *at_ns);
        drawing.finish(last_ns, rows);
        if self.lost > 0 {
            rows.push(lost(lane, last_ns, self.lost));
        }
    }
}

fn lost(lane: usize, at_ns: u64, entries: u64) -> ChromeRow<String> {
    ChromeRow {
        lane,
        at_ns,
        phase: ChromePhase::Instant,
        name: "no room for more".to_owned(),
        args: vec![("entries", ChromeArg::Number(entries))],
    }
}

impl Default for PipelineTrace {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PipelineTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineTrace")
            .field("entries_max", &self.entries_max)
            .finish_non_exhaustive()
    }
}
