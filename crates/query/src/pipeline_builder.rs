//! From a plan to a job for the pipeline executor, which gives the result.

use std::sync::Arc;

use columnar::{Quota, ScanStage};
use pipeline_exec::{Job, JobBuilder, JobReport, Stage};

use crate::statistics::Metered;
use crate::{Execution, JobStatistics, QueryPlan, QueryResult};

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

    /// The query as what runs it best: [`Execution`]. And a look at how it goes.
    pub fn prepare(self) -> (Execution, QueryRun) {
        let (parts, run) = self.parts();
        (Execution::new(parts), run)
    }

    /// The query as one job to submit, which gives the result, and a look at how it goes. The slots of this job read what is not in
    /// memory themselves, and hold their workers up meanwhile: for a table of files [`prepare`](Self::prepare) is better, and one of objects can be read
    /// by it alone.
    pub fn build(self) -> (Job<QueryResult>, QueryRun) {
        let (parts, run) = self.parts();
        (parts.job(), run)
    }

    fn parts(self) -> (Parts, QueryRun) {
        let table = self.plan.table().to_owned();
        let quota = self.plan.scan.quota.clone();
        let stage = Arc::new(ScanStage::new(self.plan.scan));
        let rows = Arc::clone(&stage);
        let metered = Arc::new(Metered::new(Arc::clone(&stage) as _, move |slot| rows.rows(slot)));
        let run = QueryRun {
            table: table.clone(),
            stage: Arc::clone(&stage),
            metered: Arc::clone(&metered),
        };
        let parts = Parts {
            table,
            quota,
            stage,
            metered,
        };
        (parts, run)
    }
}

/// What the jobs of a query are made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) table: String,
    pub(crate) quota: Option<Arc<Quota>>,
    pub(crate) stage: Arc<ScanStage>,
    metered: Arc<Metered>,
}

impl Parts {
    /// The whole query.
    pub(crate) fn job(&self) -> Job<QueryResult> {
        let job = Job::builder(self.table.clone()).stage(self.metered_stage());
        self.give(job.cost(self.stage.cost()))
    }

    /// What follows when every slot has run.
    pub(crate) fn last_job(&self) -> Job<QueryResult> {
        self.give(Job::builder(self.table.clone()))
    }

    /// The scan, whose slots are counted.
    pub(crate) fn metered_stage(&self) -> Arc<dyn Stage> {
        Arc::clone(&self.metered) as _
    }

    fn give(&self, mut job: JobBuilder) -> Job<QueryResult> {
        for following in self.stage.following() {
            job = job.stage(Arc::new(self.metered.beside(following)));
        }
        let stage = Arc::clone(&self.stage);
        job.output(move |_cx| stage.merge().map(QueryResult::from))
            .build()
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
