//! What a worker has claimed, and when: for those who compare a run with an example.

use std::ops::Range;

use pipeline_exec::Role;

/// Slots that a worker has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// When, in nanoseconds of virtual time.
    pub at_ns: u64,
    /// Number of the worker.
    pub worker: usize,
    /// In which role it took the job.
    pub role: Role,
    /// Number of the job in the order of submission.
    pub job: usize,
    /// Number of the stage.
    pub stage: usize,
    /// The slots.
    pub slots: Range<usize>,
}
