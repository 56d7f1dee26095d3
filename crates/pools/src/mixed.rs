//! The mixed pool: async tasks and blocking calls, on tokio.

mod marked;
pub(crate) mod state;
mod task;

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::runtime::Handle;

use marked::Marked;
pub use task::MixedTask;
pub(crate) use task::why;

use crate::error::{MixedError, PoolKind};
use crate::gate::{Abort, Pass, Stage};
use crate::inner::Inner;
use crate::snapshot::MixedSnapshot;
use crate::thread::{Work, as_work, refuse_async, refuse_cpu};

/// Runs work that may block.
#[derive(Clone, Debug)]
pub struct MixedPool {
    pub(crate) inner: Arc<Inner>,
}

impl MixedPool {
    /// Starts an async task, which a drop of the returned task leaves running.
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
    /// In a CPU task, after a shutdown, or if the runtime cannot start.
    pub fn spawn<F>(&self, future: F) -> Result<MixedTask<F::Output>, MixedError>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        refuse_cpu(PoolKind::Mixed)?;
        self.start(future)
    }

    /// Runs a call on a thread that may block, at most
    /// [`blocking_max`](crate::PoolsBuilder::blocking_max) at once.
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

    /// Runs a future on this thread, inside the pool's runtime, until it is ready.
    ///
    /// # Errors
    ///
    /// In a CPU task, in async code, after a shutdown, and on a thread whose tokio thread-locals
    /// are gone.
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

    /// Returns the runtime's handle, for libraries. The pool does not count, refuse or await work
    /// that is started with it.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn tokio_handle(&self) -> Result<Handle, MixedError> {
        refuse_cpu(PoolKind::Mixed)?;
        self.inner.mixed.handle()
    }

    /// Returns the pool's counters.
    #[must_use]
    pub fn snapshot(&self) -> MixedSnapshot {
        let (counts, [tasks, blocking_waiting, blocking_running]) = self.inner.mixed.gate.snapshot();
        MixedSnapshot {
            tasks,
            blocking_running,
            blocking_waiting,
            blocking_max: self.inner.mixed.blocking_max(),
            tasks_in_all: counts.tasks,
            blocking_in_all: counts.blocking_calls,
            blocking_queued: counts.queued,
        }
    }

    /// Starts the runtime if necessary.
    pub(crate) fn check(&self) -> Result<(), MixedError> {
        if self.inner.mixed.gate.is_closed() {
            return Err(MixedError::Closed);
        }
        self.inner.mixed.handle().map(drop)
    }

    /// For CPU workers too: the caller does not wait.
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

    /// As [`start`](Self::start). At the pool's end `tell` ends the wait for a running call.
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
        let pass = mixed.gate.enter(stage, mixed.blocking_max());
        let pass = pass.map_err(|_closed| MixedError::Closed)?;
        Ok((mixed.handle()?, pass))
    }
}
