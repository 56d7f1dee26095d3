//! The CPU pool: pure computation, on the pipeline executor's workers.
//!
//! A closure is a job of one slot, a query is a job of many, and both are on the same board: one set of workers serves a process. The
//! pool is started when it is first used.
//!
//! # The hand-over
//!
//! A task is a job with one slot, and its future the job's ticket. So what can meet here are steps of the pipeline executor, and its loom models
//! (`crates/pipeline-exec/tests/loom/hand_over.rs`) have them; `tests/integration/hand_over.rs` does the same on threads, many times over.
//!
//! | what meets | comes to | model |
//! |---|---|---|
//! | the end, and the first poll of the future | the value, or a wake | `the_end_of_a_job_against_the_first_poll_of_its_future` |
//! | the drop of the future, and a worker that starts, runs or ends the task | it runs whole or not at all, and what it captured goes once | `a_dropped_future_against_the_start_of_its_job` |
//! | a shutdown, a worker that starts the task, and somebody who awaits it | whoever awaits is told what happened | `a_shutdown_against_the_start_of_a_job_that_is_awaited` |
//! | a shutdown, the drop of the future, and a worker | one of them ends it | `a_dropped_future_against_a_shutdown` |
//! | the last slot of a part, and the task that waits for it | the task goes on | `a_nested_wait_against_a_worker_that_takes_the_last_slot` |
//! | room, and a future that waits for it | it is let in, or told that there never will be | the proof is in `pipeline-exec`, `native/room.rs` |
//!
//! In the simulator the scenario `jobs` has submitters that await tickets, cancels at any moment, drains and shutdowns, and slots with jobs of their
//! own, under all oracles; the exhaustive search closes four configurations with such slots.

mod async_job;
mod async_task;
mod cx;
mod job_options;
mod nice;
mod on_core;
mod polled;
mod task;

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use executor_threaded::for_host;
use pipeline_exec::{
    Job, JobTicket, PipelineExecutor, PipelineHandle, PipelineSnapshot, StepError, SubmitError,
};

pub use async_job::{AsyncJob, JobUse, Scoped};
pub use async_task::{AsyncTask, HandedBack, TaskError, TaskFuture};
pub use cx::CpuCx;
pub use job_options::JobOptions;
pub use task::CpuTask;

use crate::error::CpuError;
use crate::pools::Inner;
use crate::thread::on_a_thread_of_its_own;

/// Runs computation. A handle; clones are the same pool.
///
/// Calls never block: they hand over. So they may come from anywhere, async code included; what waits is the [`CpuTask`].
#[derive(Clone, Debug)]
pub struct CpuPool {
    pub(crate) inner: Arc<Inner>,
}

/// What is known of the CPU pool before it is used.
#[derive(Clone, Debug)]
pub(crate) struct CpuConfig {
    /// `None`: as many as suit the host.
    pub(crate) threads: Option<usize>,
    /// `None`: one for each worker.
    pub(crate) spares: Option<usize>,
    pub(crate) nice: u8,
    pub(crate) stack_size: Option<usize>,
    pub(crate) queue_capacity: Option<usize>,
    pub(crate) name: String,
}

/// The CPU pool as the pools have it.
#[derive(Debug)]
pub(crate) struct CpuState {
    config: CpuConfig,
    running: Mutex<Running>,
    stop: Arc<Stop>,
}

/// Tells closures that run that the pool's time is up: the executor lets the last slot of a job complete, and a closure is always in its last.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    fn tell(&self) {
        // Ordering: Relaxed. A hint; nothing is read because of it.
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_told(&self) -> bool {
        // Ordering: Relaxed. As above.
        self.0.load(Ordering::Relaxed)
    }

    /// Nothing starts any more, though a worker has come to it before the executor has stopped.
    fn check(&self) -> Result<(), StepError> {
        if self.is_told() {
            return Err("the pool's time was up before it started".into());
        }
        Ok(())
    }
}

#[derive(Debug)]
enum Running {
    NotYet,
    Yes(PipelineExecutor),
    Ended,
}

impl CpuPool {
    /// Computes `compute` on a worker.
    ///
    /// It gives the value, or a panic as an error. Dropping the task cancels: if it has not started it never will, and if it runs, its
    /// context says so. [`CpuTask::detach`] lets it run unobserved. While the pool admits no more jobs the task waits for room.
    ///
    /// ```
    /// use pools::{CpuError, Pools};
    ///
    /// let pools = Pools::builder().cpu_threads(2).build()?;
    /// assert_eq!(pools.cpu().run(|_cx| 6 * 7).wait()?, 42);
    /// let ended = pools.cpu().run(|_cx| -> u8 { panic!("out of ink") }).wait();
    /// assert!(matches!(ended, Err(CpuError::Panicked { message }) if message == "out of ink"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<F, T>(&self, compute: F) -> CpuTask<T>
    where
        F: FnOnce(&CpuCx<'_>) -> T + Send + 'static,
        T: Send + 'static,
    {
        match self.executor() {
            Ok(executor) => CpuTask::submit(&executor, &self.inner.cpu.stop, compute),
            Err(error) => CpuTask::failed(error),
        }
    }

    /// Opens a job for async work: futures that compute much and await in between, as one job beside the others.
    ///
    /// It never fails. If the pool admits no more jobs, has ended or cannot be started, each future that is
    /// spawned is handed back: [`TaskError::NotRun`].
    ///
    /// The futures are polled inside the tokio runtime in which this is called, so that their timers, sockets and
    /// `spawn_blocking` are that runtime's; or inside the mixed pool's, if there is none here. [`AsyncJob`]
    /// has an example.
    pub fn open(&self, options: JobOptions) -> AsyncJob {
        AsyncJob::open(self, options)
    }

    /// Hands over a job of many slots, and never blocks.
    ///
    /// # Errors
    ///
    /// The job, if the pool admits no more at the moment, has ended, or cannot be started: [`executor`](Self::executor) says which.
    pub fn submit<T>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        match self.executor() {
            Ok(executor) => executor.submit(job),
            Err(_unavailable) => Err(SubmitError::Closed(job)),
        }
    }

    /// The executor below, for whoever brings jobs of their own, such as queries. It is started if it has not been.
    ///
    /// # Errors
    ///
    /// If it has ended or cannot be started.
    pub fn executor(&self) -> Result<PipelineHandle, CpuError> {
        self.inner.cpu.executor()
    }

    /// What its executor has counted; `None` before it was used first, and after its end.
    #[must_use]
    pub fn snapshot(&self) -> Option<PipelineSnapshot> {
        match &*self.inner.cpu.lock() {
            Running::Yes(executor) => Some(executor.snapshot()),
            Running::NotYet | Running::Ended => None,
        }
    }
}

impl CpuState {
    pub(crate) fn new(config: CpuConfig, executor: Option<PipelineExecutor>) -> Self {
        Self {
            config,
            running: Mutex::new(executor.map_or(Running::NotYet, Running::Yes)),
            stop: Arc::default(),
        }
    }

    fn executor(&self) -> Result<PipelineHandle, CpuError> {
        let mut running = self.lock();
        if let Running::NotYet = &*running {
            *running = Running::Yes(self.config.start()?);
        }
        match &*running {
            Running::Yes(executor) => Ok(executor.handle()),
            Running::NotYet | Running::Ended => Err(CpuError::Closed),
        }
    }

    /// Lets in no more jobs, and waits until all have ended. Those that have not by `deadline` are told to stop, and left behind: gives
    /// how many.
    pub(crate) fn end_by(&self, deadline: Instant) -> usize {
        let Running::Yes(executor) = self.take() else {
            return 0;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match executor.drain_timeout(left) {
            Ok(()) => 0,
            Err(executor) => {
                // Before they are told: those that listen may end at once.
                let unfinished = executor.snapshot().queue_depth;
                self.stop.tell();
                // The slots that run may not return for long.
                on_a_thread_of_its_own("pools-stop", move || drop(executor));
                unfinished
            }
        }
    }

    /// Tells everything to stop, and waits for closures that run.
    pub(crate) fn end(&self) {
        self.stop.tell();
        drop(self.take());
    }

    fn take(&self) -> Running {
        mem::replace(&mut *self.lock(), Running::Ended)
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CpuConfig {
    fn start(&self) -> Result<PipelineExecutor, CpuError> {
        let threads = match self.threads {
            Some(threads) => threads,
            None => {
                let host = for_host().map_err(|error| CpuError::Unavailable(error.to_string()))?;
                host.workers
            }
        };
        let mut builder = PipelineExecutor::builder()
            .threads(threads)
            .spares(self.spares.unwrap_or(threads))
            .thread_name(format!("{}-cpu", self.name));
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        if let Some(jobs) = self.queue_capacity {
            builder = builder.queue_capacity(jobs);
        }
        let nice = self.nice;
        if nice > 0 {
            builder = builder.on_thread_start(move |_worker| nice::be_nice(nice));
        }
        Ok(builder.build()?)
    }
}
