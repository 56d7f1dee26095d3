//! The open jobs of a [`Windlass`](crate::Windlass).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pipeline_exec::lock;
use pools::{AsyncJob, JobUse, Pools, PoolsSnapshot};

/// The state of a [`Windlass`](crate::Windlass).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WindlassSnapshot {
    /// The open jobs, in order of opening.
    pub jobs: Vec<RunningJob>,
    /// The pools below, with other work.
    pub pools: PoolsSnapshot,
}

/// A query, or a future of [`Windlass::spawn`](crate::Windlass::spawn).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningJob {
    /// Its name.
    pub name: String,
    /// Time since its opening.
    pub open_for: Duration,
    /// Tasks spawned in it.
    pub tasks_spawned: usize,
    /// Tasks that have ended.
    pub tasks_done: usize,
    /// What its tasks have used.
    pub used: JobUse,
}

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
    pub(crate) fn enter(self: &Arc<Self>, name: &str, job: &AsyncJob) -> Registration {
        let mut jobs = lock(&self.jobs);
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
        let jobs = lock(&self.jobs).open.values().map(running).collect();
        WindlassSnapshot {
            jobs,
            pools: pools.snapshot(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Registration {
    number: u64,
    all: Arc<Registry>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let open = lock(&self.all.jobs).open.remove(&self.number);
        // Outside the lock: the last handle to a job may drop futures, which may drop other jobs.
        drop(open);
    }
}
