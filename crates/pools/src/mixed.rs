//! The mixed pool: work that may block, even briefly. Async tasks, cheap to park, and blocking calls on threads of their own: tokio.
//!
//! Its runtime is its own, started when it is first used, or a surrounding one of either flavour. Every call asks first whether it
//! comes from a CPU worker; then whether the pool still takes anything.

mod marked;
mod task;

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};

pub use task::MixedTask;
pub(crate) use task::message;

use marked::Marked;

use crate::error::{MixedError, PoolKind};
use crate::gate::{Abort, Gate, Pass, Stage};
use crate::pools::Inner;
use crate::snapshot::MixedSnapshot;
use crate::thread::{Work, as_work, refuse_async, refuse_cpu};

/// Runs work that may block: files, network, waiting. A handle; clones are the same pool.
///
/// Every call from a CPU task is refused with [`WrongPool`](crate::WrongPool), also through a handle that the task has captured.
#[derive(Clone, Debug)]
pub struct MixedPool {
    pub(crate) inner: Arc<Inner>,
}

/// What is known of the mixed pool before it is used.
#[derive(Clone, Debug)]
pub(crate) struct MixedConfig {
    pub(crate) threads: usize,
    pub(crate) blocking_max: usize,
    pub(crate) name: String,
    /// Somebody else's runtime, in place of an own one.
    pub(crate) foreign: Option<Handle>,
}

/// The mixed pool as the pools have it.
#[derive(Debug)]
pub(crate) struct MixedState {
    config: MixedConfig,
    runtime: Mutex<Running>,
    pub(crate) gate: Arc<Gate>,
}

#[derive(Debug)]
enum Running {
    NotYet,
    Own(Runtime),
    Foreign(Handle),
    Ended,
}

impl MixedPool {
    /// Starts an async task. Dropping what this gives lets it run unobserved.
    ///
    /// ```
    /// use pools::Pools;
    ///
    /// let pools = Pools::builder().build()?;
    /// let task = pools.mixed().spawn(async { 6 * 7 })?;
    /// assert_eq!(task.wait()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// In a CPU task, after a shutdown, or if the runtime cannot be started.
    pub fn spawn<F>(&self, future: F) -> Result<MixedTask<F::Output>, MixedError>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        refuse_cpu(PoolKind::Mixed)?;
        self.start(future)
    }

    /// Runs a call that blocks, on a thread that may. At most so many run at the same time as the builder says; beyond that calls queue, and
    /// [`MixedSnapshot::blocking_waiting`] says how many.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn run_blocking<F, T>(&self, call: F) -> Result<MixedTask<T>, MixedError>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        refuse_cpu(PoolKind::Mixed)?;
        self.start_blocking(call, None)
    }

    /// Runs a future on this thread, inside the pool's runtime, until it is ready: from `main`, from a test, from any thread that may
    /// block.
    ///
    /// # Errors
    ///
    /// In a CPU task; in async code, where it would hold up its neighbours; after a shutdown; and on a thread that ends already, where what tokio
    /// keeps for it is gone.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, MixedError> {
        refuse_cpu(PoolKind::Mixed)?;
        refuse_async("MixedPool::block_on")?;
        if Handle::try_current().is_err_and(|none| none.is_thread_local_destroyed()) {
            let ends = "this thread ends, and can enter no runtime any more";
            return Err(MixedError::Unavailable(io::Error::other(ends)));
        }
        let (handle, pass) = self.enter(Stage::Task)?;
        Ok(handle.block_on(Marked::new(future, pass)))
    }

    /// The runtime's handle, for libraries that want one. What is done with it passes by this pool: it is not counted, a shutdown
    /// does not wait for it, and in a CPU task nothing refuses it.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn tokio_handle(&self) -> Result<Handle, MixedError> {
        refuse_cpu(PoolKind::Mixed)?;
        self.inner.mixed.handle()
    }

    /// What is in it now, and what it has counted.
    #[must_use]
    pub fn snapshot(&self) -> MixedSnapshot {
        let (counts, [tasks, blocking_waiting, blocking_running]) = self.inner.mixed.gate.snapshot();
        MixedSnapshot {
            tasks,
            blocking_running,
            blocking_waiting,
            blocking_max: self.inner.mixed.config.blocking_max,
            tasks_in_all: counts.tasks,
            blocking_in_all: counts.blocking_calls,
            blocking_queued: counts.queued,
        }
    }

    /// Whether anything would be taken now. Starts the runtime if nobody has.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(crate) fn check(&self) -> Result<(), MixedError> {
        if self.inner.mixed.gate.is_closed() {
            return Err(MixedError::Closed);
        }
        self.inner.mixed.handle().map(drop)
    }

    /// Starts an async task, wherever this is called from: for what nobody waits for on a CPU worker.
    pub(crate) fn start<F>(&self, future: F) -> Result<MixedTask<F::Output>, MixedError>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (handle, pass) = self.enter(Stage::Task)?;
        let number = pass.number();
        let task = handle.spawn(Marked::new(future, pass));
        let abort = Abort::task(task.abort_handle());
        self.inner.mixed.gate.may_abort(number, abort);
        Ok(MixedTask::new(task))
    }

    /// The same for a blocking call. `tell` is called if the call runs when the pool's time is up, since nothing else ends a wait for it.
    pub(crate) fn start_blocking<F, T>(
        &self,
        call: F,
        tell: Option<Box<dyn FnOnce() + Send>>,
    ) -> Result<MixedTask<T>, MixedError>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (handle, pass) = self.enter(Stage::Waiting)?;
        let number = pass.number();
        let task = handle.spawn_blocking(move || {
            pass.starts();
            as_work(Work::Blocking, call)
        });
        let abort = match tell {
            Some(tell) => Abort::telling(task.abort_handle(), tell),
            None => Abort::task(task.abort_handle()),
        };
        self.inner.mixed.gate.may_abort(number, abort);
        Ok(MixedTask::new(task))
    }

    fn enter(&self, stage: Stage) -> Result<(Handle, Pass), MixedError> {
        let mixed = &self.inner.mixed;
        let pass = mixed.gate.enter(stage, mixed.config.blocking_max);
        let pass = pass.map_err(|_closed| MixedError::Closed)?;
        Ok((mixed.handle()?, pass))
    }
}

impl MixedState {
    pub(crate) fn new(config: MixedConfig) -> Self {
        Self {
            config,
            runtime: Mutex::new(Running::NotYet),
            gate: Arc::default(),
        }
    }

    /// Starts the runtime if it has not been.
    pub(crate) fn handle(&self) -> Result<Handle, MixedError> {
        let mut running = self.lock();
        if let Running::NotYet = &*running {
            *running = match &self.config.foreign {
                Some(handle) => Running::Foreign(handle.clone()),
                None => Running::Own(self.config.start().map_err(MixedError::Unavailable)?),
            };
        }
        match &*running {
            Running::Own(runtime) => Ok(runtime.handle().clone()),
            Running::Foreign(handle) => Ok(handle.clone()),
            Running::NotYet | Running::Ended => Err(MixedError::Closed),
        }
    }

    /// Lets go of the runtime. What still runs on an own one ends at its next await; nobody waits for it here.
    pub(crate) fn end(&self) {
        self.gate.close();
        let running = std::mem::replace(&mut *self.lock(), Running::Ended);
        if let Running::Own(runtime) = running {
            // Waiting for its threads is not allowed in async code, where this may be.
            runtime.shutdown_background();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.runtime.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MixedConfig {
    fn start(&self) -> io::Result<Runtime> {
        let (name, number) = (self.name.clone(), AtomicUsize::new(0));
        Builder::new_multi_thread()
            .worker_threads(self.threads)
            .max_blocking_threads(self.blocking_max)
            .thread_name_fn(move || {
                // Ordering: Relaxed. Only that no two threads have the same number.
                format!("{name}-mixed-{}", number.fetch_add(1, Ordering::Relaxed))
            })
            .enable_all()
            .build()
    }
}
