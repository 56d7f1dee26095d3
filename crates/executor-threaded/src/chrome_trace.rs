//! Draws a run: what each worker did when, as a file that Perfetto and `chrome://tracing` open.
//!
//! Each worker records into its own memory and hands it over when it leaves. A task costs two clock
//! reads and two entries.
//!
//! ```text
//!   worker 0  ▕ task ▏▕ task ▏ ▕ parked        ▏▕ task ▏ ✕ exit
//!   worker 1    ▕ task            ▏▕ parked ▏▕ task ▏    ✕ exit
//! ```

use crate::lock;
use std::fmt::{self, Display};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use executor_core::{
    ChromeArg, ChromeFile, ChromePhase, ChromeRow, ExecTraceEvent, PopSource, TraceHooks, nanos,
};

const ENTRIES_MAX: usize = 1 << 20;

/// Records what an executor's workers do, with an `N` as a task's name, such as `&'static str`.
///
/// Clones are the same trace. Write it after the join.
///
/// ```
/// use executor_threaded::{ChromeTrace, Executor, ExecutorConfig};
///
/// let trace = ChromeTrace::new();
/// let executor = Executor::<u32>::builder()
///     .config(ExecutorConfig::new(2))
///     .trace_hooks(trace.hooks(|task: &u32| *task))
///     .build(|_| (), |task, cx| (0..task).for_each(|child| cx.spawn_local(child)))?;
/// executor.spawn_external(5)?;
/// executor.join();
/// let mut file = Vec::new();
/// trace.write_to(&mut file)?;
/// assert!(String::from_utf8(file)?.contains("worker 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ChromeTrace<N> {
    recorded: Arc<Mutex<Recorded<N>>>,
    started: Instant,
    entries_max: usize,
}

struct Recorded<N> {
    /// Each worker's lane; a second executor with the same trace continues it.
    lanes: Vec<Lane<N>>,
}

struct Lane<N> {
    entries: Vec<Entry<N>>,
    lost: u64,
}

#[derive(Clone, Copy)]
struct Entry<N> {
    at_ns: u64,
    what: What<N>,
}

#[derive(Clone, Copy)]
enum What<N> {
    Task {
        name: N,
        source: PopSource,
        victim: Option<usize>,
    },
    Parked,
    End,
    Returned(N),
    Panicked,
    Exit,
}

impl<N> ChromeTrace<N> {
    /// An empty trace with room for a million entries of each worker; time counts from now.
    #[must_use]
    pub fn new() -> Self {
        Self::with_entries_max(ENTRIES_MAX)
    }

    /// The same with room for `entries_max`; a task is two. Later entries are only counted.
    #[must_use]
    pub fn with_entries_max(entries_max: usize) -> Self {
        Self {
            recorded: Arc::new(Mutex::new(Recorded { lanes: Vec::new() })),
            started: Instant::now(),
            entries_max,
        }
    }
}

impl<N: Copy> ChromeTrace<N> {
    /// Hooks for [`ExecutorBuilder::trace_hooks`](crate::ExecutorBuilder::trace_hooks); `name`
    /// names a task.
    pub fn hooks<T, F>(&self, name: F) -> impl Fn(usize) -> ChromeHooks<N, F> + Send + Sync + use<T, F, N>
    where
        F: Fn(&T) -> N + Clone + Send + Sync,
        N: Send,
    {
        let trace = self.clone();
        move |worker| ChromeHooks {
            trace: trace.clone(),
            worker,
            name: name.clone(),
            entries: Vec::new(),
            open: false,
            lost: 0,
        }
    }

    /// Writes what was handed over so far, as JSON.
    ///
    /// # Errors
    ///
    /// Those of writing to `out`.
    pub fn write_to(&self, mut out: impl io::Write) -> io::Result<()>
    where
        N: Display,
    {
        let recorded = self.recorded();
        let names = (0..recorded.lanes.len()).map(|worker| format!("worker {worker}"));
        let rows = recorded.lanes.iter().enumerate().flat_map(|(lane, recorded)| {
            let last_ns = recorded.entries.last().map_or(0, |entry| entry.at_ns);
            let lost = (recorded.lost > 0).then(|| {
                let lost = [("entries", ChromeArg::Number(recorded.lost))];
                row(
                    lane,
                    last_ns,
                    ChromePhase::Instant,
                    "no room for more".to_owned(),
                    lost,
                )
            });
            recorded.rows(lane).chain(lost)
        });
        write!(out, "{}", ChromeFile { lanes: names, rows })
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded<N>> {
        lock(&self.recorded)
    }
}

impl<N> Clone for ChromeTrace<N> {
    fn clone(&self) -> Self {
        Self {
            recorded: Arc::clone(&self.recorded),
            started: self.started,
            entries_max: self.entries_max,
        }
    }
}

impl<N> Default for ChromeTrace<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N> fmt::Debug for ChromeTrace<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChromeTrace").finish_non_exhaustive()
    }
}

impl<N: Copy + Display> Lane<N> {
    fn rows(&self, lane: usize) -> impl Iterator<Item = ChromeRow<String>> + Clone {
        let mut open = String::new();
        self.entries.iter().map(move |entry| {
            let mut begin = |name: String| {
                open.clone_from(&name);
                (ChromePhase::Begin, name)
            };
            let mut args = Vec::new();
            let (phase, name) = match entry.what {
                What::Task { name, source, victim } => {
                    args.push(("source", ChromeArg::Text(format!("{source:?}").to_lowercase())));
                    args.extend(victim.map(|victim| ("victim", ChromeArg::Number(victim as u64))));
                    begin(name.to_string())
                }
                What::Parked => begin("parked".to_owned()),
                What::End => (ChromePhase::End, std::mem::take(&mut open)),
                What::Returned(name) => {
                    args.push(("task", ChromeArg::Text(name.to_string())));
                    (ChromePhase::Instant, "returned".to_owned())
                }
                What::Panicked => (ChromePhase::Instant, "panicked".to_owned()),
                What::Exit => (ChromePhase::Instant, "exit".to_owned()),
            };
            row(lane, entry.at_ns, phase, name, args)
        })
    }
}

fn row(
    lane: usize,
    at_ns: u64,
    phase: ChromePhase,
    name: String,
    args: impl Into<Vec<(&'static str, ChromeArg)>>,
) -> ChromeRow<String> {
    ChromeRow {
        lane,
        at_ns,
        phase,
        name,
        args: args.into(),
    }
}

/// One worker's recorder; see [`ChromeTrace::hooks`].
pub struct ChromeHooks<N: Copy, F> {
    trace: ChromeTrace<N>,
    worker: usize,
    name: F,
    entries: Vec<Entry<N>>,
    open: bool,
    lost: u64,
}

impl<N: Copy, F> ChromeHooks<N, F> {
    /// Begins a bar, if there is room for its end as well.
    fn begin(&mut self, what: What<N>) {
        if self.entries.len() + 2 > self.trace.entries_max {
            self.lost += 2;
            return;
        }
        self.open = true;
        self.push(what);
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            self.push(What::End);
        }
    }

    fn instant(&mut self, what: What<N>) {
        if self.entries.len() + usize::from(self.open) < self.trace.entries_max {
            self.push(what);
        } else {
            self.lost += 1;
        }
    }

    fn push(&mut self, what: What<N>) {
        let at_ns = nanos(self.trace.started.elapsed());
        self.entries.push(Entry { at_ns, what });
    }
}

impl<T, N: Copy, F: Fn(&T) -> N> TraceHooks<T> for ChromeHooks<N, F> {
    type Tag = N;

    fn tag(&mut self, task: &T) -> N {
        (self.name)(task)
    }

    fn event(&mut self, event: ExecTraceEvent<N>) {
        match event {
            ExecTraceEvent::TaskStart { tag, source, victim } => self.begin(What::Task {
                name: tag,
                source,
                victim,
            }),
            ExecTraceEvent::Park => self.begin(What::Parked),
            ExecTraceEvent::TaskEnd { .. } | ExecTraceEvent::Awake { .. } => self.end(),
            ExecTraceEvent::Returned { tag } => self.instant(What::Returned(tag)),
            ExecTraceEvent::Panicked => {
                self.instant(What::Panicked);
                self.end();
            }
            ExecTraceEvent::Exit => self.instant(What::Exit),
        }
    }
}

impl<N: Copy, F> Drop for ChromeHooks<N, F> {
    fn drop(&mut self) {
        self.end();
        let mut recorded = self.trace.recorded();
        while recorded.lanes.len() <= self.worker {
            recorded.lanes.push(Lane {
                entries: Vec::new(),
                lost: 0,
            });
        }
        let lane = &mut recorded.lanes[self.worker];
        lane.entries.append(&mut self.entries);
        lane.lost += self.lost;
    }
}

impl<N: Copy, F> fmt::Debug for ChromeHooks<N, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChromeHooks")
            .field("worker", &self.worker)
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}
