//! Makes a plan the executor's job, which returns the result.

use std::sync::Arc;

use columnar::{NestedScan, ScanStage};
use pipeline_exec::{Job, JobBuilder, Stage};

use crate::plan::QueryPlan;
use crate::result::QueryResult;
use crate::statistics::{Metered, WorkerShare};

/// Makes a job of a plan, for callers that submit it themselves. Its slots block their workers
/// while they read what is not in memory; a [`Session`](crate::Session) reads ahead of the workers.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// use columnar::MemoryTable;
/// use pipeline_exec::PipelineExecutor;
/// use query::{Catalog, PipelineBuilder, QueryError, QueryPlanner};
///
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)])?;
/// let mut tables = Catalog::new();
/// tables.register(Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?))?;
///
/// let plan = QueryPlanner::plan("select n from numbers order by n desc", &tables)?;
/// let executor = PipelineExecutor::new(2)?;
/// let ticket = executor.submit(PipelineBuilder::new(plan).build()).map_err(QueryError::from)?;
/// assert_eq!(ticket.wait().map_err(QueryError::from)?.output.num_rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PipelineBuilder {
    table: String,
    scan: Arc<NestedScan>,
    metered: Arc<Metered>,
}

impl PipelineBuilder {
    /// Prepares a job for `plan`.
    pub fn new(plan: QueryPlan) -> Self {
        let table = plan.table().to_owned();
        let scan = Arc::new(plan.into_scan());
        let first = Arc::clone(scan.first());
        let rows = Arc::clone(&first);
        let metered = Arc::new(Metered::new(first, move |slot| rows.rows(slot)));
        Self { table, scan, metered }
    }

    /// The query as one job.
    #[must_use]
    pub fn build(self) -> Job<QueryResult> {
        self.whole_job().build()
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    pub(crate) fn scan(&self) -> &Arc<NestedScan> {
        &self.scan
    }

    /// The scan of the table.
    pub(crate) fn stage(&self) -> &Arc<ScanStage> {
        self.scan.first()
    }

    pub(crate) fn metered_stage(&self) -> Arc<dyn Stage> {
        Arc::clone(&self.metered) as _
    }

    pub(crate) fn workers(&self) -> Vec<WorkerShare> {
        self.metered.workers()
    }

    pub(crate) fn whole_job(&self) -> JobBuilder<QueryResult> {
        let job = Job::builder(self.table.clone()).stage(self.metered_stage());
        self.output(job.cost(self.stage().cost()))
    }

    pub(crate) fn last_job(&self) -> JobBuilder<QueryResult> {
        self.output(Job::builder(self.table.clone()))
    }

    fn output(&self, mut job: JobBuilder) -> JobBuilder<QueryResult> {
        for following in self.scan.following() {
            job = job.stage(Arc::new(self.metered.beside(following)));
        }
        let scan = Arc::clone(&self.scan);
        job.output(move |_cx| scan.merge().map(QueryResult::from))
    }
}
