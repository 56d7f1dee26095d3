//! The executor under the CPU pool, and its end.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use executor_threaded::{for_host, lock};
use pipeline_exec::{PipelineExecutor, PipelineHandle, StepError, metrics::PipelineSnapshot};

use super::nice::be_nice;
use crate::error::CpuError;
use crate::thread::{is_async, on_a_thread_of_its_own};

#[derive(Clone, Debug)]
pub(crate) struct CpuConfig {
    /// `None`: what suits the host.
    pub(crate) threads: Option<usize>,
    /// `None`: one per worker.
    pub(crate) spares: Option<usize>,
    pub(crate) nice: u8,
    pub(crate) stack_size: Option<usize>,
    pub(crate) queue_capacity: Option<usize>,
    pub(crate) name: String,
}

#[derive(Debug)]
pub(crate) struct CpuState {
    config: CpuConfig,
    running: Mutex<Running>,
    stop: Arc<Stop>,
}

/// The pool's time is up. Needed because the executor completes a job's last slot.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    fn tell(&self) {
        // Ordering: Relaxed. A hint; no data is read because of it.
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_told(&self) -> bool {
        // Ordering: Relaxed. As above.
        self.0.load(Ordering::Relaxed)
    }

    /// Prevents a start after the time is up and before the executor stops.
    pub(super) fn check(&self) -> Result<(), StepError> {
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

impl CpuState {
    pub(crate) fn new(config: CpuConfig, executor: Option<PipelineExecutor>) -> Self {
        Self {
            config,
            running: Mutex::new(executor.map_or(Running::NotYet, Running::Yes)),
            stop: Arc::default(),
        }
    }

    pub(super) fn stop(&self) -> &Arc<Stop> {
        &self.stop
    }

    pub(super) fn snapshot(&self) -> Option<PipelineSnapshot> {
        match &*lock(&self.running) {
            Running::Yes(executor) => Some(executor.snapshot()),
            Running::NotYet | Running::Ended => None,
        }
    }

    pub(super) fn executor(&self) -> Result<PipelineHandle, CpuError> {
        let mut running = lock(&self.running);
        if let Running::NotYet = &*running {
            *running = Running::Yes(self.config.start()?);
        }
        match &*running {
            Running::Yes(executor) => Ok(executor.handle()),
            Running::NotYet | Running::Ended => Err(CpuError::Closed),
        }
    }

    /// Returns the number of unfinished jobs: cancelled and left behind.
    pub(crate) fn end_by(&self, deadline: Instant) -> usize {
        let Running::Yes(executor) = self.take() else {
            return 0;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match executor.drain_timeout(left) {
            Ok(()) => 0,
            Err(executor) => {
                // Before the stop, since jobs that heed it may end at once.
                let unfinished = executor.snapshot().queue_depth;
                self.stop.tell();
                // On another thread, since running slots may last long.
                on_a_thread_of_its_own("pools-stop", move || drop(executor));
                unfinished
            }
        }
    }

    /// Waits for running closures, on another thread where futures are polled.
    pub(crate) fn end(&self) {
        self.stop.tell();
        match self.take() {
            Running::Yes(executor) if is_async() => {
                on_a_thread_of_its_own("pools-stop", move || drop(executor));
            }
            ended => drop(ended),
        }
    }

    fn take(&self) -> Running {
        mem::replace(&mut *lock(&self.running), Running::Ended)
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
            builder = builder.on_thread_start(move |_worker| be_nice(nice));
        }
        Ok(builder.build()?)
    }
}
