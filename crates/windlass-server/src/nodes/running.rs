//! The queries of a worker: each is one job, however many requests compute parts of it.
//!
//! ```text
//!   coordinator ── a channel for each part ──►┐
//!   coordinator, other workers ── rows ──────►├─ one job of the query's class, with its deadline
//!                                             ┘
//!   the last channel ends, or its coordinator is gone ──► the job ends, and every task of it
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use datafusion::execution::runtime_env::RuntimeEnv;
use pipeline_exec::lock;
use pipeline_exec::metrics::Activity;
use windlass_datafusion::Class;
use windlass_datafusion::Windlass;
use windlass_datafusion::pools::{AsyncJob, JobUse};

use super::headers::QueryHeaders;
use crate::memory::{StatementMemory, UsersMemory};

/// The queries that have not ended.
pub(crate) struct RunningQueries {
    windlass: Windlass,
    memory: UsersMemory,
    queries_max: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<String, Arc<Running>>,
    begun: u64,
    is_draining: bool,
    is_killed: bool,
}

/// A query that this worker computes parts of.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) headers: QueryHeaders,
    pub(crate) job: AsyncJob,
    memory: StatementMemory,
    since: Instant,
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    channels: usize,
    all: usize,
}

/// A query of a worker at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunningQuery {
    /// Its name, the same on all workers.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// How urgent it is.
    pub class: Class,
    /// Its time, from its first request here.
    pub deadline: Option<Duration>,
    /// Time since then.
    pub open_for: Duration,
    /// Number of requests that it has open.
    pub requests: usize,
    /// Number of its tasks that have not ended.
    pub tasks: usize,
    /// What its tasks have used so far.
    pub used: JobUse,
}

/// Why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Draining,
    TooMany(usize),
}

/// What a request's answer is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// The channel of the coordinator, which is open as long as the query runs.
    Channel,
    Rows,
}

/// A request of a query, until its answer has ended.
#[derive(Debug)]
pub(crate) struct Call {
    all: Arc<RunningQueries>,
    running: Arc<Running>,
    kind: CallKind,
    has_failed: bool,
}

impl RunningQueries {
    pub(crate) fn new(windlass: &Windlass, memory: UsersMemory, queries_max: usize) -> Self {
        Self {
            windlass: windlass.clone(),
            memory,
            queries_max,
            table: Mutex::default(),
        }
    }

    /// Begins a request of a query, and the query if it is the first.
    pub(crate) fn enter(self: &Arc<Self>, headers: QueryHeaders, kind: CallKind) -> Result<Call, Refused> {
        let mut table = lock(&self.table);
        let running = match table.open.get(&headers.name) {
            Some(running) => Arc::clone(running),
            None if table.is_draining => return Err(Refused::Draining),
            None if table.open.len() >= self.queries_max => {
                return Err(Refused::TooMany(self.queries_max));
            }
            None => {
                let running = Arc::new(self.begin(headers));
                let name = running.headers.name.clone();
                table.begun += 1;
                table.open.insert(name, Arc::clone(&running));
                running
            }
        };
        {
            let mut calls = lock(&running.calls);
            calls.all += 1;
            calls.channels += usize::from(kind == CallKind::Channel);
        }
        Ok(Call {
            all: Arc::clone(self),
            running,
            kind,
            has_failed: false,
        })
    }

    fn begin(&self, headers: QueryHeaders) -> Running {
        let name = format!("query {} of {}", headers.name, headers.user);
        let options = headers.options.job(name);
        let user = Arc::from(headers.user.as_str());
        Running {
            job: self.windlass.pools().cpu().open(options),
            memory: self.memory.statement(&user, headers.options.memory),
            since: Instant::now(),
            calls: Mutex::default(),
            headers,
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<Running>> {
        lock(&self.table).open.get(name).cloned()
    }

    pub(crate) fn open(&self) -> Vec<RunningQuery> {
        let open: Vec<_> = lock(&self.table).open.values().cloned().collect();
        open.iter().map(|running| running.now()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.table).open.len()
    }

    /// Number of queries that have begun.
    pub(crate) fn begun(&self) -> u64 {
        lock(&self.table).begun
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.reserved()
    }

    pub(crate) fn memory_limit_bytes(&self) -> Option<usize> {
        self.memory.limit()
    }

    /// Time that each thread has computed.
    pub(crate) fn busy(&self) -> Vec<Duration> {
        let executor = self.windlass.snapshot().pools.cpu.unwrap_or_default();
        let busy = |thread: &Activity| thread.busy_main + thread.busy_reserve;
        executor.workers.iter().map(busy).collect()
    }

    /// No query begins from now on.
    pub(crate) fn drain(&self) {
        lock(&self.table).is_draining = true;
    }

    pub(crate) fn is_draining(&self) -> bool {
        lock(&self.table).is_draining
    }

    pub(crate) fn is_killed(&self) -> bool {
        lock(&self.table).is_killed
    }

    /// Ends what runs. Returns the number of queries.
    pub(crate) fn kill(&self) -> usize {
        let open: Vec<_> = {
            let mut table = lock(&self.table);
            table.is_killed = true;
            table.open.values().cloned().collect()
        };
        for running in &open {
            running.job.cancel();
        }
        open.len()
    }
}

impl Running {
    /// The worker's environment with the query's memory.
    pub(crate) fn runtime(&self, worker: &RuntimeEnv) -> Arc<RuntimeEnv> {
        self.memory.runtime(worker)
    }

    fn now(&self) -> RunningQuery {
        let (done, spawned) = self.job.progress();
        RunningQuery {
            name: self.headers.name.clone(),
            user: self.headers.user.clone(),
            class: self.headers.options.class,
            deadline: self.headers.options.deadline,
            open_for: self.since.elapsed(),
            requests: lock(&self.calls).all,
            tasks: spawned.saturating_sub(done),
            used: self.job.used(),
        }
    }
}

impl Call {
    pub(crate) fn running(&self) -> &Arc<Running> {
        &self.running
    }

    /// The answer is an error. Others that ask for a part of the query are to be told the same
    /// error, so it goes on for them.
    pub(crate) fn fail(&mut self) {
        self.has_failed = true;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut table = lock(&self.all.table);
        let (is_last_channel, is_last) = {
            let mut calls = lock(&self.running.calls);
            calls.all -= 1;
            calls.channels -= usize::from(self.kind == CallKind::Channel);
            let was_channel = self.kind == CallKind::Channel && !self.has_failed;
            (was_channel && calls.channels == 0, calls.all == 0)
        };
        let removed = is_last.then(|| table.open.remove(&self.running.headers.name));
        drop(table);
        if is_last_channel || is_last {
            self.running.job.cancel();
        }
        drop(removed);
    }
}

impl fmt::Debug for RunningQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningQueries")
            .field("open", &self.len())
            .finish_non_exhaustive()
    }
}
