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
//!
//! Grouping sets are made in the same way from the shards of the finest groups, or of a set with
//! fewer keys, but of states: the average of a set is not one of averages.

use std::fmt;
use std::sync::Arc;

use pipeline_exec::{Stage, StepError};

use super::groups::Role;
use super::level::{Level, Source, results};
use super::stage::{ScanResult, ScanStage};
use crate::plan::{GroupingSet, LevelPlan, Regrouping, leave_out_unread, share_shard_key};

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
/// let report = PipelineExecutor::new(2).expect("two threads").submit(job).expect("room").wait().expect("no failure");
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
    /// The finest groups or rows.
    finest: Arc<Level>,
    /// Coarser groups, in the order in which they are made.
    sets: Vec<SetScan>,
    /// Those that make the result.
    result: Vec<Arc<Level>>,
}

struct SetScan {
    keys: Vec<usize>,
    level: Arc<Level>,
    /// The finest groups' keys that decide the partition; none if the keys of this set do.
    partitioned_by: Vec<usize>,
    text: String,
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
    pub fn new(mut plans: Vec<LevelPlan>, any_order: bool) -> Self {
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
        let first = first.finest.scan().expect("the scan of a table is made at once");
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
            for scan in level.scans() {
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
        for scan in self.levels.iter().flat_map(Scans::scans) {
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
            let sets = level.sets.iter().map(|set| set.text.clone());
            let way = level.way.as_ref().map(|way| format!("{}: {way}", level.name));
            let finest = finest(&level.finest);
            let lines = finest.lines().map(str::to_owned).chain(sets).chain(way);
            lines.for_each(|line| text.push_str(&format!("{}{line}\n", "  ".repeat(depth))));
        }
        text
    }
}

impl Scans {
    fn new(plan: LevelPlan, below: Option<(&Self, Regrouping)>, any_order: bool) -> Self {
        let keeps_groups = !plan.sets.is_empty();
        let role = Role {
            any_order,
            keeps_groups,
            ..Role::default()
        };
        let keys: Vec<usize> = (0..plan.select.output.keys().len()).collect();
        let is_finest = |set: &GroupingSet| set.keys == keys;
        let own = plan.sets.iter().position(is_finest);
        let finest = match own {
            Some(set) => plan.of_set(&plan.sets[set], plan.select.filter.clone()),
            None => plan.select.clone(),
        };
        let (source, way) = match below {
            None => (Source::Table, None),
            Some((below, way)) => (below.source(&way), Some(way)),
        };
        let mut scans = Self {
            name: finest.table.name().to_owned(),
            finest: Level::new(finest, role, source),
            way,
            sets: Vec::new(),
            result: Vec::new(),
        };
        let partitioned_by = Regrouping::partitioned_by(&plan.select, scans.way.as_ref());
        // A set is made of one with more keys.
        let mut numbers: Vec<usize> = (0..plan.sets.len()).filter(|&set| Some(set) != own).collect();
        numbers.sort_by_key(|&set| usize::MAX - plan.sets[set].keys.len());
        let mut levels: Vec<Option<Arc<Level>>> = vec![None; plan.sets.len()];
        for number in numbers {
            let set = &plan.sets[number];
            let scan = scans.set(&plan, set, &partitioned_by, role);
            levels[number] = Some(Arc::clone(&scan.level));
            scans.sets.push(scan);
        }
        let level = |level: Option<Arc<Level>>| level.unwrap_or_else(|| Arc::clone(&scans.finest));
        scans.result = match keeps_groups {
            true => levels.into_iter().map(level).collect(),
            false => vec![Arc::clone(&scans.finest)],
        };
        scans
    }

    fn set(&self, plan: &LevelPlan, set: &GroupingSet, partitioned_by: &[usize], role: Role) -> SetScan {
        let has_all = |finer: &&SetScan| set.keys.iter().all(|key| finer.keys.contains(key));
        let finer = self
            .sets
            .iter()
            .filter(has_all)
            .min_by_key(|finer| finer.keys.len());
        let all: Vec<usize> = (0..plan.select.output.keys().len()).collect();
        let (of, finer_keys, partitioned_by) = match finer {
            Some(finer) => (&finer.level, &finer.keys, &*finer.partitioned_by),
            None => (&self.finest, &all, partitioned_by),
        };
        let place = |key: &usize| finer_keys.iter().position(|finer| finer == key);
        let keys = set
            .keys
            .iter()
            .map(|key| place(key).expect("a set with all keys of this one"));
        let are_apart = !partitioned_by.is_empty() && partitioned_by.iter().all(|key| set.keys.contains(key));
        let source = Source::States {
            of: Arc::clone(of),
            keys: keys.collect(),
            are_apart,
        };
        let names = set
            .keys
            .iter()
            .map(|&key| plan.select.output.keys()[key].to_string());
        let names = names.collect::<Vec<_>>().join(", ");
        let how = match are_apart {
            true => "stay in their partitions",
            false => "are partitioned anew",
        };
        SetScan {
            keys: set.keys.clone(),
            level: Level::new(plan.of_set(set, None), role, source),
            partitioned_by: if are_apart {
                partitioned_by.to_vec()
            } else {
                Vec::new()
            },
            text: format!("set ({names}) of groups that {how}"),
        }
    }

    /// What a plan above reads.
    fn source(&self, way: &Regrouping) -> Source {
        match way {
            Regrouping::OfRows => Source::Results(self.result.clone()),
            Regrouping::Anew | Regrouping::Kept(_) => Source::Groups {
                of: Arc::clone(&self.finest),
                are_apart: matches!(way, Regrouping::Kept(_)),
            },
        }
    }

    fn scans(&self) -> impl Iterator<Item = &Arc<Level>> {
        [&self.finest]
            .into_iter()
            .chain(self.sets.iter().map(|set| &set.level))
    }
}

impl fmt::Debug for NestedScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plans = self.levels.iter().flat_map(Scans::scans).map(|scan| scan.plan());
        f.debug_list().entries(plans).finish()
    }
}
