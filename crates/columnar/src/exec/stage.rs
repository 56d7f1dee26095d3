//! A scan as a stage of a pipeline job: each morsel, or part of one, has a slot.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use pipeline_exec::{Stage, StepCx, StepError, lock};

use super::collected::Collected;
use super::compiled::{CompiledScan, OutputPlan};
use super::decoded::Decoded;
use super::groups::{Role, Shard};
use super::merging::Merging;
use super::morsel::Morsel;
use super::ordering::Ordering as GroupOrdering;
use super::phase::{End, Phase, Scanning};
use super::slot_filter::SlotFilter;
use crate::error::ExecError;
use crate::expr::Expr;
use crate::filter::may_hold;
use crate::memory::Reservation;
use crate::plan::{SelectPlan, write_plan};
use crate::table::{Fetched, StoredTable};

/// The rows of a query's result.
#[derive(Clone, Debug)]
pub struct ScanResult {
    /// The columns. Names may repeat, as in SQL.
    pub schema: SchemaRef,
    /// The rows, in order; no batch is empty.
    pub batches: Vec<RecordBatch>,
}

/// A [`SelectPlan`] that runs once. [`merge`](Self::merge) makes the job's output of what the slots
/// left.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// use columnar::{Expr, MemoryTable, Output, SelectPlan, ScanStage, TableSource};
/// use pipeline_exec::{Job, PipelineExecutor};
///
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef)])?;
/// let table = Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?);
/// let n = Expr::column(0, table.schema().field(0));
/// let output = Output::Rows { columns: vec![("n".to_owned(), n)] };
/// let scan = SelectPlan { offset: 1, limit: Some(1), ..SelectPlan::new(table, output) };
///
/// let stage = Arc::new(ScanStage::new(scan));
/// let executor = PipelineExecutor::new(2).expect("two threads");
/// let job = Job::builder("numbers").stage(stage.clone()).output(move |_cx| stage.merge()).build();
/// let report = executor.submit(job).expect("room").wait().expect("no failure");
/// assert_eq!(report.output.batches[0].num_rows(), 1);
/// # Ok::<(), arrow::error::ArrowError>(())
/// ```
pub struct ScanStage {
    pub(super) plan: CompiledScan,
    phase: Mutex<Phase>,
    /// Held while a caller makes the next phase.
    next: Mutex<()>,
    measured: Measured,
    /// Rows of the result may keep some of these reservations.
    fetched: Mutex<Vec<Weak<Mutex<Reservation>>>>,
}

#[derive(Default)]
struct Measured {
    /// Morsels that have a slot, and that the caller of [`ScanStage::read_slot`] does not need.
    not_needed: AtomicUsize,
    decoded: Decoded,
    merging: OnceLock<String>,
}

impl ScanStage {
    /// Prepares `scan` to run.
    pub fn new(scan: SelectPlan) -> Self {
        Self::of(CompiledScan::new(scan, Role::default()))
    }

    /// As [`new`](Self::new); groups of a scan without an order may come in any order, another one in
    /// each run. Nothing is sorted then.
    pub fn in_any_order(scan: SelectPlan) -> Self {
        let role = Role {
            any_order: true,
            ..Role::default()
        };
        Self::of(CompiledScan::new(scan, role))
    }

    pub(super) fn of(plan: CompiledScan) -> Self {
        Self {
            phase: Mutex::new(Phase::new(&plan)),
            next: Mutex::default(),
            plan,
            measured: Measured::default(),
            fetched: Mutex::default(),
        }
    }

    /// The columns of the result.
    pub fn schema(&self) -> SchemaRef {
        self.plan.scan.schema()
    }

    /// Merges the result in slot order. Call it once, after all slots, best as the job's
    /// [output](pipeline_exec::JobBuilder::output).
    ///
    /// # Errors
    ///
    /// When a needed slot failed or has not run, after a cancellation, and on a second call.
    pub fn merge(&self) -> Result<ScanResult, StepError> {
        let phase = lock(&self.phase).take()?;
        let batches = self.batches(&phase);
        phase.free(&self.plan);
        let batches = batches?;
        // The result's owner accounts for the bytes it keeps.
        for reservation in mem::take(&mut *lock(&self.fetched)) {
            if let Some(reservation) = reservation.upgrade() {
                drop(mem::take(&mut *lock(&reservation)));
            }
        }
        Ok(ScanResult {
            schema: self.schema(),
            batches,
        })
    }

    /// All groups, merged but in no order, for a scan above this one. The first call ends this one.
    pub(super) fn take_shards(&self) -> Result<Vec<Arc<Shard>>, StepError> {
        let merging = self.merging()?;
        let shards = merging.shards().ok_or("a shard was not merged")?;
        let phase = lock(&self.phase).take()?;
        phase.free(&self.plan);
        Ok(shards)
    }

    fn batches(&self, phase: &Phase) -> Result<Vec<RecordBatch>, StepError> {
        let scan = &self.plan.scan;
        let plan = match &self.plan.output {
            OutputPlan::Rows(plan) => {
                let scanning = phase.scanning().ok_or("rows are not merged in ranges")?;
                let cells = scanning.take_cells(&self.plan)?;
                return Ok(plan.finish(scan, cells.into_iter().map(Collected::into_rows))?);
            }
            OutputPlan::Groups(plan) => plan,
        };
        let hand_over = plan.group_by().hand_over();
        while hand_over.partition_one().map_err(ExecError::from)? {}
        let merging = match phase {
            Phase::Scanning(scanning) => Arc::new(scanning.merging(&self.plan)?),
            Phase::Merging(merging) | Phase::Ordering(merging, _) => Arc::clone(merging),
            Phase::Ended(end) => return Err(end.error()),
        };
        self.note_merging(&merging);
        (0..merging.parts()).try_for_each(|part| merging.run(plan, part, &|| false))?;
        Ok(match phase {
            Phase::Ordering(_, ordering) => ordering.finish(scan, plan)?,
            _ => merging.ordering(&self.plan)?.finish(scan, plan)?,
        })
    }

    /// The first call ends the scanning.
    pub(super) fn merging(&self) -> Result<Arc<Merging>, StepError> {
        let _one = lock(&self.next);
        self.merging_by_one()
    }

    /// The first call ends the merging, and fails while ranges are unmerged.
    pub(super) fn ordering(&self) -> Result<Arc<GroupOrdering>, StepError> {
        let _one = lock(&self.next);
        if let Phase::Ordering(_, ordering) = &*lock(&self.phase) {
            return Ok(Arc::clone(ordering));
        }
        let merging = self.merging_by_one()?;
        let ordering = Arc::new(merging.ordering(&self.plan)?);
        self.enter(Phase::Ordering(merging, Arc::clone(&ordering)))?;
        Ok(ordering)
    }

    fn merging_by_one(&self) -> Result<Arc<Merging>, StepError> {
        let scanning = match &*lock(&self.phase) {
            Phase::Scanning(scanning) => Arc::clone(scanning),
            Phase::Merging(merging) | Phase::Ordering(merging, _) => return Ok(Arc::clone(merging)),
            Phase::Ended(end) => return Err(end.error()),
        };
        let merging = scanning.merging(&self.plan).map(Arc::new);
        let merging = merging.inspect_err(|error| self.end(End::Failed(error.to_string())))?;
        self.note_merging(&merging);
        self.enter(Phase::Merging(Arc::clone(&merging)))?;
        Ok(merging)
    }

    fn enter(&self, next: Phase) -> Result<(), StepError> {
        let mut phase = lock(&self.phase);
        if let Phase::Ended(end) = &*phase {
            return Err(end.error());
        }
        let before = mem::replace(&mut *phase, next);
        drop(phase);
        drop(before);
        Ok(())
    }

    fn end(&self, end: End) {
        let ended = lock(&self.phase).end(end);
        if let Some(phase) = ended {
            phase.free(&self.plan);
        }
    }

    fn note_merging(&self, merging: &Merging) {
        self.measured.merging.get_or_init(|| merging.to_string());
    }

    /// The plan with the measurements so far.
    pub fn explain(&self) -> String {
        struct Explained<'a>(&'a ScanStage);
        impl fmt::Display for Explained<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let ScanStage { plan, measured, .. } = self.0;
                // Ordering: Relaxed. A number for people.
                let not_needed = measured.not_needed.load(Ordering::Relaxed);
                let skipped = plan.ruled_out + not_needed;
                write_plan(f, &plan.scan, &plan.filter, Some(skipped))?;
                if let Some(stored) = plan.stored() {
                    measured.decoded.write(f, stored, &plan.projection)?;
                }
                match measured.merging.get() {
                    Some(merging) => writeln!(f, "{merging}"),
                    None => Ok(()),
                }
            }
        }
        Explained(self).to_string()
    }

    /// Whether slots may have bytes to [fetch](Self::begin_fetch).
    pub fn is_stored(&self) -> bool {
        self.plan.stored().is_some()
    }

    /// The bytes to [fetch](Self::begin_fetch) for `slot`: 0 if earlier slots have enough rows.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    pub fn bytes_to_fetch(&self, slot: usize) -> usize {
        match self.stored_morsel(slot) {
            Some((stored, morsel)) => stored.bytes_to_fetch(morsel, &self.plan.projection),
            None => 0,
        }
    }

    /// Ends the query and frees its memory.
    pub fn give_up(&self) {
        self.end(End::GivenUp);
    }

    /// Whether earlier slots have enough rows, so `slot` and later ones need no run.
    pub fn is_enough_before(&self, slot: usize) -> bool {
        self.scanning()
            .is_none_or(|scanning| scanning.is_enough_before(slot))
    }

    /// The rows that `slot` reads.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    pub fn rows(&self, slot: usize) -> usize {
        self.plan.slots[slot].rows.len()
    }

    /// The estimated work: bytes of the columns to read.
    pub fn cost(&self) -> u64 {
        self.plan.cost()
    }

    pub(super) fn stored_morsel(&self, slot: usize) -> Option<(&dyn StoredTable, usize)> {
        let morsel = self.plan.slots[slot].morsel;
        let stored = self.plan.stored()?;
        (!self.is_enough_before(slot)).then_some((stored, morsel))
    }

    pub(super) fn keep(&self, slot: usize, input: Result<Fetched, ExecError>) {
        if let Ok(fetched) = &input {
            lock(&self.fetched).push(fetched.reservation());
        }
        if let Phase::Scanning(scanning) = &*lock(&self.phase) {
            scanning.put_input(slot, input);
        }
    }

    fn scanning(&self) -> Option<Arc<Scanning>> {
        lock(&self.phase).scanning()
    }

    /// The rows of `slot`, computed on this thread: for a caller that takes rows as it goes, in place
    /// of a job. Slots are read in any order. Rows for which `needed` is not true may be
    /// left out.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// use columnar::{Expr, MemoryTable, Output, ScanStage, SelectPlan, TableSource};
    /// use pipeline_exec::Stage as _;
    ///
    /// let n: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// let batch = RecordBatch::try_from_iter([("n", n)])?;
    /// let table = Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?);
    /// let n = Expr::column(0, table.schema().field(0));
    /// let stage = ScanStage::new(SelectPlan::new(table, Output::Rows { columns: vec![("n".to_owned(), n)] }));
    /// let mut rows = 0;
    /// for slot in 0..stage.slots() {
    ///     rows += stage.read_slot(slot, None)?.iter().map(RecordBatch::num_rows).sum::<usize>();
    /// }
    /// assert_eq!(rows, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the table cannot be read, an expression fails, or the memory is not enough.
    ///
    /// # Panics
    ///
    /// If there is no such slot, or the plan has groups, an order, an offset or a limit.
    pub fn read_slot(&self, slot: usize, needed: Option<&Expr>) -> Result<Vec<RecordBatch>, ExecError> {
        let scan = &self.plan.scan;
        let is_plain = scan.order.is_empty() && scan.offset == 0 && scan.limit.is_none();
        let OutputPlan::Rows(plan) = &self.plan.output else {
            panic!("the slots of a plan with groups have no rows of their own");
        };
        assert!(
            is_plain,
            "the slots of a plan with an order, offset or limit depend on each other"
        );
        let fetched = match self.scanning() {
            Some(scanning) => scanning.take_input(slot)?,
            None => None,
        };
        let rows = self.run_slot(slot, fetched, needed, &|| false)?;
        let rows = rows.map(Collected::into_rows).into_iter();
        plan.finish(scan, rows)
    }

    /// `None` if it was cancelled.
    fn run_slot(
        &self,
        slot: usize,
        mut fetched: Option<Fetched>,
        needed: Option<&Expr>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<Collected>, ExecError> {
        let scan = &self.plan.scan;
        let range = &self.plan.slots[slot];
        let rows = range.rows.clone();
        let morsels: Vec<usize> = range.morsels().collect();
        let count = morsels.len();
        let kept = match needed {
            Some(needed) => may_hold(needed, scan.table.as_ref(), &morsels),
            None => morsels,
        };
        // The first slot of a morsel counts it.
        if rows.start == 0 {
            // Ordering: Relaxed. A count for people; it publishes nothing.
            self.measured
                .not_needed
                .fetch_add(count - kept.len(), Ordering::Relaxed);
        }
        let filter = SlotFilter::new(&self.plan.filter);
        if kept.is_empty() {
            let none = &mut std::iter::empty();
            return Ok(Some(self.plan.collect(slot, &filter, None, none)?));
        }
        let morsel = |&number: &usize| {
            Morsel::new(
                scan.table.as_ref(),
                number,
                &self.plan.projection,
                // Only a slot of one morsel has bytes fetched.
                fetched.take(),
                scan.memory_pool.as_ref(),
            )
        };
        let mut morsels: Vec<Morsel<'_>> = kept.iter().map(morsel).collect();
        if self.plan.looks_ahead()
            && let [morsel] = &morsels[..]
        {
            filter.look_ahead(morsel, rows.clone(), self.plan.threshold(), is_cancelled)?;
        }
        let mut cancelled = false;
        let chunks = morsels.iter().flat_map(|morsel| match range.more {
            0 => morsel.chunks(rows.clone()),
            _ => morsel.chunks(0..morsel.rows()),
        });
        let mut chunks = chunks.take_while(|_| {
            cancelled = is_cancelled();
            !cancelled
        });
        let mut collected = self.plan.collect(slot, &filter, needed, &mut chunks)?;
        drop(chunks);
        if let Some(stored) = self.plan.stored() {
            for (morsel, &number) in morsels.iter().zip(&kept) {
                self.measured.decoded.add(stored, number, morsel.columns_read());
            }
        }
        if cancelled {
            return Ok(None);
        }
        if let Collected::Rows(rows) = &mut collected
            && let Some(morsel) = morsels.pop()
        {
            rows.let_go(morsel)?;
        }
        Ok(Some(collected))
    }

    pub(super) fn leave(&self, slot: usize, outcome: Result<Collected, ExecError>) {
        if let Phase::Scanning(scanning) = &*lock(&self.phase) {
            scanning.leave(slot, outcome);
        }
    }

    /// An abandoned slot is no failure: an error here could hide a later slot's.
    fn abandon(&self) {
        self.end(End::Cancelled);
    }
}

impl Stage for ScanStage {
    fn name(&self) -> &str {
        match self.plan.output {
            OutputPlan::Rows(_) => "scan rows",
            OutputPlan::Groups(_) => "scan groups",
        }
    }

    fn slots(&self) -> usize {
        self.plan.slots.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        let Some(scanning) = self.scanning() else {
            return Ok(());
        };
        let run_slot = || {
            let fetched = scanning.take_input(slot)?;
            self.run_slot(slot, fetched, None, &|| cx.is_cancelled())
        };
        if !self.plan.stops_early() {
            match run_slot()? {
                Some(collected) => self.leave(slot, Ok(collected)),
                None => self.abandon(),
            }
            return Ok(());
        }
        if scanning.is_enough_before(slot) {
            return Ok(());
        }
        // Only `merge` can tell whether a failure is behind the last needed row.
        let outcome = match run_slot() {
            Ok(Some(collected)) => Ok(collected),
            Ok(None) => {
                self.abandon();
                return Ok(());
            }
            Err(error) => Err(error),
        };
        self.leave(slot, outcome);
        scanning.note_complete(self.plan.scan.rows_needed());
        Ok(())
    }
}

impl fmt::Debug for ScanStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanStage")
            .field("scan", &self.plan.scan)
            .finish_non_exhaustive()
    }
}
