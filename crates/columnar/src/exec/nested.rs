//! A query over the result of another, and so on, as stages of one job.
//!
//! ```text
//!   select flag, sum(n) from (select flag, supplier, count(*) as n from items group by flag, supplier) group by flag
//!
//!   level 0   scan items ─► merge groups of a partition ─► shards
//!   level 1                                                  each shard is a morsel ─► …
//! ```
//!
//! A group of level 0 knows its first row, so the groups of level 1 are in the order of their first
//! rows too. If the columns that decide a partition are keys of level 1, a shard has all rows of its
//! groups there, and nothing is merged again. Otherwise each shard is grouped and partitioned anew,
//! by all workers. Where the order of rows matters, because level 0 has an order or a limit, or
//! level 1 gives rows, level 1 reads the result of level 0.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use pipeline_exec::{Stage, StepError};

use super::level::Level;
use super::stage::{ScanResult, ScanStage};
use crate::plan::{Regrouping, SelectPlan, share_shard_key};

/// Plans that run once: the first reads a table, each later one the result of the one before.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
/// use arrow::datatypes::Int64Type;
/// use columnar::{Expr, MemoryTable, NestedScan, Output, SelectPlan, TableSource};
/// use pipeline_exec::{Job, PipelineExecutor};
///
/// let n: ArrayRef = Arc::new(Int64Array::from(vec![7, 7, 5]));
/// let batch = RecordBatch::try_from_iter([("n", n)])?;
/// let table = Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?);
/// let n = Expr::column(0, table.schema().field(0));
/// let keys = vec![n.clone()];
/// let fields = SelectPlan::group_fields(&keys, &[]).expect("numbers can be grouped");
/// let columns = vec![("n".to_owned(), Expr::column(0, &fields[0]))];
/// let distinct = SelectPlan::new(table, Output::Groups { keys, aggregates: vec![], having: None, columns });
///
/// // select n from (select n from numbers group by n)
/// let result = Arc::new(MemoryTable::try_new("distinct", distinct.schema(), [])?);
/// let rows = SelectPlan::new(result, Output::Rows { columns: vec![("n".to_owned(), n)] });
/// let scan = Arc::new(NestedScan::new(vec![distinct, rows], false));
/// let mut job = Job::builder("numbers").stage(scan.first().clone());
/// for following in scan.following() {
///     job = job.stage(following);
/// }
/// let job = job.output(move |_cx| scan.merge()).build();
/// let report = PipelineExecutor::new(2).expect("two threads").submit(job).expect("room").wait().expect("no failure");
/// let batch = &report.output.batches[0];
/// assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[7, 5]);
/// # Ok::<(), arrow::error::ArrowError>(())
/// ```
pub struct NestedScan {
    plans: Vec<SelectPlan>,
    first: Arc<ScanStage>,
    levels: Vec<Arc<Level>>,
}

impl NestedScan {
    /// Prepares the plans to run. The table of each later one stands for the result of the one
    /// before: it has its columns and a name, and no rows. With `any_order`, groups of the last
    /// plan, if that has no order, may come in any order, as of
    /// [`ScanStage::in_any_order`](ScanStage::in_any_order).
    ///
    /// # Panics
    ///
    /// If there is no plan.
    pub fn new(plans: Vec<SelectPlan>, any_order: bool) -> Self {
        let plans = prepared(plans);
        let is_last = |level: usize| level + 1 == plans.len();
        let first = plans.first().expect("a plan that reads a table").clone();
        let first = Arc::new(match any_order && is_last(0) {
            true => ScanStage::in_any_order(first),
            false => ScanStage::new(first),
        });
        let mut levels = vec![Level::made(Arc::clone(&first))];
        for (level, way) in (1..).zip(Regrouping::of(&plans)) {
            let any_order = any_order && is_last(level);
            levels.push(Level::above(
                &levels[level - 1],
                plans[level].clone(),
                any_order,
                way,
            ));
        }
        Self { plans, first, levels }
    }

    /// The scan of the table.
    pub fn first(&self) -> &Arc<ScanStage> {
        &self.first
    }

    /// The stages that follow [`first`](Self::first), in order.
    pub fn following(&self) -> Vec<Arc<dyn Stage>> {
        let ways = Regrouping::of(&self.plans);
        let levels = self.levels.iter().enumerate();
        levels.flat_map(|(at, level)| level.stages(ways.get(at))).collect()
    }

    /// The columns of the result.
    pub fn schema(&self) -> SchemaRef {
        self.plans[self.plans.len() - 1].schema()
    }

    /// The result, as of [`ScanStage::merge`], after all stages.
    ///
    /// # Errors
    ///
    /// When a slot failed or has not run, after a cancellation, and on a second call.
    pub fn merge(&self) -> Result<ScanResult, StepError> {
        self.levels[self.levels.len() - 1].scan()?.merge()
    }

    /// Ends the query and frees its memory.
    pub fn give_up(&self) {
        for level in &self.levels {
            if let Ok(scan) = level.scan() {
                scan.give_up();
            }
        }
    }

    /// The plans with the measurements so far, the last one first.
    pub fn explain(&self) -> String {
        let text = |(level, plan): (&Arc<Level>, &SelectPlan)| match level.scan() {
            Ok(scan) => scan.explain(),
            Err(_not_made) => plan.to_string(),
        };
        let texts = self.levels.iter().zip(&self.plans).map(text).collect();
        joined(texts, &self.plans)
    }

    /// Plans as text, without running them.
    pub fn explain_plans(plans: &[SelectPlan]) -> String {
        let plans = prepared(plans.to_vec());
        joined(plans.iter().map(SelectPlan::to_string).collect(), &plans)
    }
}

fn prepared(mut plans: Vec<SelectPlan>) -> Vec<SelectPlan> {
    share_shard_key(&mut plans);
    plans
}

fn joined(texts: Vec<String>, plans: &[SelectPlan]) -> String {
    let mut ways = Regrouping::of(plans).into_iter().rev();
    let mut text = String::new();
    for (depth, (of_plan, plan)) in texts.iter().zip(plans).rev().enumerate() {
        let indent = "  ".repeat(depth);
        for line in of_plan.lines() {
            text.push_str(&format!("{indent}{line}\n"));
        }
        if let Some(way) = ways.next() {
            text.push_str(&format!("{indent}{}: {way}\n", plan.table.name()));
        }
    }
    text
}

impl fmt::Debug for NestedScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NestedScan")
            .field("plans", &self.plans)
            .finish_non_exhaustive()
    }
}
