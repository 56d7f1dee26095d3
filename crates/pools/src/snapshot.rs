//! What is in the pools at a moment, and what they have counted.

use std::fmt;

use pipeline_exec::PipelineSnapshot;

/// All three pools at a moment.
#[derive(Clone, Debug)]
pub struct PoolsSnapshot {
    /// The mixed pool.
    pub mixed: MixedSnapshot,
    /// The CPU pool's executor; `None` before it was used first, and after its end.
    pub cpu: Option<PipelineSnapshot>,
    /// The maintenance pool.
    pub maintenance: MaintenanceSnapshot,
}

/// The mixed pool at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixedSnapshot {
    /// Async tasks that have not ended.
    pub tasks: usize,
    /// Blocking calls that run.
    pub blocking_running: usize,
    /// Blocking calls that have no thread yet.
    pub blocking_waiting: usize,
    /// How many blocking calls may run.
    pub blocking_max: usize,
    /// Async tasks that were taken, in all.
    pub tasks_in_all: u64,
    /// Blocking calls that were taken, in all.
    pub blocking_in_all: u64,
    /// Those of them that came when as many as may run were there: they had to queue.
    pub blocking_queued: u64,
}

/// The maintenance pool at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaintenanceSnapshot {
    /// Threads that there are.
    pub threads: usize,
    /// Tasks that run.
    pub running: usize,
    /// Tasks that wait for a thread.
    pub queued: usize,
    /// Tasks that run at intervals.
    pub repeating: usize,
    /// Runs that have ended, in all.
    pub ran: u64,
    /// Those of them that panicked.
    pub panicked: u64,
}

impl fmt::Display for PoolsSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mixed        {}", self.mixed)?;
        writeln!(f, "maintenance  {}", self.maintenance)?;
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
