//! The context of a CPU task.

use std::fmt;
use std::sync::Arc;

use pipeline_exec::{Job, JobError, JobReport, StepCx};

use super::state::Stop;

/// The context of a CPU task, without a way to block or to reach another pool. A wait for its parts
/// runs no other job's, so one worker cannot deadlock, and a lock held meanwhile meets no foreign
/// code.
pub struct CpuCx<'a> {
    step: &'a StepCx<'a>,
    stop: Arc<Stop>,
}

impl<'a> CpuCx<'a> {
    /// Makes a slot's context, for steps that compute as CPU tasks do.
    #[must_use]
    pub fn new(step: &'a StepCx<'a>) -> Self {
        Self {
            step,
            stop: Arc::default(),
        }
    }

    pub(super) fn of(step: &'a StepCx<'a>, stop: &Arc<Stop>) -> Self {
        Self {
            step,
            stop: Arc::clone(stop),
        }
    }

    pub(super) fn stop(&self) -> &Arc<Stop> {
        &self.stop
    }

    /// Returns whether the task was dropped or the pool's time is up. It should then return soon.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.stop.is_told() || self.step.is_cancelled()
    }

    /// Runs a job of this task, as [`StepCx::run`].
    ///
    /// # Errors
    ///
    /// Why it did not complete.
    pub fn run_job<T>(&self, job: Job<T>) -> Result<JobReport<T>, JobError> {
        self.step.run(job)
    }
}

impl fmt::Debug for CpuCx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuCx").field("step", &self.step).finish()
    }
}
