//! Building a pipeline executor: threads, capacity, quantum, pinning and names, checked before anything starts.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use executor_core::sleep::WORKERS_MAX;
use executor_core::{ExecutorConfig, Pin};
use executor_threaded::Executor;

use super::PipelineExecutor;
use crate::error::BuildError;
use crate::native::Hub;
use crate::policy::PipelineConfig;
use crate::split::split_threads;
use crate::trace::PipelineTrace;

/// Jobs that are admitted when nothing else is said.
const CAPACITY: usize = 65_536;

/// The largest number of jobs that can be admitted.
const CAPACITY_MAX: usize = 1 << 24;

/// Sets up a [`PipelineExecutor`].
///
/// ```
/// use std::time::Duration;
/// use pipeline_exec::{Pin, PipelineExecutor};
///
/// let executor = PipelineExecutor::builder()
///     .threads(4)
///     .queue_capacity(1_000)
///     .quantum(Duration::from_millis(1))
///     .pinning(Pin::Never)
///     .thread_name("query")
///     .build()?;
/// # Ok::<(), pipeline_exec::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "`build` starts the executor"]
pub struct PipelineBuilder {
    threads: usize,
    /// Main and reserve threads, in place of the split of `threads`.
    roles: Option<(usize, usize)>,
    queue_capacity: usize,
    quantum: Duration,
    pinning: Pin,
    thread_name: String,
    stack_size: Option<usize>,
    on_thread_start: Option<Hook>,
    trace: Option<PipelineTrace>,
}

/// What each thread calls before it works.
#[derive(Clone)]
struct Hook(Arc<dyn Fn(usize) + Send + Sync>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").finish_non_exhaustive()
    }
}

impl Default for PipelineBuilder {
    /// One thread, 65,536 jobs, a quantum of 2 milliseconds.
    fn default() -> Self {
        Self {
            threads: 1,
            roles: None,
            queue_capacity: CAPACITY,
            quantum: Duration::from_millis(2),
            pinning: Pin::Auto,
            thread_name: "pipeline".to_owned(),
            stack_size: None,
            on_thread_start: None,
            trace: None,
        }
    }
}

impl PipelineBuilder {
    /// Number of threads, split by [`split_threads`]. Default 1.
    pub fn threads(mut self, total: usize) -> Self {
        self.threads = total;
        self.roles = None;
        self
    }

    /// Number of threads that look for short work first, and of those that look for heavy work first, in place of
    /// [`threads`](Self::threads) and its split.
    ///
    /// Without reserve threads latency is all that counts: a heavy job gets what young ones leave. Without main threads
    /// throughput is: jobs run heaviest first, and a light one waits as long as there is a heavier one. `(1, 0)` is the single
    /// thread that has both roles by turns.
    pub fn roles(mut self, main: usize, reserve: usize) -> Self {
        self.threads = main.saturating_add(reserve);
        self.roles = Some((main, reserve));
        self
    }

    /// How many jobs may wait and run at the same time, before [`submit`](PipelineExecutor::submit) says `Full`. Default 65,536.
    pub fn queue_capacity(mut self, jobs: usize) -> Self {
        self.queue_capacity = jobs;
        self
    }

    /// How long a worker stays with a young job before it looks at the board again. Default 2 ms;
    /// zero is one slot at a time. In an old job, one that has received four quanta, it stays for
    /// four quanta, and leaves at the next end of a slot when a young one comes.
    pub fn quantum(mut self, quantum: Duration) -> Self {
        self.quantum = quantum;
        self
    }

    /// Whether each thread is pinned to a core of its own. Default [`Pin::Auto`].
    pub fn pinning(mut self, pinning: Pin) -> Self {
        self.pinning = pinning;
        self
    }

    /// Threads are named `{prefix}-{worker}`. Default `pipeline`.
    pub fn thread_name(mut self, prefix: impl Into<String>) -> Self {
        self.thread_name = prefix.into();
        self
    }

    /// Bytes of each thread's stack. By default what the standard library gives, 2 MiB. Slots that
    /// [run jobs of their own](crate::StepCx::run) inside one another need more of it the deeper they go.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Called on each thread, with its worker's number, before it works: to set what the operating system knows of threads.
    pub fn on_thread_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_thread_start = Some(Hook(Arc::new(hook)));
        self
    }

    /// Records what is done about jobs, as a picture. Several executors may have the same trace.
    pub fn trace(mut self, trace: &PipelineTrace) -> Self {
        self.trace = Some(trace.clone());
        self
    }

    /// Starts the executor.
    ///
    /// # Errors
    ///
    /// When a setting is out of its range or a thread cannot be had; no thread is left running.
    pub fn build(self) -> Result<PipelineExecutor, BuildError> {
        let threads = within("threads", self.threads, WORKERS_MAX)?;
        let capacity = within("queue_capacity", self.queue_capacity, CAPACITY_MAX)?.get();
        let (main, reserve) = self.roles.unwrap_or_else(|| split_threads(threads));
        let mut hub = Hub::new(PipelineConfig {
            main,
            reserve,
            quantum: self.quantum,
            capacity,
        });
        if let Some(trace) = &self.trace {
            let name = &self.thread_name;
            hub.record_for(trace, (0..threads.get()).map(|worker| format!("{name}-{worker}")));
        }
        let config = ExecutorConfig {
            workers: threads.get(),
            pin_threads: self.pinning,
            ..ExecutorConfig::default()
        };
        let mut executor = Executor::builder().config(config).thread_name(self.thread_name);
        if let Some(bytes) = self.stack_size {
            executor = executor.stack_size(bytes);
        }
        if let Some(Hook(hook)) = self.on_thread_start {
            executor = executor.on_start(move |worker| hook(worker));
        }
        PipelineExecutor::start(hub, executor)
    }
}

fn within(setting: &'static str, value: usize, max: usize) -> Result<NonZeroUsize, BuildError> {
    let error = BuildError::OutOfRange {
        setting,
        value,
        min: 1,
        max,
    };
    NonZeroUsize::new(value)
        .filter(|value| value.get() <= max)
        .ok_or(error)
}
