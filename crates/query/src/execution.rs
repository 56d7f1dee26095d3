//! A query on its way to its answer: one job where its table is in memory, and windows over what is read meanwhile where it is not.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use columnar::ScanStage;
use pipeline_exec::{Job, JobReport, PipelineHandle, Stage, StepCx, StepError};
use pools::MixedPool;

use crate::pipeline_builder::Parts;
use crate::reading::{Reading, SlotRun};
use crate::source::JobRunner;
use crate::windows::{Window, Windows};
use crate::work_control::not_taken;
use crate::{QueryError, QueryResult, WorkControl};

/// Bytes that are read ahead of the workers, if nobody says otherwise.
const READ_AHEAD_BYTES: usize = 32 << 20;
/// What of a quota may lie there read ahead: one part in so many. As much again is in windows.
const QUOTA_PARTS: usize = 8;
/// Requests that are under way at the same time, if nobody says otherwise.
const REQUESTS: usize = 32;

/// A query that is ready to run, once: see [`PipelineBuilder::prepare`](crate::PipelineBuilder::prepare).
///
/// A table in memory is scanned by one job. The morsels of files and objects are read on the mixed pool, in their order and ahead of the workers within a
/// bound; workers decode and compute what is there, and never wait for bytes. The result is the same to the bit, however far is
/// read ahead and however many workers there are.
///
/// ```
/// use query::pipeline_exec::PipelineExecutor;
/// use query::source;
/// use query::{Catalog, PipelineBuilder, QueryPlanner};
///
/// # let path = std::env::temp_dir().join(format!("windlass-execution-{}.csv", std::process::id()));
/// std::fs::write(&path, "item,price\npen,1.50\nink,12.25\n")?;
/// let executor = PipelineExecutor::new(2)?;
/// let mut tables = Catalog::new();
/// tables.register(source::open("items", &path, &executor)?)?;
/// let plan = QueryPlanner::plan("select sum(price) from items", &tables)?;
///
/// let (execution, run) = PipelineBuilder::new(plan).prepare();
/// let report = execution.read_ahead(1 << 20).run(&executor)?;
/// assert_eq!(report.output.num_rows(), 1);
/// println!("{}", run.statistics(&report));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "`run` gives the answer"]
pub struct Execution {
    parts: Parts,
    read_ahead: usize,
    requests: usize,
    deadline: Option<Instant>,
    on_close: OnClose,
}

impl Execution {
    pub(crate) fn new(parts: Parts) -> Self {
        let quota = parts.quota.as_ref().map_or(usize::MAX, |quota| quota.limit());
        Self {
            read_ahead: READ_AHEAD_BYTES.min(quota / QUOTA_PARTS),
            requests: REQUESTS,
            parts,
            deadline: None,
            on_close: OnClose::default(),
        }
    }

    /// How many bytes may be read ahead of the workers; a morsel that is larger is read alone. As many again are in morsels that wait for a worker, or
    /// those of a morsel for each worker, if that is more. By default 32 MiB, or an eighth of the query's quota, if that is less.
    pub fn read_ahead(mut self, bytes: usize) -> Self {
        self.read_ahead = bytes;
        self
    }

    /// How many requests may be under way at the same time, 32 by default, as far as the bytes that may be read ahead allow. A store is asked for a few
    /// ranges of a morsel at a time, each of which is one; of a file some morsels are read by one call. Those of one morsel are
    /// made together, also where they are more.
    pub fn requests_at_once(mut self, requests: usize) -> Self {
        self.requests = requests;
        self
    }

    /// It fails with [`QueryError::DeadlineExceeded`] if it has not ended by `deadline`, whatever it is doing then: waiting for bytes, computing, or waiting for its
    /// turn. A slot that runs is not interrupted, and a read that is under way may return later.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Has `call` called once, when nothing more of the table will be read for this query, however it ends, and also if it never begins. For a table of files and
    /// objects that is when reading has returned, on the mixed pool: after a failure, a cancel or a deadline that may be later than the query's end.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::sync::mpsc;
    /// # use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// # use columnar::MemoryTable;
    /// # use query::{Catalog, PipelineBuilder, QueryPlanner};
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)])?;
    /// # let mut tables = Catalog::new();
    /// # tables.register(Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?))?;
    /// let (execution, _run) = PipelineBuilder::new(QueryPlanner::plan("select n from numbers", &tables)?).prepare();
    /// let (tell, closed) = mpsc::channel();
    /// drop(execution.on_close(move || tell.send(()).expect("it is awaited")));
    /// assert_eq!(closed.try_iter().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_close(mut self, call: impl FnOnce() + Send + 'static) -> Self {
        self.on_close.0.push(Box::new(call));
        self
    }

    /// Runs it, and blocks until it has ended. Where mixed work is on somebody else's runtime of one thread, tables of files are read while somebody drives
    /// that runtime.
    ///
    /// # Errors
    ///
    /// What made it fail: the first failure in the order of the input. Nothing is given out then, nothing of it runs any more, and nothing more is
    /// read, except that a read which is under way may return later. Where blocking is not allowed, in async code and in CPU tasks,
    /// [`QueryError::Internal`].
    pub fn run(self, runner: &impl JobRunner) -> Result<JobReport<QueryResult>, QueryError> {
        let executor = runner.executor()?;
        let table = self.parts.table.clone();
        runner.watch(&table, |control| {
            if !self.parts.stage.is_stored() {
                if let Some(deadline) = self.deadline {
                    control.end_by(deadline);
                }
                let _given_up = GiveUp(Arc::clone(&self.parts.stage));
                return control.run(&executor, self.parts.job());
            }
            let mixed = runner.mixed();
            let answered = mixed.block_on(self.run_async(executor, mixed.clone(), control.clone()));
            answered.unwrap_or_else(|error| {
                Err(QueryError::Internal {
                    message: error.to_string(),
                })
            })
        })
    }

    /// The same for async code. Dropping the future cancels the query.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// # use columnar::MemoryTable;
    /// use pools::Pools;
    /// use query::{Catalog, PipelineBuilder, QueryPlanner, WorkControl};
    ///
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)])?;
    /// # let mut tables = Catalog::new();
    /// # tables.register(Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?))?;
    /// let pools = Pools::builder().cpu_threads(2).build()?;
    /// let plan = QueryPlanner::plan("select sum(n) from numbers", &tables)?;
    /// let (execution, _run) = PipelineBuilder::new(plan).prepare();
    /// let (executor, mixed) = (pools.cpu().executor()?, pools.mixed());
    /// let answer = execution.run_async(executor, mixed.clone(), WorkControl::new());
    /// assert_eq!(mixed.block_on(answer)??.output.num_rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_async(
        self,
        executor: PipelineHandle,
        mixed: MixedPool,
        control: WorkControl,
    ) -> Result<JobReport<QueryResult>, QueryError> {
        if let Some(deadline) = self.deadline {
            control.end_by(deadline);
        }
        // However this ends, by a drop as well.
        let _given_up = GiveUp(Arc::clone(&self.parts.stage));
        let _alarm = control.begin()?;
        if !self.parts.stage.is_stored() {
            return finish(&executor, &control, self.parts.job()).await;
        }
        let windows = Windows {
            table: self.parts.table.clone(),
            executor: executor.clone(),
            control: &control,
            bytes_max: self.read_ahead / 2,
        };
        let slots = self.parts.stage.slots();
        control.expect(slots);
        let stage = Arc::clone(&self.parts.stage);
        let reading = Reading::of(stage, &mixed, self.read_ahead, self.requests, self.on_close);
        let rows: usize = (0..slots).map(|slot| self.parts.stage.rows(slot)).sum();
        let make = |batches: Vec<SlotRun>| {
            let range = batches[0].slots.start..batches[batches.len() - 1].slots.end;
            let share: usize = range.clone().map(|slot| self.parts.stage.rows(slot)).sum();
            let cost = self.parts.stage.cost() as f64 * share as f64 / rows.max(1) as f64;
            Window {
                first_slot: range.start,
                stage: Arc::new(Part {
                    whole: self.parts.metered_stage(),
                    slots: range,
                }),
                cost: cost as u64,
            }
        };
        let enough = || self.parts.stage.is_enough_before(slots.saturating_sub(1));
        let effort = windows.run(reading, |run| run.slots.len(), make, enough).await?;
        control.check()?;
        let last = finish(&executor, &control, self.parts.last_job()).await?;
        Ok(effort.report(last))
    }
}

/// Runs a job to its end.
async fn finish(
    executor: &PipelineHandle,
    control: &WorkControl,
    job: Job<QueryResult>,
) -> Result<JobReport<QueryResult>, QueryError> {
    let submitted = control.unless_stopped(executor.submit_async(job)).await?;
    let ticket = submitted.map_err(not_taken)?;
    let ticket = control.running(ticket).cancel_on_drop();
    let job = ticket.control();
    let outcome = ticket.await;
    control.ended(&job);
    outcome.map_err(|error| control.failed(error))
}

/// Calls what is to be called, when it is dropped.
#[derive(Default)]
pub(crate) struct OnClose(Vec<Box<dyn FnOnce() + Send>>);

impl Drop for OnClose {
    fn drop(&mut self) {
        for call in self.0.drain(..) {
            call();
        }
    }
}

impl fmt::Debug for OnClose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnClose").field(&self.0.len()).finish()
    }
}

/// Has what was fetched and produced given up when it is dropped.
struct GiveUp(Arc<ScanStage>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Some slots of a stage, as a stage.
struct Part {
    whole: Arc<dyn Stage>,
    slots: Range<usize>,
}

impl Stage for Part {
    fn name(&self) -> &str {
        self.whole.name()
    }

    fn slots(&self) -> usize {
        self.slots.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.whole.run(self.slots.start + slot, cx)
    }
}
