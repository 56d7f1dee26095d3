//! The counters of the pools, and their text.

use std::fmt;

use pipeline_exec::metrics::PipelineSnapshot;

/// Counters of all pools.
#[derive(Clone, Debug)]
pub struct PoolsSnapshot {
    /// The mixed pool.
    pub mixed: MixedSnapshot,
    /// The CPU pool's executor; `None` before its first use and after its end.
    pub cpu: Option<PipelineSnapshot>,
    /// The maintenance pool.
    pub maintenance: MaintenanceSnapshot,
    /// [Wake-ups](crate::Pools::wake_at) that are to come.
    pub wake_ups: usize,
}

/// Counters of the mixed pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixedSnapshot {
    /// Async tasks that have not ended.
    pub tasks: usize,
    /// Running blocking calls.
    pub blocking_running: usize,
    /// Blocking calls without a thread yet.
    pub blocking_waiting: usize,
    /// Largest number of blocking calls that run at once.
    pub blocking_max: usize,
    /// Tasks accepted so far.
    pub tasks_in_all: u64,
    /// Blocking calls accepted so far.
    pub blocking_in_all: u64,
    /// Blocking calls that had to wait for one of `blocking_max`.
    pub blocking_queued: u64,
}

/// Counters of the maintenance pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaintenanceSnapshot {
    /// Live threads.
    pub threads: usize,
    /// Running tasks.
    pub running: usize,
    /// Tasks that wait for a thread.
    pub queued: usize,
    /// Tasks that run at intervals.
    pub repeating: usize,
    /// Runs that have ended so far.
    pub ran: u64,
    /// Runs that panicked.
    pub panicked: u64,
}

impl fmt::Display for PoolsSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mixed        {}", self.mixed)?;
        writeln!(f, "maintenance  {}", self.maintenance)?;
        writeln!(f, "clock        {} wake-ups to come", self.wake_ups)?;
        match &self.cpu {
            Some(cpu) => write!(f, "CPU\n{cpu}"),
            None => f.write_str("CPU          not started, or ended"),
        }
    }
}

impl fmt::Display for MixedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tasks,
            blocking_running,
            blocking_waiting,
            blocking_max,
            tasks_in_all,
            blocking_in_all,
            blocking_queued,
        } = self;
        write!(
            f,
            "{tasks} tasks ({tasks_in_all} in all), {blocking_running} of {blocking_max} blocking calls run, {blocking_waiting} wait \
             ({blocking_in_all} in all, {blocking_queued} had to queue)"
        )
    }
}

impl fmt::Display for MaintenanceSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            threads,
            running,
            queued,
            repeating,
            ran,
            panicked,
        } = self;
        write!(
            f,
            "{threads} threads, {running} tasks run, {queued} wait, {repeating} repeat ({ran} ran, {panicked} panicked)"
        )
    }
}
