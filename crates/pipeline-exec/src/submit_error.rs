//! A job that was not admitted.

use std::error::Error;
use std::fmt;

use crate::job::Job;

/// A job that the executor did not admit. The job is unchanged and can be submitted again.
pub enum SubmitError<T = ()> {
    /// The executor drains or was shut down.
    Closed(Job<T>),
    /// The executor holds as many jobs as it admits.
    Full(Job<T>),
}

impl<T> SubmitError<T> {
    /// Returns the job.
    #[must_use]
    pub fn into_job(self) -> Job<T> {
        match self {
            Self::Closed(job) | Self::Full(job) => job,
        }
    }
}

impl<T> fmt::Debug for SubmitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(job) => f.debug_tuple("Closed").field(&job.id).finish(),
            Self::Full(job) => f.debug_tuple("Full").field(&job.id).finish(),
        }
    }
}

impl<T> fmt::Display for SubmitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (job, why) = match self {
            Self::Closed(job) => (job, "the executor no longer accepts jobs"),
            Self::Full(job) => (job, "as many jobs wait as the executor admits"),
        };
        write!(f, "job {} over `{}` was not taken: {why}", job.id, job.table_name)
    }
}

impl<T> Error for SubmitError<T> {}
