//! Who runs the jobs that opening and querying consist of, and reads what they need.

use pipeline_exec::{Job, JobReport, PipelineExecutor, PipelineHandle};
use pools::{MixedPool, Pools};

use crate::{QueryError, WorkControl};

/// Where the work of opening tables and answering queries happens, and who watches it.
///
/// [`PipelineExecutor`] computes on its own workers and reads on the mixed pool of [`Pools::global`]; [`Pools`] do both. A program that shows
/// progress or cancels implements this, and [`watch`](Self::watch) in it: all that takes long goes through it, which is inferring the types of
/// a CSV file, generating TPC-H data and the query.
pub trait JobRunner {
    /// The workers that compute.
    ///
    /// # Errors
    ///
    /// When there are none any more.
    fn executor(&self) -> Result<PipelineHandle, QueryError>;

    /// The pool that reads.
    fn mixed(&self) -> MixedPool;

    /// Calls `work`, which blocks, runs jobs on the executor over the table `table`, and can be watched and stopped by its control.
    ///
    /// # Errors
    ///
    /// What `work` fails with.
    fn watch<T>(
        &self,
        table: &str,
        work: impl FnOnce(&WorkControl) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let _ = table;
        work(&WorkControl::new())
    }

    /// Runs `job` and blocks until it completed.
    ///
    /// # Errors
    ///
    /// What made the job fail, or that it was cancelled.
    fn run<T: Send + 'static>(&self, job: Job<T>) -> Result<JobReport<T>, QueryError> {
        let executor = self.executor()?;
        let table = job.table_name.clone();
        self.watch(&table, |control| control.run(&executor, job))
    }
}

impl JobRunner for PipelineExecutor {
    fn executor(&self) -> Result<PipelineHandle, QueryError> {
        Ok(self.handle())
    }

    fn mixed(&self) -> MixedPool {
        Pools::global().mixed()
    }
}

impl JobRunner for Pools {
    fn executor(&self) -> Result<PipelineHandle, QueryError> {
        let executor = self.cpu().executor();
        executor.map_err(|error| QueryError::Internal {
            message: error.to_string(),
        })
    }

    fn mixed(&self) -> MixedPool {
        Pools::mixed(self)
    }
}
