//! A query's rows and report.

use std::fmt;
use std::sync::Arc;

use columnar::MemoryPool;

use crate::result::QueryResult;
use crate::statistics::JobStatistics;

/// A query's rows; its text is a report of the run.
#[derive(Debug)]
pub struct QueryReport {
    /// The rows.
    pub rows: QueryResult,
    /// Each worker's work.
    pub statistics: JobStatistics,
    /// Each worker's work for generating the table, if this query read it first.
    pub generated: Option<JobStatistics>,
    /// The memory limit and its peak, if there was a limit.
    pub memory: Option<Arc<MemoryPool>>,
}

impl fmt::Display for QueryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(generated) = &self.generated {
            generated.fmt(f)?;
        }
        self.statistics.fmt(f)?;
        match &self.memory {
            Some(quota) => writeln!(f, "memory: at most {} of {} bytes", quota.peak(), quota.limit()),
            None => Ok(()),
        }
    }
}
