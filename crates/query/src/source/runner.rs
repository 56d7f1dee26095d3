//! Who runs the jobs that opening and querying consist of.

use pipeline_exec::{Job, JobReport, PipelineExecutor};

use crate::QueryError;

/// Runs a job to its end.
///
/// [`PipelineExecutor`] submits it and waits. A program that shows progress or cancels implements this around
/// the ticket's control, and every job of a query goes through it: inferring the types of a CSV file, generating TPC-H data and the query.
pub trait JobRunner {
    /// Runs `job` and blocks until it completed.
    ///
    /// # Errors
    ///
    /// What made the job fail, or that it was cancelled.
    fn run<T: Send + 'static>(&self, job: Job<T>) -> Result<JobReport<T>, QueryError>;
}

impl JobRunner for PipelineExecutor {
    fn run<T: Send + 'static>(&self, job: Job<T>) -> Result<JobReport<T>, QueryError> {
        let ticket = self.submit(job).map_err(|error| QueryError::Internal {
            message: format!("the executor took no job: {error:?}"),
        })?;
        Ok(ticket.wait()?)
    }
}
