//! What a job that completed gives, and what it tells about its run.

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
    /// Slots that each worker ran, by the worker's number, and in the last place those of a thread that was lent to the job.
    pub slots_per_worker: Vec<usize>,
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
