//! What a query gave, and what it took.

use std::fmt;
use std::sync::Arc;

use columnar::MemoryPool;

use crate::result::QueryResult;
use crate::statistics::JobStatistics;

/// The rows of a query, and a report of its run.
///
/// As text it is the report: what each worker did, and how much memory was in use.
#[derive(Debug)]
pub struct QueryReport {
    /// The rows.
    pub rows: QueryResult,
    /// What each worker did.
    pub statistics: JobStatistics,
    /// The same for generating the table, if this query was the first to read it.
    pub generated: Option<JobStatistics>,
    /// The memory limit with its peak, if there was a limit.
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
