//! From a plan to a job for the pipeline executor, which gives the result.

use std::sync::Arc;

use columnar::ScanStage;
use pipeline_exec::{Job, JobReport};

use crate::statistics::Metered;
use crate::{JobStatistics, QueryPlan, QueryResult};

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
/// let (job, _run) = PipelineBuilder::new(plan).build();
/// let executor = PipelineExecutor::new(2).expect("two threads");
/// let report = executor.submit(job).expect("room").wait().map_err(QueryError::from)?;
/// assert_eq!(report.output.num_rows(), 2);
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

    /// The job to submit, which gives the result, and a look at how it goes.
    pub fn build(self) -> (Job<QueryResult>, QueryRun) {
        let name = self.plan.table().to_owned();
        let stage = Arc::new(ScanStage::new(self.plan.scan));
        let rows = Arc::clone(&stage);
        let metered = Arc::new(Metered::new(Arc::clone(&stage) as _, move |slot| rows.rows(slot)));
        let mut job = Job::builder(name.clone()).stage(Arc::clone(&metered) as _);
        for following in stage.following() {
            job = job.stage(Arc::new(metered.beside(following)));
        }
        let job = job
            .cost(stage.cost())
            .output({
                let stage = Arc::clone(&stage);
                move |_cx| stage.merge().map(QueryResult::from)
            })
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
    /// What each worker did, with the times of the job's `report`.
    pub fn statistics<T>(&self, report: &JobReport<T>) -> JobStatistics {
        JobStatistics::new(format!("query {}", self.table), report, self.metered.workers())
    }

    /// The plan with what was measured so far: rows and time of each filter step, morsels skipped.
    pub fn explain(&self) -> String {
        self.stage.explain()
    }
}
