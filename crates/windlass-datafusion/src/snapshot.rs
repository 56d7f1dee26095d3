//! Which jobs a [`Windlass`](crate::Windlass) has open: what runs now, since when, and how far it
//! is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pools::{AsyncJob, JobUse, Pools, PoolsSnapshot};

/// What a [`Windlass`](crate::Windlass) is doing at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WindlassSnapshot {
    /// The jobs that are open, in the order in which they were opened.
    pub jobs: Vec<RunningJob>,
    /// The pools below, which may have other work as well.
    pub pools: PoolsSnapshot,
}

/// A query, or what was given to [`Windlass::spawn`](crate::Windlass::spawn).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningJob {
    /// As its options call it.
    pub name: String,
    /// How long it has been open.
    pub open_for: Duration,
    /// Tasks that were spawned in it.
    pub tasks_spawned: usize,
    /// Those of them that have ended.
    pub tasks_done: usize,
    /// What its tasks have used so far.
    pub used: JobUse,
}

/// The jobs that are open now.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    jobs: Mutex<Jobs>,
}

#[derive(Debug, Default)]
struct Jobs {
    opened: u64,
    open: BTreeMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    name: String,
    since: Instant,
    job: AsyncJob,
}

impl Registry {
    /// Counts a job as open until what this gives is dropped.
    pub(crate) fn enter(self: &Arc<Self>, name: &str, job: &AsyncJob) -> Registration {
        let mut jobs = self.lock();
        let number = jobs.opened;
        jobs.opened += 1;
        let open = Open {
            name: name.to_owned(),
            since: Instant::now(),
            job: job.clone(),
        };
        jobs.open.insert(number, open);
        Registration {
            number,
            all: Arc::clone(self),
        }
    }

    pub(crate) fn snapshot(&self, pools: &Pools) -> WindlassSnapshot {
        let running = |open: &Open| {
            let (tasks_done, tasks_spawned) = open.job.progress();
            RunningJob {
                name: open.name.clone(),
                open_for: open.since.elapsed(),
                tasks_spawned,
                tasks_done,
                used: open.job.used(),
            }
        };
        let jobs = self.lock().open.values().map(running).collect();
        WindlassSnapshot {
            jobs,
            pools: pools.snapshot(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job that is open.
#[derive(Debug)]
pub(crate) struct Registration {
    number: u64,
    all: Arc<Registry>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let open = self.all.lock().open.remove(&self.number);
        // Behind the lock: the last handle to a job may drop futures, which may drop other jobs.
        drop(open);
    }
}
