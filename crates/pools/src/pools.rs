//! The three pools together: handles to each, the ones that a process shares, and the order in which they end.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use pipeline_exec::PipelineExecutor;

use crate::builder::PoolsBuilder;
use crate::cpu::{CpuPool, CpuState};
use crate::error::WrongPool;
use crate::maintenance::{MaintenancePool, MaintenanceState};
use crate::mixed::{MixedPool, MixedState};
use crate::shutdown::{self, ShutdownReport};
use crate::snapshot::PoolsSnapshot;

/// Three pools: [mixed](MixedPool), [CPU](CpuPool), [maintenance](MaintenancePool). Cloning it gives the same ones.
///
/// Each is started when it is first used. When the last handle to any of them is dropped they end: mixed tasks at their next await, CPU tasks that
/// have not started never start, and the drop waits for CPU closures that run; maintenance is left behind. [`shutdown`](Self::shutdown) ends them in
/// peace.
#[derive(Clone)]
pub struct Pools {
    pub(crate) inner: Arc<Inner>,
}

/// What all handles share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) mixed: MixedState,
    pub(crate) cpu: CpuState,
    pub(crate) maintenance: Arc<MaintenanceState>,
}

impl Pools {
    /// The pools that a process shares, with everything as the [builder](Self::builder) has it when nothing is said. They are never
    /// dropped: the process ends while they work.
    ///
    /// If `WINDLASS_WORKERS` is no number of workers, CPU tasks give [`CpuError::Unavailable`](crate::CpuError::Unavailable), which says so.
    #[must_use]
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Pools> = OnceLock::new();
        GLOBAL.get_or_init(|| PoolsBuilder::default().build_unchecked())
    }

    /// Sets up pools.
    pub fn builder() -> PoolsBuilder {
        PoolsBuilder::default()
    }

    /// Pools whose CPU work runs on `executor`, beside the jobs that it has: one set of workers. It ends with them.
    ///
    /// ```
    /// use pipeline_exec::PipelineExecutor;
    /// use pools::Pools;
    ///
    /// let executor = PipelineExecutor::new(2)?;
    /// let jobs = executor.handle();
    /// let pools = Pools::from_executor(executor);
    /// assert_eq!(pools.cpu().run(|_cx| 1).wait()?, 1);
    /// assert_eq!(jobs.snapshot().jobs.submitted, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_executor(executor: PipelineExecutor) -> Self {
        PoolsBuilder::default().cpu_executor(executor).build_unchecked()
    }

    /// For work that may block.
    #[must_use]
    pub fn mixed(&self) -> MixedPool {
        MixedPool {
            inner: Arc::clone(&self.inner),
        }
    }

    /// For work that computes.
    #[must_use]
    pub fn cpu(&self) -> CpuPool {
        CpuPool {
            inner: Arc::clone(&self.inner),
        }
    }

    /// For housekeeping.
    #[must_use]
    pub fn maintenance(&self) -> MaintenancePool {
        MaintenancePool {
            inner: Arc::clone(&self.inner),
        }
    }

    /// What is in them now, and what they have counted.
    #[must_use]
    pub fn snapshot(&self) -> PoolsSnapshot {
        PoolsSnapshot {
            mixed: self.mixed().snapshot(),
            cpu: self.cpu().snapshot(),
            maintenance: self.maintenance().snapshot(),
        }
    }

    /// Ends the pools in order, within about `timeout`, and blocks until then: mixed takes nothing any more and is waited for, since its tasks may
    /// still want to compute; then CPU work is drained; then mixed tasks that are left are aborted, CPU tasks told to stop and left behind; maintenance goes last. What
    /// comes afterwards gets an error that says so. A second shutdown finds nothing to do.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pools::{CpuError, Pools};
    ///
    /// let pools = Pools::builder().cpu_threads(1).build()?;
    /// let task = pools.cpu().run(|_cx| 1);
    /// assert!(pools.shutdown(Duration::from_secs(60))?.is_clean());
    /// assert_eq!(task.wait()?, 1);
    /// assert!(matches!(pools.cpu().run(|_cx| 2).wait(), Err(CpuError::Closed)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It has no place in async code that is not the pools' own: the thread that it blocks may be the one that polls what it waits for. Call it by
    /// `tokio::task::spawn_blocking` there.
    ///
    /// # Errors
    ///
    /// In work of a pool, destructors in it included: it would wait for itself. Nothing ends then.
    pub fn shutdown(&self, timeout: Duration) -> Result<ShutdownReport, WrongPool> {
        shutdown::shut_down(&self.inner, Instant::now(), timeout)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.mixed.end();
        self.cpu.end();
        self.maintenance.close();
    }
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pools")
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}
