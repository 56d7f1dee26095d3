//! Claims with their times, to compare a run with an example.

use std::ops::Range;

use pipeline_exec::Role;

/// A worker's claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Virtual time of the claim, in nanoseconds.
    pub at_ns: u64,
    /// Number of the worker.
    pub worker: usize,
    /// The role in which it took the job.
    pub role: Role,
    /// Number of the job, in order of submission.
    pub job: usize,
    /// Number of the stage.
    pub stage: usize,
    /// The claimed slots.
    pub slots: Range<usize>,
}
