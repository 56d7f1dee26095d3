//! What a job that completed tells about its run.

use std::time::Duration;

/// A completed job in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport {
    /// The job's id.
    pub id: String,
    /// Slots that ran, over all stages.
    pub slots: usize,
    /// Time from submission to the first claim.
    pub wait: Duration,
    /// Time from the first claim to the end.
    pub run: Duration,
    /// Slots that each worker ran, by the worker's number.
    pub slots_per_worker: Vec<usize>,
}
