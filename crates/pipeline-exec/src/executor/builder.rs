//! The settings of a pipeline executor.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use executor_core::Pin;

use crate::trace::PipelineTrace;

const CAPACITY: usize = 65_536;

/// Sets up a [`PipelineExecutor`](crate::PipelineExecutor).
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
pub struct PipelineExecutorBuilder {
    pub(super) threads: usize,
    pub(super) roles: Option<(usize, usize)>,
    pub(super) spares: usize,
    pub(super) queue_capacity: usize,
    pub(super) quantum: Duration,
    pub(super) pinning: Pin,
    pub(super) thread_name: String,
    pub(super) stack_size: Option<usize>,
    pub(super) on_thread_start: Option<Hook>,
    pub(super) trace: Option<PipelineTrace>,
}

#[derive(Clone)]
pub(super) struct Hook(pub(super) Arc<dyn Fn(usize) + Send + Sync>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").finish_non_exhaustive()
    }
}

impl Default for PipelineExecutorBuilder {
    fn default() -> Self {
        Self {
            threads: 1,
            roles: None,
            spares: 0,
            queue_capacity: CAPACITY,
            quantum: Duration::from_millis(2),
            pinning: Pin::WhileParked,
            thread_name: "pipeline".to_owned(),
            stack_size: None,
            on_thread_start: None,
            trace: None,
        }
    }
}

impl PipelineExecutorBuilder {
    /// Number of threads, split by [`split_threads`](crate::split_threads). Default 1.
    pub fn threads(mut self, total: usize) -> Self {
        self.threads = total;
        self.roles = None;
        self
    }

    /// Number of main and reserve threads, instead of the split of [`threads`](Self::threads).
    /// Without reserve threads a heavy job gets what young ones leave. Without main threads a light
    /// job waits for heavier ones. `(1, 0)` is one thread that alternates between both roles.
    pub fn roles(mut self, main: usize, reserve: usize) -> Self {
        self.threads = main.saturating_add(reserve);
        self.roles = Some((main, reserve));
        self
    }

    /// Number of spare threads, at most one per thread. Default 0.
    ///
    /// When every thread has been in one slot or turn for two quanta, a spare thread takes a
    /// waiting young job. With a quantum of zero no job is young, and no spare thread starts.
    ///
    /// ```
    /// use pipeline_exec::{Job, PipelineExecutor, Role, step};
    /// use std::sync::mpsc::channel;
    ///
    /// let executor = PipelineExecutor::builder().threads(1).spares(1).build()?;
    /// let (open, gate) = channel();
    /// let gate = std::sync::Mutex::new(gate);
    /// let long = step(move |_cx| Ok(gate.lock().map_err(|_| "panicked")?.recv()?));
    /// let long = executor.submit(Job::from_steps("long", vec![long]))?;
    /// while long.status() == pipeline_exec::JobStatus::Queued { std::thread::yield_now() }
    ///
    /// // The only worker is in a slot that does not end, and yet:
    /// executor.submit(Job::from_steps("young", vec![step(|_cx| Ok(()))]))?.wait()?;
    /// open.send(())?;
    /// long.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spares(mut self, spares: usize) -> Self {
        self.spares = spares;
        self
    }

    /// Largest number of jobs that wait and run at once; beyond it
    /// [`submit`](crate::PipelineExecutor::submit) returns `Full`. Default 65,536.
    pub fn queue_capacity(mut self, jobs: usize) -> Self {
        self.queue_capacity = jobs;
        self
    }

    /// Time in a young job between looks at the board. Default 2 ms; zero means one slot. A worker
    /// stays in an old job, which has had four quanta, for four, or until a young job comes.
    pub fn quantum(mut self, quantum: Duration) -> Self {
        self.quantum = quantum;
        self
    }

    /// Whether each thread is pinned to a core. Default [`Pin::WhileParked`]: threads of short jobs wake
    /// beside one another, and leave a core to a thread that is busy there.
    pub fn pinning(mut self, pinning: Pin) -> Self {
        self.pinning = pinning;
        self
    }

    /// Prefix of thread names: `{prefix}-{worker}`. Default `pipeline`.
    pub fn thread_name(mut self, prefix: impl Into<String>) -> Self {
        self.thread_name = prefix.into();
        self
    }

    /// Bytes of each thread's stack. Default: the standard library's 2 MiB. Deeply [nested
    /// jobs](crate::StepCx::run) need more.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets a function that each thread calls first, with its number.
    pub fn on_thread_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_thread_start = Some(Hook(Arc::new(hook)));
        self
    }

    /// Records jobs, visits and claims in `trace`, which several executors may share.
    pub fn trace(mut self, trace: &PipelineTrace) -> Self {
        self.trace = Some(trace.clone());
        self
    }
}
