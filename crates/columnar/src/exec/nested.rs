//! A query over the result of another, and so on, as stages of one job.
//!
//! ```text
//!   select flag, sum(n) from (
//!     select flag, supplier, count(*) as n from items group by flag, supplier
//!   ) group by flag
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
//!
//! Grouping sets are made in the same way from the shards of the finest groups, or of a set with
//! fewer keys, but of states: the average of a set is not one of averages.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use pipeline_exec::{Stage, StepError};

use super::groups::Role;
use super::level::{Level, Source, results};
use super::stage::{ScanResult, ScanStage};
use crate::plan::{
    GroupingSet, LevelPlan, Regrouping, group_distinct_values, leave_out_unread, share_shard_key,
};

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
/// let scan = Arc::new(NestedScan::new(vec![distinct.into(), rows.into()], false));
/// let mut job = Job::builder("numbers").stage(scan.first().clone());
/// for following in scan.following() {
///     job = job.stage(following);
/// }
/// let job = job.output(move |_cx| scan.merge()).build();
/// let executor = PipelineExecutor::new(2).expect("two threads");
/// let report = executor.submit(job).expect("room").wait().expect("no failure");
/// let batch = &report.output.batches[0];
/// assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[7, 5]);
/// # Ok::<(), arrow::error::ArrowError>(())
/// ```
pub struct NestedScan {
    first: Arc<ScanStage>,
    levels: Vec<Scans>,
}

/// The scans of a plan.
struct Scans {
    name: String,
    /// How the rows came from the plan before.
    way: Option<Regrouping>,
    /// In the order in which they are made: the finest groups or rows, then coarser groups.
    scans: Vec<Arc<Level>>,
    /// How each set was made, for people.
    sets: Vec<String>,
    /// The scans that make the result.
    result: Vec<Arc<Level>>,
}

/// Groups from which coarser ones may be made.
struct Groups {
    keys: Vec<usize>,
    /// The keys that decide the partition; none if all do.
    partitioned_by: Vec<usize>,
    level: Arc<Level>,
}

impl NestedScan {
    /// Prepares the plans to run. The table of each later one stands for the result of the one
    /// before: it has its columns and a name, and no rows. With `any_order`, groups of the last
    /// plan, if that has no order, may come in any order, as of
    /// [`ScanStage::in_any_order`](ScanStage::in_any_order).
    ///
    /// # Panics
    ///
    /// If there is no plan, or a plan has grouping sets and no groups.
    pub fn new(plans: Vec<LevelPlan>, any_order: bool) -> Self {
        let mut plans = group_distinct_values(plans);
        leave_out_unread(&mut plans);
        share_shard_key(&mut plans);
        let mut ways = Regrouping::of(&plans).into_iter();
        let count = plans.len();
        let mut levels: Vec<Scans> = Vec::with_capacity(count);
        for (number, plan) in (1..).zip(plans) {
            // The first plan has none below.
            let below = levels.last().and_then(|below| Some((below, ways.next()?)));
            let scans = Scans::new(plan, below, any_order && number == count);
            levels.push(scans);
        }
        let first = levels.first().expect("a plan that reads a table");
        let first = first.scans[0]
            .scan()
            .expect("the scan of a table is made at once");
        Self {
            first: Arc::clone(first),
            levels,
        }
    }

    /// The scan of the table.
    pub fn first(&self) -> &Arc<ScanStage> {
        &self.first
    }

    /// The stages that follow [`first`](Self::first), in order.
    pub fn following(&self) -> Vec<Arc<dyn Stage>> {
        let mut stages = Vec::new();
        for (number, level) in self.levels.iter().enumerate() {
            let next = self.levels.get(number + 1).and_then(|next| next.way.as_ref());
            let is_read = next.is_none_or(|way| *way == Regrouping::OfRows);
            for scan in &level.scans {
                let is_result = level.result.iter().any(|result| Arc::ptr_eq(result, scan));
                stages.extend(scan.stages(is_result && is_read));
            }
        }
        stages
    }

    /// The result, as of [`ScanStage::merge`], after all stages.
    ///
    /// # Errors
    ///
    /// When a slot failed or has not run, after a cancellation, and on a second call.
    pub fn merge(&self) -> Result<ScanResult, StepError> {
        let last = &self.levels[self.levels.len() - 1].result;
        Ok(ScanResult {
            schema: last[0].schema(),
            batches: results(last)?,
        })
    }

    /// Ends the query and frees its memory.
    pub fn give_up(&self) {
        for scan in self.levels.iter().flat_map(|level| &level.scans) {
            if let Ok(scan) = scan.scan() {
                scan.give_up();
            }
        }
    }

    /// The plans with the measurements so far, the last one first.
    pub fn explain(&self) -> String {
        self.text(Level::explain)
    }

    /// Plans as text, without running them.
    pub fn explain_plans(plans: &[LevelPlan]) -> String {
        Self::new(plans.to_vec(), false).text(|level| level.plan().to_string())
    }

    fn text(&self, finest: impl Fn(&Level) -> String) -> String {
        let mut text = String::new();
        for (depth, level) in self.levels.iter().rev().enumerate() {
            let sets = level.sets.iter().cloned();
            let way = level.way.as_ref().map(|way| format!("{}: {way}", level.name));
            let finest = finest(&level.scans[0]);
            let lines = finest.lines().map(str::to_owned).chain(sets).chain(way);
            lines.for_each(|line| text.push_str(&format!("{}{line}\n", "  ".repeat(depth))));
        }
        text
    }
}

impl Scans {
    fn new(plan: LevelPlan, below: Option<(&Self, Regrouping)>, any_order: bool) -> Self {
        let role = Role {
            any_order,
            keeps_groups: !plan.sets.is_empty(),
            ..Role::default()
        };
        let keys: Vec<usize> = (0..plan.select.output.keys().len()).collect();
        let own = plan.sets.iter().position(|set| set.keys == keys);
        let finest = match own {
            Some(set) => plan.of_set(&plan.sets[set], plan.select.filter.clone()),
            None => plan.select.clone(),
        };
        let name = finest.table.name().to_owned();
        let (source, way) = match below {
            None => (Source::Table, None),
            Some((below, way)) => (below.source(&way), Some(way)),
        };
        let finest = Level::new(finest, role, source);
        let mut scans = Self {
            name,
            way,
            scans: vec![Arc::clone(&finest)],
            sets: Vec::new(),
            // The finest groups are those of their own set.
            result: vec![Arc::clone(&finest); plan.sets.len().max(1)],
        };
        if plan.sets.is_empty() {
            return scans;
        }
        let mut made = vec![Groups {
            keys,
            partitioned_by: Regrouping::partitioned_by(&plan.select, scans.way.as_ref()),
            level: finest,
        }];
        let mut others: Vec<usize> = (0..plan.sets.len()).filter(|&set| Some(set) != own).collect();
        // A set is made of one with more keys.
        others.sort_by_key(|&set| Reverse(plan.sets[set].keys.len()));
        for number in others {
            let (groups, text) = Groups::of_set(&plan, &plan.sets[number], &made, role);
            scans.result[number] = Arc::clone(&groups.level);
            scans.scans.push(Arc::clone(&groups.level));
            scans.sets.push(text);
            made.push(groups);
        }
        scans
    }

    /// What a plan above reads.
    fn source(&self, way: &Regrouping) -> Source {
        match way {
            Regrouping::OfRows => Source::Results(self.result.clone()),
            Regrouping::Anew | Regrouping::Kept(_) => Source::Groups {
                of: Arc::clone(&self.scans[0]),
                are_apart: matches!(way, Regrouping::Kept(_)),
            },
        }
    }
}

impl Groups {
    /// Of the groups with the fewest keys that have all of the set's, and a text that says how.
    fn of_set(plan: &LevelPlan, set: &GroupingSet, made: &[Self], role: Role) -> (Self, String) {
        let has_all = |finer: &&Self| set.keys.iter().all(|key| finer.keys.contains(key));
        let finer = made.iter().filter(has_all).min_by_key(|finer| finer.keys.len());
        let finer = finer.expect("the finest groups have all keys");
        let place = |key: &usize| finer.keys.iter().position(|finer| finer == key);
        let by = &finer.partitioned_by;
        let are_apart = !by.is_empty() && by.iter().all(|key| set.keys.contains(key));
        let source = Source::States {
            of: Arc::clone(&finer.level),
            keys: set.keys.iter().filter_map(place).collect(),
            are_apart,
        };
        let name = |&key: &usize| plan.select.output.keys()[key].to_string();
        let names = set.keys.iter().map(name).collect::<Vec<_>>().join(", ");
        let (how, partitioned_by) = match are_apart {
            true => ("stay in their partitions", by.clone()),
            false => ("are partitioned anew", Vec::new()),
        };
        let groups = Self {
            keys: set.keys.clone(),
            partitioned_by,
            level: Level::new(plan.of_set(set, None), role, source),
        };
        (groups, format!("set ({names}) of groups that {how}"))
    }
}

impl fmt::Debug for NestedScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plans = self
            .levels
            .iter()
            .flat_map(|level| &level.scans)
            .map(|scan| scan.plan());
        f.debug_list().entries(plans).finish()
    }
}
