//! A query that is ready to run, with its limits.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use columnar::{MemoryPool, NestedScan};
use tokio_util::sync::CancellationToken;

use super::report::QueryReport;
use crate::error::QueryError;
use crate::execution::{ReadAhead, execute};
use crate::pipeline_builder::PipelineBuilder;
use crate::plan::QueryPlan;
use crate::progress::Progress;
use crate::reading::OnClose;
use crate::source::TpchTable;
use crate::statistics::JobStatistics;
use crate::work::Work;

const READ_AHEAD_BYTES: usize = 32 << 20;
/// One part of the memory limit is read ahead by default, another holds running windows.
const LIMIT_PARTS: usize = 8;
const REQUESTS: usize = 32;

/// A query that is ready to run once.
///
/// The mixed pool reads files and objects in order, ahead of the workers, so workers never wait for
/// bytes. Rows are the same to the bit for every read-ahead and worker count.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// # use columnar::MemoryTable;
/// use std::time::{Duration, Instant};
/// use query::Session;
/// use query::pipeline_exec::PipelineExecutor;
///
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)])?;
/// let mut session = Session::new(PipelineExecutor::new(2)?);
/// session.register(Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?))?;
/// let query = session
///     .sql("select sum(n) from numbers where n > 1")?
///     .memory_limit(64 << 20)
///     .deadline(Instant::now() + Duration::from_secs(30));
/// let (plan, progress) = (query.explain(), query.progress());
/// let report = query.run()?;
/// assert_eq!(report.rows.num_rows(), 1);
/// let (done, total) = progress.slots();
/// assert_eq!(done, total);
/// println!("{plan}\n{report}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "`run` gives the rows"]
pub struct Query {
    work: Work,
    plan: QueryPlan,
    generated: Option<Arc<TpchTable>>,
    measured: Measured,
    read_ahead: Option<usize>,
    requests: usize,
    on_close: OnClose,
}

type Measured = Arc<OnceLock<Arc<NestedScan>>>;

impl Query {
    pub(super) fn new(work: Work, plan: QueryPlan, generated: Option<Arc<TpchTable>>) -> Self {
        Self {
            work,
            plan,
            generated,
            measured: Measured::default(),
            read_ahead: None,
            requests: REQUESTS,
            on_close: OnClose::default(),
        }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &QueryPlan {
        &self.plan
    }

    /// The plan as text, with what the run measured so far.
    #[must_use]
    pub fn explain(&self) -> Explain {
        Explain {
            plan: self.plan.clone(),
            measured: Arc::clone(&self.measured),
        }
    }

    /// The query's progress, for another thread.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.work.progress()
    }

    /// Bounds the query's memory to `bytes`, as [`QueryPlan::with_quota`] does.
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        let quota = Arc::new(MemoryPool::new(self.plan.table(), bytes));
        self.plan = self.plan.with_quota(quota);
        self
    }

    /// The query fails with [`QueryError::DeadlineExceeded`] if its answer is not ready at
    /// `deadline`, even while queued. A running slot is not interrupted. The earliest deadline
    /// counts.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.work = self.work.deadline(deadline);
        self
    }

    /// Bounds the bytes read ahead of the workers. Morsels that wait for a worker hold as much
    /// again, and at least one morsel per worker. Default: 32 MiB, or an eighth of the memory
    /// limit.
    pub fn read_ahead(mut self, bytes: usize) -> Self {
        self.read_ahead = Some(bytes);
        self
    }

    /// Bounds the requests under way at once, 32 by default.
    pub fn requests_at_once(mut self, requests: usize) -> Self {
        self.requests = requests;
        self
    }

    /// Calls `call` once, when this query no longer reads the table: perhaps after a failed or
    /// cancelled query's end.
    pub fn on_close(mut self, call: impl FnOnce() + Send + 'static) -> Self {
        self.on_close.push(call);
        self
    }

    /// Runs the query and blocks until it ends.
    ///
    /// # Errors
    ///
    /// The first failure in input order; no slot runs any more then. [`QueryError::Unavailable`] in
    /// async code and in CPU tasks.
    pub fn run(self) -> Result<QueryReport, QueryError> {
        let (work, token) = (self.work.clone(), self.work.token().clone());
        work.block_on(self.run_async(token))
    }

    /// Runs the query in async code; `token` replaces the session's token. Dropping the future
    /// cancels the query.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// # use columnar::MemoryTable;
    /// use query::pools::Pools;
    /// use query::{CancellationToken, Session};
    ///
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)])?;
    /// let pools = Pools::builder().cpu_threads(2).build()?;
    /// let mut session = Session::new(pools.clone());
    /// session.register(Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?))?;
    /// let answer = session.sql("select sum(n) from numbers")?.run_async(CancellationToken::new());
    /// assert_eq!(pools.mixed().block_on(answer)??.rows.num_rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_async(self, token: CancellationToken) -> Result<QueryReport, QueryError> {
        let work = self.work.cancelled_by(token);
        let generated = match &self.generated {
            Some(table) => table.load_async(&self.plan.columns(), &work).await?,
            None => None,
        };
        let memory = self.plan.memory_pool().cloned();
        let ahead = memory.as_ref().map_or(READ_AHEAD_BYTES, |quota| {
            READ_AHEAD_BYTES.min(quota.limit() / LIMIT_PARTS)
        });
        let reads = ReadAhead {
            bytes: self.read_ahead.unwrap_or(ahead),
            requests: self.requests,
            on_close: self.on_close,
        };
        let run = work.begin(format!("querying {}", self.plan.table()))?;
        let query = PipelineBuilder::new(self.plan);
        self.measured.get_or_init(|| Arc::clone(query.scan()));
        let report = execute(&query, reads, &run).await?;
        let statistics = JobStatistics::new(format!("query {}", query.table()), &report, query.workers());
        Ok(QueryReport {
            rows: report.output,
            statistics,
            generated,
            memory,
        })
    }
}

/// A query's plan as text, with what the run measured of each filter step.
#[derive(Clone, Debug)]
pub struct Explain {
    plan: QueryPlan,
    measured: Measured,
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.measured.get() {
            Some(scan) => f.write_str(&scan.explain()),
            None => self.plan.fmt(f),
        }
    }
}
