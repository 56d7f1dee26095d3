//! A scan among others, each of the result below. It is made when the one below has ended.

use std::sync::{Arc, OnceLock};

use pipeline_exec::{Stage, StepCx, StepError};

use super::compiled::CompiledScan;
use super::following::stages_of_groups;
use super::groups::Input;
use super::groups_table::GroupsTable;
use super::stage::ScanStage;
use crate::error::ExecError;
use crate::memory::{Reservation, copies_bytes};
use crate::plan::{Output, Regrouping, SelectPlan};
use crate::table::MemoryTable;

pub(super) struct Level {
    /// `None` for the scan of a table.
    below: Option<Below>,
    scan: OnceLock<Arc<ScanStage>>,
    /// For rows of the result below.
    rows: OnceLock<Reservation>,
}

struct Below {
    level: Arc<Level>,
    /// Its table has the columns of the result below, but no rows.
    plan: SelectPlan,
    any_order: bool,
    way: Regrouping,
}

impl Level {
    pub(super) fn made(scan: Arc<ScanStage>) -> Arc<Self> {
        Arc::new(Self {
            below: None,
            scan: OnceLock::from(scan),
            rows: OnceLock::new(),
        })
    }

    pub(super) fn above(level: &Arc<Self>, plan: SelectPlan, any_order: bool, way: Regrouping) -> Arc<Self> {
        let below = Below {
            level: Arc::clone(level),
            plan,
            any_order,
            way,
        };
        Arc::new(Self {
            below: Some(below),
            scan: OnceLock::new(),
            rows: OnceLock::new(),
        })
    }

    pub(super) fn scan(&self) -> Result<&Arc<ScanStage>, StepError> {
        let scan = self.scan.get();
        scan.ok_or_else(|| "the scan below has not ended".into())
    }

    /// The stages that make the scan, run it, and end it.
    pub(super) fn stages(self: &Arc<Self>, next: Option<&Regrouping>) -> Vec<Arc<dyn Stage>> {
        let mut stages: Vec<Arc<dyn Stage>> = Vec::new();
        let has_groups = match &self.below {
            Some(below) => {
                stages.push(Arc::new(MakeScan(Arc::clone(self))));
                stages.push(Arc::new(LateScan(Arc::clone(self))));
                matches!(below.plan.output, Output::Groups { .. })
            }
            None => self.scan().is_ok_and(|scan| scan.has_groups()),
        };
        if has_groups {
            let are_ordered = next.is_none_or(|way| *way == Regrouping::OfRows);
            stages.extend(stages_of_groups(self, are_ordered));
        }
        stages
    }

    /// Ends the scan below.
    fn make(&self, below: &Below) -> Result<Arc<ScanStage>, StepError> {
        let ended = below.level.scan()?;
        let (name, schema) = (below.plan.table.name(), below.plan.table.schema());
        let mut plan = below.plan.clone();
        let input = if below.way == Regrouping::OfRows {
            let batches = ended.merge()?.batches;
            let bytes = batches.iter().map(|batch| copies_bytes(batch.columns()));
            let bytes: usize = bytes.sum::<Result<_, _>>()?;
            let mut reservation = Reservation::of(plan.memory_pool.clone());
            // A morsel of several batches is a copy.
            reservation.grow(2 * bytes).map_err(ExecError::from)?;
            let table = MemoryTable::try_new(name, schema, batches)?;
            reservation.resize(bytes).map_err(ExecError::from)?;
            self.rows.get_or_init(|| reservation);
            plan.table = Arc::new(table);
            Input::Rows
        } else {
            let table = GroupsTable::new(name, &schema, ended.take_shards()?);
            let input = Input::Groups {
                firsts: table.firsts(),
                slots: ended.plan.slots_of_firsts(),
                are_apart: matches!(below.way, Regrouping::Kept(_)),
            };
            plan.table = Arc::new(table);
            input
        };
        let compiled = CompiledScan::new(plan, below.any_order, input);
        Ok(Arc::new(ScanStage::of(compiled)))
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
        if let Some(below) = &self.0.below {
            let scan = self.0.make(below)?;
            self.0.scan.get_or_init(|| scan);
        }
        Ok(())
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
        self.0.scan()?.run(slot, cx)
    }
}
