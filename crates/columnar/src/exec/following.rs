//! The stages that follow a scan: they merge and order its groups, and make the scan above.

use std::sync::Arc;

use pipeline_exec::{Stage, StepCx, StepError};

use super::level::Level;
use super::stage::ScanStage;
use crate::error::ExecError;
use crate::plan::Output;

impl ScanStage {
    /// The stages that follow this one, in order: they merge and order groups in parallel. A query
    /// without groups has none. [`merge`](Self::merge) does what they have not done, so the result
    /// is the same without them, but slower for many groups.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    /// # use columnar::{Expr, MemoryTable, Output, SelectPlan, ScanStage, TableSource};
    /// # use pipeline_exec::{Job, PipelineExecutor};
    /// # let n = Arc::new(Int64Array::from_iter_values((0..100_000).map(|n| n / 2))) as ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("n", n)])?;
    /// # let table = Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?);
    /// # let keys = vec![Expr::column(0, table.schema().field(0))];
    /// # let fields = SelectPlan::group_fields(&keys, &[]).expect("numbers can be grouped");
    /// # let columns = vec![("n".to_owned(), Expr::column(0, &fields[0]))];
    /// # let output = Output::Groups { keys, aggregates: vec![], having: None, columns };
    /// # let scan = SelectPlan::new(table, output);
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
        Level::of_scan(self).stages(true)
    }
}

impl Level {
    /// The stages that make the scan and run it. Groups are merged, and put in order if they
    /// `are_ordered`.
    pub(super) fn stages(self: &Arc<Self>, are_ordered: bool) -> Vec<Arc<dyn Stage>> {
        let mut stages: Vec<Arc<dyn Stage>> = Vec::new();
        if !self.reads_a_table() {
            stages.push(Arc::new(MakeScan(Arc::clone(self))));
            stages.push(Arc::new(LateScan(Arc::clone(self))));
        }
        if let Output::Groups { .. } = self.plan().output {
            stages.push(Arc::new(PartitionTables(Arc::clone(self))));
            stages.push(Arc::new(MergeGroups(Arc::clone(self))));
            if are_ordered {
                stages.push(Arc::new(OrderGroups(Arc::clone(self))));
            }
        }
        stages
    }
}

struct MakeScan(Arc<Level>);

impl Stage for MakeScan {
    fn name(&self) -> &str {
        "end the scan below"
    }

    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.0.make()
    }
}

struct LateScan(Arc<Level>);

impl Stage for LateScan {
    fn name(&self) -> &str {
        "scan the result below"
    }

    fn slots(&self) -> usize {
        self.0.scan().map_or(0, |scan| scan.slots())
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.0.run(slot, cx)
    }
}

struct PartitionTables(Arc<Level>);

impl Stage for PartitionTables {
    fn name(&self) -> &str {
        "lay out tables"
    }

    fn slots(&self) -> usize {
        let waiting = |scan: &ScanStage| scan.plan.groups().group_by().hand_over().waiting();
        self.0.scan().map_or(0, |scan| waiting(scan))
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let hand_over = self.0.scan()?.plan.groups().group_by().hand_over();
        match hand_over.partition_one().map_err(ExecError::from)? {
            true => Ok(()),
            false => Err("a table was laid out twice".into()),
        }
    }
}

struct MergeGroups(Arc<Level>);

impl Stage for MergeGroups {
    fn name(&self) -> &str {
        "merge groups"
    }

    /// The output repeats and reports an error.
    fn slots(&self) -> usize {
        let merging = self.0.scan().and_then(|scan| scan.merging());
        merging.map_or(0, |merging| merging.parts())
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        let scan = self.0.scan()?;
        scan.merging()?
            .run(scan.plan.groups(), slot, &|| cx.is_cancelled())
    }
}

struct OrderGroups(Arc<Level>);

impl Stage for OrderGroups {
    fn name(&self) -> &str {
        "order groups"
    }

    /// The output makes a single batch too.
    fn slots(&self) -> usize {
        let ordering = self.0.scan().and_then(|scan| scan.ordering());
        match ordering.map_or(0, |ordering| ordering.batches()) {
            1 => 0,
            batches => batches,
        }
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let scan = self.0.scan()?;
        let plan = &scan.plan;
        Ok(scan.ordering()?.run(&plan.scan, plan.groups(), slot)?)
    }
}
