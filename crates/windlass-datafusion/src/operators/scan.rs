//! The node in the place of filters and projections over a table.

use std::fmt;
use std::iter::StepBy;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;
use columnar::{MORSEL_ROWS, ScanStage, SlotFetch, TableSource};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, assert_eq_or_internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties};
use futures_util::future::{BoxFuture, Shared, poll_fn};
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use pipeline_exec::{Stage as _, lock};

use super::outside::outside;
use super::replaced::Replaced;
use super::selection::{Needed, Selection};
use super::source::Source;
use crate::windlass::Windlass;

/// Gives the rows of a table that pass a filter while they are read, in the partitions of the plan
/// that it replaces. That plan is its child, which runs instead if the table has other columns.
///
/// Each partition takes every *n*th slot of one scan, so partitions need not run together. A slot is
/// computed in a poll of the partition's own task.
#[derive(Debug)]
pub struct WindlassScanExec {
    selection: Arc<Selection>,
    replaced: Replaced,
    windlass: Windlass,
    opened: Mutex<Option<Opening>>,
}

/// The scan that all partitions share. An error says why there is none.
type Opening = Shared<BoxFuture<'static, Result<Opened, Arc<str>>>>;

#[derive(Clone, Debug)]
struct Opened {
    stage: Arc<ScanStage>,
    table: Arc<dyn TableSource>,
}

impl WindlassScanExec {
    pub(super) fn new(
        selection: Arc<Selection>,
        replaced: Arc<dyn ExecutionPlan>,
        windlass: &Windlass,
    ) -> Self {
        Self {
            selection,
            replaced: Replaced::new(replaced),
            windlass: windlass.clone(),
            opened: Mutex::default(),
        }
    }

    fn opening(&self, context: &Arc<TaskContext>) -> Opening {
        let open = || {
            let selection = Arc::clone(&self.selection);
            let (windlass, context) = (self.windlass.clone(), Arc::clone(context));
            let opened = async move {
                let table = selection.source.open(&windlass, &context).await?;
                let plan = selection
                    .select(Arc::clone(&table))
                    .ok_or("the table has other columns")?;
                let stage = Arc::new(ScanStage::new(plan));
                Ok(Opened { stage, table })
            };
            let opened = async { outside(opened).await.map_err(Arc::from) };
            opened.boxed().shared()
        };
        lock(&self.opened).get_or_insert_with(open).clone()
    }
}

impl ExecutionPlan for WindlassScanExec {
    fn name(&self) -> &'static str {
        "WindlassScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.replaced.plan().properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.replaced.plan()]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        assert_eq_or_internal_err!(children.len(), 1, "WindlassScanExec has one child");
        let replaced = children.swap_remove(0);
        Ok(Arc::new(Self::new(
            Arc::clone(&self.selection),
            replaced,
            &self.windlass,
        )))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partitions = self.properties().output_partitioning().partition_count();
        let opening = self.opening(&context);
        let reading = Reading {
            selection: Arc::clone(&self.selection),
            windlass: self.windlass.clone(),
            schema: self.schema(),
            batch_rows: context.session_config().batch_size().max(1),
        };
        let rows = async move {
            let opened = opening.await.map_err(|why| why.to_string())?;
            let slots = (partition..opened.stage.slots()).step_by(partitions);
            Ok(reading.rows(opened, slots).boxed())
        };
        let otherwise = Arc::clone(self.replaced.plan());
        Ok(self.replaced.stream(partition, context, rows, otherwise))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.replaced.metrics())
    }
}

/// How the rows of a partition are read.
struct Reading {
    selection: Arc<Selection>,
    windlass: Windlass,
    schema: SchemaRef,
    batch_rows: usize,
}

/// The rows of a partition that are left.
struct Left {
    opened: Opened,
    slots: StepBy<Range<usize>>,
    /// The next slot, and its bytes if they are not at hand.
    next: Option<(usize, Fetching)>,
    needed: Needed,
    /// Rows that were read since other tasks had a turn.
    unbroken: usize,
    /// Rows of slots that leave few are given together.
    batches: Option<BatchCoalescer>,
}

type Fetching = Option<BoxFuture<'static, Result<(), String>>>;

impl Reading {
    fn rows(self, opened: Opened, slots: StepBy<Range<usize>>) -> impl Stream<Item = Result<RecordBatch>> {
        let batches = BatchCoalescer::new(Arc::clone(&self.schema), self.batch_rows)
            .with_biggest_coalesce_batch_size(Some(self.enough_rows()));
        let mut left = Left {
            opened,
            slots,
            next: None,
            needed: Needed::default(),
            unbroken: 0,
            batches: Some(batches),
        };
        left.next = self.begin(&left.opened.stage, left.slots.next());
        stream::try_unfold((self, left), |(reading, mut left)| async move {
            let batch = reading.next(&mut left).await?;
            Ok(batch.map(|batch| (batch, (reading, left))))
        })
    }

    async fn next(&self, left: &mut Left) -> Result<Option<RecordBatch>> {
        loop {
            let Some(batches) = &mut left.batches else {
                return Ok(None);
            };
            if let Some(batch) = batches.next_completed_batch() {
                return Ok(Some(batch));
            }
            let Some((slot, fetching)) = left.next.take() else {
                batches.finish_buffered_batch()?;
                let last = batches.next_completed_batch();
                left.batches = None;
                return Ok(last);
            };
            if let Some(fetching) = fetching {
                // If it failed, the slot has the error, or reads by itself.
                drop(fetching.await);
            }
            left.next = self.begin(&left.opened.stage, left.slots.next());
            let Opened { stage, table } = &left.opened;
            let needed = left.needed.by_now(&self.selection, table.as_ref())?;
            let read = stage.read_slot(slot, needed);
            for rows in read.map_err(|error| DataFusionError::External(error.into()))? {
                let rows = RecordBatch::try_new(Arc::clone(&self.schema), rows.columns().to_vec())?;
                for start in (0..rows.num_rows()).step_by(self.batch_rows) {
                    let end = rows.num_rows().min(start + self.batch_rows);
                    batches.push_batch(rows.slice(start, end - start))?;
                }
            }
            left.unbroken += stage.rows(slot);
            if left.unbroken >= MORSEL_ROWS {
                left.unbroken = 0;
                turn().await;
            }
        }
    }

    /// The fewest rows that are given on as they are; fewer are copied together. Of a batch in memory they
    /// are those of DataFusion's own filter. Chunks of a file are longer and are cut to batches.
    fn enough_rows(&self) -> usize {
        match &self.selection.source {
            Source::Memory(_) => self.batch_rows / 2,
            Source::Files { .. } => self.batch_rows / 4 * 3,
        }
    }

    fn begin(&self, stage: &Arc<ScanStage>, slot: Option<usize>) -> Option<(usize, Fetching)> {
        let slot = slot?;
        let fetch = match stage.needs_no_fetch(slot) {
            true => None,
            // Without a quota none is refused.
            false => stage.begin_fetch(slot).ok().flatten(),
        };
        Some((slot, fetch.map(|fetch| self.fetching(fetch))))
    }

    fn fetching(&self, fetch: SlotFetch) -> BoxFuture<'static, Result<(), String>> {
        let windlass = self.windlass.clone();
        outside(async move {
            let reading = windlass.pools().mixed().run_blocking(move || fetch.run());
            let reading = reading.map_err(|error| error.to_string())?;
            // The slot has the error.
            let _ended = reading.await.map_err(|error| error.to_string())?;
            Ok(())
        })
    }
}

/// Other tasks have a turn.
async fn turn() {
    let mut had = false;
    poll_fn(|cx| match had {
        true => Poll::Ready(()),
        false => {
            had = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

impl DisplayAs for WindlassScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(format, DisplayFormatType::TreeRender) {
            return write!(f, "{}", self.selection);
        }
        write!(f, "WindlassScanExec: {}", self.selection)?;
        self.replaced.write_why(f)
    }
}
