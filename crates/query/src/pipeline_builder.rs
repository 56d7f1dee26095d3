//! From a plan to a job for the pipeline executor, and from the job that ran to the result.

use std::sync::Arc;

use columnar::ScanStage;
use pipeline_exec::{Job, JobReport};

use crate::statistics::Metered;
use crate::{JobStatistics, QueryError, QueryPlan, QueryResult};

/// Makes a job of a plan.
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
/// let (job, run) = PipelineBuilder::new(plan).build();
/// let executor = PipelineExecutor::new(2).expect("two threads");
/// executor.submit(job).expect("room").wait().map_err(QueryError::from)?;
/// assert_eq!(run.take()?.num_rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PipelineBuilder {
    plan: QueryPlan,
}

impl PipelineBuilder {
    /// For `plan`.
    pub fn new(plan: QueryPlan) -> Self {
        Self { plan }
    }

    /// The job to submit, and the handle that gives its result once it has ended.
    pub fn build(self) -> (Job, QueryRun) {
        let name = self.plan.table().to_owned();
        let stage = Arc::new(ScanStage::new(self.plan.scan));
        let rows = Arc::clone(&stage);
        let metered = Arc::new(Metered::new(Arc::clone(&stage) as _, move |slot| rows.rows(slot)));
        let job = Job::builder(name.as_str())
            .stage(Arc::clone(&metered) as _)
            .cost(stage.cost())
            .build();
        (
            job,
            QueryRun {
                table: name,
                stage,
                metered,
            },
        )
    }
}

/// A query that runs or ran.
#[derive(Clone, Debug)]
pub struct QueryRun {
    table: String,
    stage: Arc<ScanStage>,
    metered: Arc<Metered>,
}

impl QueryRun {
    /// The result, once, after the job's ticket said that it ended well.
    ///
    /// # Errors
    ///
    /// [`QueryError::Internal`] when the job has not ended well, or the result was taken.
    pub fn take(&self) -> Result<QueryResult, QueryError> {
        let result = self.stage.take_result();
        result
            .map(|result| QueryResult {
                schema: result.schema,
                batches: result.batches,
            })
            .ok_or_else(|| QueryError::Internal {
                message: "the query has no result: it has not ended, or was taken".to_owned(),
            })
    }

    /// What each worker did, with the times of the job's `report`.
    pub fn statistics(&self, report: &JobReport) -> JobStatistics {
        JobStatistics::new(format!("query {}", self.table), report, self.metered.workers())
    }

    /// The plan with what was measured so far: rows and time of each filter step, morsels skipped.
    pub fn explain(&self) -> String {
        self.stage.explain()
    }
}
