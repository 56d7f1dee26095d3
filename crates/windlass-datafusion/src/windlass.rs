//! The handle that a program installs once.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use datafusion_common_runtime::JoinSetTracer;
use pools::{AsyncJob, AsyncTask, JobOptions, Pools};

use crate::hook::{self, HookTaken};
use crate::snapshot::{Registration, Registry, WindlassSnapshot};

/// Makes DataFusion's queries jobs on the CPU pool of [`Pools`]. Clones share it.
///
/// ```
/// use pools::{JobOptions, Pools};
/// use windlass_datafusion::Windlass;
///
/// let windlass = Windlass::install(Pools::builder().cpu_threads(2).build()?)?;
/// // All that this future spawns by DataFusion's `SpawnedTask` and `JoinSet` are tasks of its job.
/// let task = windlass.spawn(JobOptions::new().name("sum"), async { (1..=10).sum::<u32>() });
/// let sum = windlass.pools().mixed().block_on(task)?;
/// assert_eq!(sum.ok(), Some(55));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Windlass {
    shared: Arc<Shared>,
}

struct Shared {
    pools: Pools,
    open: Arc<Registry>,
}

impl Windlass {
    /// Sets the process's hook, and opens jobs in `pools` from then on. Later calls find the hook
    /// set, and return handles to their own pools.
    ///
    /// # Errors
    ///
    /// If another part of the program has set DataFusion's tracer.
    #[track_caller]
    pub fn install(pools: Pools) -> Result<Self, HookTaken> {
        hook::install(None, Location::caller())?;
        Ok(Self::of(pools))
    }

    /// As [`install`](Self::install), around the program's tracer: it gets every future first, and
    /// the job polls its result.
    ///
    /// # Errors
    ///
    /// As [`install`](Self::install), and if the hook is installed already.
    #[track_caller]
    pub fn install_around(pools: Pools, tracer: impl JoinSetTracer) -> Result<Self, HookTaken> {
        hook::install(Some(Box::new(tracer)), Location::caller())?;
        Ok(Self::of(pools))
    }

    fn of(pools: Pools) -> Self {
        let open = Arc::default();
        Self {
            shared: Arc::new(Shared { pools, open }),
        }
    }

    /// Returns the pools.
    #[must_use]
    pub fn pools(&self) -> &Pools {
        &self.shared.pools
    }

    /// Runs a future as the first task of a new job, which also gets what the future spawns by
    /// DataFusion. Dropping the task cancels the job.
    pub fn spawn<F>(&self, options: JobOptions, future: F) -> AsyncTask<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (job, open) = self.open(options);
        job.spawn_root(async move {
            let _open = open;
            future.await
        })
    }

    /// The job is open until the second value is dropped.
    pub(crate) fn open(&self, options: JobOptions) -> (AsyncJob, Registration) {
        let name = options.job_name().to_owned();
        let job = self.shared.pools.cpu().open(options);
        let open = self.shared.open.enter(&name, &job);
        (job, open)
    }

    /// Returns the open jobs, and the pools' counters.
    #[must_use]
    pub fn snapshot(&self) -> WindlassSnapshot {
        self.shared.open.snapshot(&self.shared.pools)
    }
}

impl fmt::Debug for Windlass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Windlass")
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}
