//! What a job that completed gives, and what it tells about its run; and what one that runs tells.

use std::time::Duration;

use crate::job_id::JobId;

/// A completed job: its output, and its run in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport<T = ()> {
    /// What [`JobBuilder::output`](crate::JobBuilder::output) made; `()` if nothing was said there.
    pub output: T,
    /// The job's id.
    pub id: JobId,
    /// Slots that ran, over all stages.
    pub slots: usize,
    /// Time from submission to the first claim.
    pub wait: Duration,
    /// Time from the first claim to the end.
    pub run: Duration,
    /// Slots that each worker ran, by the worker's number, and in the last place those of a thread that was lent to the job. A spare
    /// thread's count as those of the worker for which it stood in.
    pub slots_per_worker: Vec<usize>,
}

/// How far a stage of a job is; see [`JobControl::stages`](crate::JobControl::stages).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageProgress {
    /// What the stage calls itself.
    pub name: String,
    /// Slots that have run or were given up.
    pub done: usize,
    /// Slots in all. `None` as long as the stage waits for others: only then is it asked.
    pub slots: Option<usize>,
}

impl StageProgress {
    /// Whether it has started and slots are left. What follows the last slot of a stage does not count.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.slots.is_some_and(|slots| self.done < slots)
    }
}

impl JobReport {
    /// The same with an output.
    pub(crate) fn with<T>(self, output: T) -> JobReport<T> {
        let Self {
            output: (),
            id,
            slots,
            wait,
            run,
            slots_per_worker,
        } = self;
        JobReport {
            output,
            id,
            slots,
            wait,
            run,
            slots_per_worker,
        }
    }
}
