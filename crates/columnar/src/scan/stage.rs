//! A scan as a stage of a pipeline job: a slot per morsel or part of one, a cell per slot.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use pipeline_exec::{Stage, StepCx, StepError};

use super::collect::{Collected, SlotGroups};
use super::explain::{rows_of, write_plan};
use super::groups::{GroupPlan, Shard};
use super::merging::Merging;
use super::ordering::Ordering as GroupOrdering;
use super::rows::RowPlan;
use super::slots::{self, SlotRange};
use super::{Output, Scan};
use crate::error::ExecError;
use crate::filter::FilterPlan;
use crate::lock::lock;
use crate::morsel::Morsel;
use crate::quota::Charge;
use crate::table::{Fetched, StoredTable};

/// The rows a query gives out.
#[derive(Clone, Debug)]
pub struct ScanResult {
    /// The columns. Names may repeat, as in SQL.
    pub schema: SchemaRef,
    /// The rows, in order; no batch is empty.
    pub batches: Vec<RecordBatch>,
}

/// A [`Scan`] that runs once. [`merge`](Self::merge) makes the result of what the slots left, as the job's output.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// use columnar::{Expr, MemoryTable, Output, Scan, ScanStage, TableSource};
/// use pipeline_exec::{Job, PipelineExecutor};
///
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef)])?;
/// let table = Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?);
/// let n = Expr::column(0, table.schema().field(0));
/// let output = Output::Rows { columns: vec![("n".to_owned(), n)] };
/// let scan = Scan { table, filter: None, output, order: vec![], offset: 1, limit: Some(1), quota: None, shard_key: None };
///
/// let stage = Arc::new(ScanStage::new(scan));
/// let executor = PipelineExecutor::new(2).expect("two threads");
/// let job = Job::builder("numbers").stage(stage.clone()).output(move |_cx| stage.merge()).build();
/// let report = executor.submit(job).expect("room").wait().expect("no failure");
/// assert_eq!(report.output.batches[0].num_rows(), 1);
/// # Ok::<(), arrow::error::ArrowError>(())
/// ```
pub struct ScanStage {
    pub(super) scan: Scan,
    filter: FilterPlan,
    plan: OutputPlan,
    pub(super) projection: Vec<usize>,
    slots: Vec<SlotRange>,
    /// What was fetched for a slot that has not run yet; empty if the table is not a stored one.
    pub(super) inputs: Vec<Mutex<Option<Result<Fetched, ExecError>>>>,
    /// What is charged for it. Rows may keep some of it.
    pub(super) charged: Mutex<Vec<Weak<Mutex<Charge>>>>,
    /// Nobody wants what is fetched or produced from now on.
    pub(super) given_up: AtomicBool,
    /// What each slot produced, until `merge` takes it.
    cells: Vec<Mutex<Option<SlotOutcome>>>,
    /// How far results are complete, where a limit allows to stop early.
    complete: Mutex<Complete>,
    /// Slots from here on cannot add to the result.
    enough_before: AtomicUsize,
    skipped_morsels: AtomicUsize,
    /// A slot left off because the job was over, so its cell is empty.
    abandoned: AtomicBool,
    /// The groups of all slots, once the scan is over; an error if they are not all there.
    merging: OnceLock<Result<Merging, String>>,
    ordering: OnceLock<GroupOrdering>,
    merged: AtomicBool,
}

/// How slots make their part of the output and `merge` the whole.
enum OutputPlan {
    Rows(RowPlan),
    Groups(Box<GroupPlan>),
}

impl OutputPlan {
    fn cost_per_row(&self) -> f64 {
        match self {
            Self::Rows(plan) => plan.cost_per_row(),
            Self::Groups(plan) => plan.cost_per_row(),
        }
    }
}

/// What a slot leaves in its cell.
type SlotOutcome = Result<Collected, ExecError>;

/// The slots from the first on that have ended, and the rows they gave.
#[derive(Debug, Default)]
struct Complete {
    slots: usize,
    rows: usize,
}

impl ScanStage {
    /// Prepares `scan` to run.
    pub fn new(scan: Scan) -> Self {
        let filter = FilterPlan::new(scan.filter.as_ref(), scan.table.as_ref());
        let plan = match &scan.output {
            Output::Rows { .. } => OutputPlan::Rows(RowPlan::new(&scan)),
            Output::Groups { .. } => OutputPlan::Groups(Box::new(GroupPlan::new(&scan))),
        };
        let projection = scan.projection();
        let cost_per_row = filter.cost_per_row() + plan.cost_per_row();
        let slots = slots::cut(scan.table.as_ref(), &projection, cost_per_row);
        let is_stored = scan.table.as_stored().is_some() && !projection.is_empty();
        let inputs = 0..if is_stored { slots.len() } else { 0 };
        Self {
            filter,
            plan,
            projection,
            given_up: AtomicBool::new(false),
            charged: Mutex::default(),
            inputs: inputs.map(|_| Mutex::new(None)).collect(),
            cells: slots.iter().map(|_| Mutex::new(None)).collect(),
            slots,
            complete: Mutex::default(),
            enough_before: AtomicUsize::new(usize::MAX),
            skipped_morsels: AtomicUsize::new(0),
            abandoned: AtomicBool::new(false),
            merging: OnceLock::new(),
            ordering: OnceLock::new(),
            merged: AtomicBool::new(false),
            scan,
        }
    }

    /// The columns of the result.
    pub fn schema(&self) -> SchemaRef {
        self.scan.schema()
    }

    /// The result, merged in the slots' order: once, when every slot has run, so best as the job's
    /// [output](pipeline_exec::JobBuilder::output).
    ///
    /// # Errors
    ///
    /// What the first slot failed with that matters, and that there is no result when slots have not run, left off because the job was
    /// cancelled, or were merged before.
    pub fn merge(&self) -> Result<ScanResult, StepError> {
        // Ordering: Relaxed. The executor makes the output after every slot and with their writes.
        if self.abandoned.load(Ordering::Relaxed) {
            return Err("the job was cancelled".into());
        }
        // Ordering: Relaxed. It decides who is first; nothing is read because of it.
        if self.merged.swap(true, Ordering::Relaxed) {
            return Err("the result was merged before".into());
        }
        let batches = match &self.plan {
            OutputPlan::Rows(plan) => plan.finish(
                &self.scan,
                self.take_cells()?.into_iter().map(Collected::into_rows),
            )?,
            OutputPlan::Groups(plan) => {
                while plan.tables().lay_out_one().map_err(ExecError::from)? {}
                let merging = self.merging()?;
                (0..merging.ranges()).try_for_each(|range| merging.run(plan, range, &|| false))?;
                let shards = self.shards()?;
                let batches = self.ordering(plan, &shards).finish(&self.scan, plan, &shards)?;
                merging.free();
                batches
            }
        };
        // The result is its owner's, with all that it keeps.
        for charge in mem::take(&mut *lock(&self.charged)) {
            if let Some(charge) = charge.upgrade() {
                drop(mem::take(&mut *lock(&charge)));
            }
        }
        Ok(ScanResult {
            schema: self.scan.schema(),
            batches,
        })
    }

    /// The stages that follow this one, in their order: they merge the groups of many slots in parallel, and put them in order. A query without
    /// groups has none. [`merge`](Self::merge) does by itself what they have not done, so that the result is the same without them, but slower where
    /// groups are many.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// # use columnar::{Expr, MemoryTable, Output, Scan, ScanStage, TableSource};
    /// # use pipeline_exec::{Job, PipelineExecutor};
    /// # let n = Arc::new(Int64Array::from_iter_values((0..100_000).map(|n| n / 2))) as ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("n", n)])?;
    /// # let table = Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?);
    /// # let keys = vec![Expr::column(0, table.schema().field(0))];
    /// # let fields = Scan::group_fields(&keys, &[]).expect("numbers can be grouped");
    /// # let columns = vec![("n".to_owned(), Expr::column(0, &fields[0]))];
    /// # let output = Output::Groups { keys, aggregates: vec![], having: None, columns };
    /// # let scan = Scan { table, filter: None, output, order: vec![], offset: 0, limit: None, quota: None, shard_key: None };
    /// let stage = Arc::new(ScanStage::new(scan)); // select n from numbers group by n
    /// let mut job = Job::builder("numbers").stage(stage.clone());
    /// for following in stage.following() {
    ///     job = job.stage(following);
    /// }
    /// let job = job.output(move |_cx| stage.merge()).build();
    /// let report = PipelineExecutor::new(2).expect("two threads").submit(job).expect("room").wait().expect("no failure");
    /// assert_eq!(report.output.batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 50_000);
    /// # Ok::<(), arrow::error::ArrowError>(())
    /// ```
    pub fn following(self: &Arc<Self>) -> Vec<Arc<dyn Stage>> {
        match &self.plan {
            OutputPlan::Rows(_) => Vec::new(),
            OutputPlan::Groups(_) => vec![
                Arc::new(LayOutTables(Arc::clone(self))),
                Arc::new(MergeGroups(Arc::clone(self))),
                Arc::new(OrderGroups(Arc::clone(self))),
            ],
        }
    }

    /// What the slots left, in their order.
    fn take_cells(&self) -> Result<Vec<Collected>, StepError> {
        let mut slots = Vec::with_capacity(self.cells.len());
        let mut rows = 0usize;
        for cell in &self.cells {
            if self.stops_early() && rows >= self.scan.rows_needed() {
                break;
            }
            // Only behind the last row that is needed are there empty cells.
            let outcome = lock(cell).take();
            let collected = outcome.ok_or("a part of the scan has not run, or was merged before")??;
            rows = rows.saturating_add(collected.rows());
            slots.push(collected);
        }
        Ok(slots)
    }

    /// The groups of all slots, to be merged.
    fn merging(&self) -> Result<&Merging, StepError> {
        let merging = self.merging.get_or_init(|| {
            let cells = self.take_cells().map_err(|error| error.to_string())?;
            let mut slots: Vec<SlotGroups> = cells.into_iter().filter_map(Collected::into_groups).collect();
            // Behind the slots: only what has its order is added in it.
            slots.extend(self.group_plan().tables().take_all());
            Ok(Merging::new(slots))
        });
        merging.as_ref().map_err(|error| error.clone().into())
    }

    fn shards(&self) -> Result<Vec<Arc<Shard>>, StepError> {
        let shards = self.merging()?.shards();
        shards.ok_or_else(|| "a range of partitions was not merged".into())
    }

    fn ordering(&self, plan: &GroupPlan, shards: &[Arc<Shard>]) -> &GroupOrdering {
        self.ordering
            .get_or_init(|| GroupOrdering::new(plan, shards, self.cells.len()))
    }

    fn group_plan(&self) -> &GroupPlan {
        match &self.plan {
            OutputPlan::Groups(plan) => plan,
            OutputPlan::Rows(_) => unreachable!("only an output of groups is followed by stages"),
        }
    }

    /// The plan with what was measured so far.
    pub fn explain(&self) -> String {
        struct Explained<'a>(&'a ScanStage);
        impl fmt::Display for Explained<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // Ordering: Relaxed. A number for people.
                let skipped = self.0.skipped_morsels.load(Ordering::Relaxed);
                write_plan(f, &self.0.scan, &self.0.filter, Some(skipped))?;
                match self.0.merging.get() {
                    Some(Ok(merging)) => writeln!(f, "{merging}"),
                    _ => Ok(()),
                }
            }
        }
        Explained(self).to_string()
    }

    /// Whether slots have something to be [fetched](Self::begin_fetch) before they run: the table is a stored one, and the query reads columns of it.
    pub fn is_stored(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// The bytes that are [fetched](Self::begin_fetch) for `slot`: 0 if statistics let it skip its rows, or enough is there without them.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    pub fn bytes_to_fetch(&self, slot: usize) -> usize {
        match self.stored_morsel(slot) {
            Some((stored, morsel)) => stored.bytes_to_fetch(morsel, &self.projection),
            None => 0,
        }
    }

    /// Drops what was fetched, and what slots have left, and has nothing more kept: the query is over. What is charged for it is given back.
    pub fn give_up(&self) {
        // Ordering: Relaxed. Whoever keeps something takes the lock of its place, which is taken here behind this store: before, and it is dropped here; or after,
        // and the store is seen.
        self.given_up.store(true, Ordering::Relaxed);
        for input in &self.inputs {
            let input = lock(input).take();
            drop(input);
        }
        for cell in &self.cells {
            let cell = lock(cell).take();
            drop(cell);
        }
        if let OutputPlan::Groups(plan) = &self.plan {
            plan.tables().give_up();
        }
        if let Some(Ok(merging)) = self.merging.get() {
            merging.free();
        }
        if let Some(ordering) = self.ordering.get() {
            ordering.free();
        }
    }

    /// Leaves what a slot produced.
    fn leave(&self, slot: usize, outcome: SlotOutcome) {
        let mut cell = lock(&self.cells[slot]);
        // Ordering: Relaxed. As for what is fetched.
        if !self.given_up.load(Ordering::Relaxed) {
            *cell = Some(outcome);
        }
    }

    /// Whether enough is there before `slot`: it and those behind it need not be fetched, nor run.
    pub fn is_enough_before(&self, slot: usize) -> bool {
        // Ordering: Relaxed, see `note_complete`.
        slot >= self.enough_before.load(Ordering::Relaxed)
    }

    /// What has to be read for `slot`, if anything.
    pub(super) fn stored_morsel(&self, slot: usize) -> Option<(&dyn StoredTable, usize)> {
        let morsel = self.slots[slot].morsel;
        if !self.is_stored()
            || self.is_enough_before(slot)
            || self.filter.skips(self.scan.table.as_ref(), morsel)
        {
            return None;
        }
        Some((self.scan.table.as_stored()?, morsel))
    }

    /// The number of rows that `slot` reads.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    pub fn rows(&self, slot: usize) -> usize {
        self.slots[slot].rows.len()
    }

    /// An estimate of the work: bytes of the columns that are read.
    pub fn cost(&self) -> u64 {
        let schema = self.scan.table.schema();
        let width = |&column: &usize| schema.field(column).data_type().primitive_width().unwrap_or(16) as u64;
        let row: u64 = self.projection.iter().map(width).sum();
        (rows_of(self.scan.table.as_ref()) as u64).saturating_mul(row.max(1))
    }

    /// True if the first rows of the input are the result, so that later slots need not run once there are enough.
    fn stops_early(&self) -> bool {
        matches!(self.plan, OutputPlan::Rows(_)) && self.scan.order.is_empty() && self.scan.limit.is_some()
    }

    fn run_slot(&self, slot: usize, cx: &StepCx<'_>) -> Result<Option<Collected>, ExecError> {
        let table = self.scan.table.as_ref();
        let SlotRange { morsel, rows } = self.slots[slot].clone();
        if self.filter.skips(table, morsel) {
            // Its first slot counts it.
            if rows.start == 0 {
                // Ordering: Relaxed. A count for people; it publishes nothing.
                self.skipped_morsels.fetch_add(1, Ordering::Relaxed);
            }
            return Ok(Some(self.collect(slot, &[], &mut std::iter::empty())?));
        }
        let fetched = match self.inputs.get(slot) {
            Some(input) => lock(input).take().transpose()?,
            None => None,
        };
        let quota = self.scan.quota.as_ref();
        let morsel = Morsel::new(table, morsel, &self.projection, fetched, quota);
        let order = self.filter.order();
        let mut cancelled = false;
        let mut chunks = morsel.chunks(rows).take_while(|_| {
            cancelled = cx.is_cancelled();
            !cancelled
        });
        let mut collected = self.collect(slot, &order, &mut chunks)?;
        drop(chunks);
        if cancelled {
            return Ok(None);
        }
        if let Collected::Rows(rows) = &mut collected {
            rows.let_go(morsel)?;
        }
        Ok(Some(collected))
    }

    fn collect<'m, 't: 'm>(
        &self,
        slot: usize,
        order: &[usize],
        chunks: &mut dyn Iterator<Item = crate::morsel::Chunk<'m, 't>>,
    ) -> Result<Collected, ExecError> {
        match &self.plan {
            OutputPlan::Rows(plan) => plan.collect(&self.filter, order, chunks).map(Collected::Rows),
            OutputPlan::Groups(plan) => {
                let groups = plan.collect(slot, &self.filter, order, chunks)?;
                Ok(Collected::Groups(groups.map(Box::new)))
            }
        }
    }

    /// Notes that a slot left off. It is no failure of its own: why the job is over is known to whoever ended it, and an
    /// error here could hide the one of a later slot that did.
    fn abandon(&self) {
        // Ordering: Relaxed. See `merge`.
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// Notes that `slot` has ended, and from which slot on there is enough.
    fn note_complete(&self) {
        let needed = self.scan.rows_needed();
        let mut complete = lock(&self.complete);
        while complete.rows < needed && complete.slots < self.cells.len() {
            let rows = match &*lock(&self.cells[complete.slots]) {
                Some(Ok(collected)) => collected.rows(),
                // The first failure decides the result just as well.
                Some(Err(_)) => needed,
                None => return,
            };
            complete.slots += 1;
            complete.rows = complete.rows.saturating_add(rows);
        }
        // Ordering: Relaxed. A hint that spares work: a slot that misses it runs, and its rows are not needed. What the
        // cells hold is published by their locks.
        self.enough_before.store(complete.slots, Ordering::Relaxed);
    }
}

impl Stage for ScanStage {
    fn name(&self) -> &str {
        match self.plan {
            OutputPlan::Rows(_) => "scan rows",
            OutputPlan::Groups(_) => "scan groups",
        }
    }

    fn slots(&self) -> usize {
        self.cells.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        if !self.stops_early() {
            match self.run_slot(slot, cx)? {
                Some(collected) => self.leave(slot, Ok(collected)),
                None => self.abandon(),
            }
            return Ok(());
        }
        if self.is_enough_before(slot) {
            return Ok(());
        }
        // A failure behind the last row that is needed is none: only `merge` can tell.
        let outcome = match self.run_slot(slot, cx) {
            Ok(Some(collected)) => Ok(collected),
            Ok(None) => {
                self.abandon();
                return Ok(());
            }
            Err(error) => Err(error),
        };
        self.leave(slot, outcome);
        self.note_complete();
        Ok(())
    }
}

/// Lays out by partitions what slots have left to later ones: a slot per table.
struct LayOutTables(Arc<ScanStage>);

impl Stage for LayOutTables {
    fn name(&self) -> &str {
        "lay out tables"
    }

    fn slots(&self) -> usize {
        self.0.group_plan().tables().waiting()
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let tables = self.0.group_plan().tables();
        match tables.lay_out_one().map_err(ExecError::from)? {
            true => Ok(()),
            false => Err("a table was laid out twice".into()),
        }
    }
}

/// Merges the groups of the slots of a scan: a slot per range of partitions.
struct MergeGroups(Arc<ScanStage>);

impl Stage for MergeGroups {
    fn name(&self) -> &str {
        "merge groups"
    }

    /// What hinders the merging is told by its output, which begins it anew.
    fn slots(&self) -> usize {
        self.0.merging().map_or(0, Merging::ranges)
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.0
            .merging()?
            .run(self.0.group_plan(), slot, &|| cx.is_cancelled())
    }
}

/// Puts merged groups in the order of their first rows: a slot per batch.
struct OrderGroups(Arc<ScanStage>);

impl Stage for OrderGroups {
    fn name(&self) -> &str {
        "order groups"
    }

    /// One batch is made by the output as well.
    fn slots(&self) -> usize {
        let Ok(shards) = self.0.shards() else { return 0 };
        match self.0.ordering(self.0.group_plan(), &shards).batches() {
            1 => 0,
            batches => batches,
        }
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let (plan, shards) = (self.0.group_plan(), self.0.shards()?);
        let ordering = self.0.ordering(plan, &shards);
        Ok(ordering.run(&self.0.scan, plan, &shards, slot)?)
    }
}

impl fmt::Debug for ScanStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanStage")
            .field("scan", &self.scan)
            .finish_non_exhaustive()
    }
}
