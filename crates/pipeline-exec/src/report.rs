//! The report of a job, and its progress.

use std::time::Duration;

use crate::error::JobError;
use crate::job_id::JobId;

/// How a job ended, without its output.
pub type JobEnd = Result<JobReport, JobError>;

/// A completed job: its output and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport<T = ()> {
    /// The job's output; `()` if it makes none.
    pub output: T,
    /// Name of the job.
    pub id: JobId,
    /// Slots that ran, over all stages.
    pub slots: usize,
    /// Time from submission to the first claim.
    pub wait: Duration,
    /// Time from the first claim to the end.
    pub run: Duration,
    /// Slots that each worker ran, by its number, and last those of a helper. A spare thread counts
    /// for the worker that it stood in for.
    pub slots_per_worker: Vec<usize>,
}

/// How far a stage of a job is; see [`JobControl::stages`](crate::JobControl::stages).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageProgress {
    /// The stage's name.
    pub name: String,
    /// Slots that have run or were abandoned.
    pub done: usize,
    /// Slots in all; `None` before the stage has started.
    pub slots: Option<usize>,
}

impl StageProgress {
    /// Returns whether the stage has started and slots are left. Its `finish` does not count.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.slots.is_some_and(|slots| self.done < slots)
    }
}

impl JobReport {
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
