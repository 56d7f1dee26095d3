//! Starts a pipeline executor, after checking its settings.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use executor_core::sleep::WORKERS_MAX;
use executor_core::{ExecutorConfig, TaskCtx, panic_message};
use executor_threaded::{Executor, ExecutorBuilder};

use super::builder::{Hook, PipelineExecutorBuilder};
use super::{PipelineExecutor, PipelineHandle};
use crate::error::{BuildError, ThreadsError};
use crate::native::{Hub, PipelineTask, start_spares};
use crate::policy::{self, LookEnd, PipelineConfig, guard};
use crate::split::split_threads;

const CAPACITY_MAX: usize = 1 << 24;

impl PipelineExecutor {
    /// Starts an executor with `total_threads` threads, split by [`split_threads`].
    ///
    /// # Errors
    ///
    /// If `total_threads` is 0 or too large; see [`BuildError`].
    pub fn new(total_threads: usize) -> Result<Self, BuildError> {
        Self::builder().threads(total_threads).build()
    }

    /// An executor with more settings.
    pub fn builder() -> PipelineExecutorBuilder {
        PipelineExecutorBuilder::default()
    }
}

impl PipelineExecutorBuilder {
    /// Starts the executor.
    ///
    /// # Errors
    ///
    /// If a setting is out of its range or a thread cannot be started; no thread is left running.
    pub fn build(self) -> Result<PipelineExecutor, BuildError> {
        let threads = within("threads", self.threads, WORKERS_MAX)?;
        let capacity = within("queue_capacity", self.queue_capacity, CAPACITY_MAX)?.get();
        let (main, reserve) = self.roles.unwrap_or_else(|| split_threads(threads));
        let config = PipelineConfig {
            main,
            reserve,
            quantum: self.quantum,
            capacity,
        };
        let mut hub = Hub::new(config, self.spares.min(main + reserve));
        if let Some(trace) = &self.trace {
            let name = &self.thread_name;
            hub.record_for(trace, (0..threads.get()).map(|worker| format!("{name}-{worker}")));
        }
        let config = ExecutorConfig::new(threads.get()).pin_threads(self.pinning);
        let mut executor = Executor::builder()
            .config(config)
            .thread_name(self.thread_name.clone());
        if let Some(bytes) = self.stack_size {
            executor = executor.stack_size(bytes);
        }
        let hook = self.on_thread_start;
        let on_start = move |worker| {
            if let Some(Hook(hook)) = &hook {
                hook(worker);
            }
        };
        let executor = start(hub, executor.on_start(on_start.clone()))?;
        let worker = threads.get();
        start_spares(
            &executor.handle.hub,
            &self.thread_name,
            self.stack_size,
            &on_start,
        )
        .map_err(|source| ThreadsError::Thread { worker, source })?;
        Ok(executor)
    }
}

fn start(hub: Hub, builder: ExecutorBuilder<PipelineTask>) -> Result<PipelineExecutor, BuildError> {
    let hub = Arc::new(hub);
    let workers = Arc::clone(&hub);
    let executor = builder.build(
        |_worker| (),
        move |PipelineTask, cx| {
            if run_look(&workers, cx.worker_id()) == LookEnd::Again {
                cx.spawn_global(PipelineTask);
            }
        },
    )?;
    hub.set_workers(executor.handle());
    Ok(PipelineExecutor {
        handle: PipelineHandle { hub },
        executor: Some(executor),
    })
}

/// After a panic outside of user steps, such as a subscriber's, the worker looks again.
fn run_look(hub: &Arc<Hub>, worker: usize) -> LookEnd {
    let look = AssertUnwindSafe(|| hub.as_worker(worker, || policy::look(&**hub, worker)));
    catch_unwind(look).unwrap_or_else(|payload| {
        let message = panic_message(&*payload);
        guard::discard(payload);
        guard::quietly(|| tracing::error!(message, worker, "a look at the job board panicked"));
        LookEnd::Again
    })
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
