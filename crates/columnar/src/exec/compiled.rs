//! A select plan prepared to run.

use std::collections::BTreeSet;

use super::collected::Collected;
use super::groups::{GroupPlan, Role};
use super::morsel::Chunk;
use super::rows::RowPlan;
use super::slot_filter::SlotFilter;
use super::slots::{self, SlotRange};
use super::threshold::Threshold;
use crate::error::ExecError;
use crate::expr::Expr;
use crate::filter::FilterPlan;
use crate::plan::{Output, SelectPlan};
use crate::table::StoredTable;

pub(super) struct CompiledScan {
    pub(super) scan: SelectPlan,
    pub(super) filter: FilterPlan,
    pub(super) output: OutputPlan,
    pub(super) projection: Vec<usize>,
    /// In the order in which they are run.
    pub(super) slots: Vec<SlotRange>,
    /// Morsels without a slot: by statistics, none of their rows passes the filter.
    pub(super) ruled_out: usize,
}

pub(super) enum OutputPlan {
    Rows(Box<RowPlan>),
    Groups(Box<GroupPlan>),
}

impl OutputPlan {
    fn cost_per_row(&self) -> f64 {
        match self {
            Self::Rows(plan) => plan.cost_per_row(),
            Self::Groups(plan) => plan.group_by().cost_per_row(),
        }
    }
}

impl CompiledScan {
    /// A scan whose slots are those of a scan below: [`ScanStage::leave`](super::stage::ScanStage::leave)
    /// gets what is made of each.
    pub(super) fn of_slots(scan: SelectPlan, slots: usize, role: Role) -> Self {
        let slot = |morsel| SlotRange {
            morsel,
            more: 0,
            rows: 0..0,
        };
        Self {
            slots: (0..slots).map(slot).collect(),
            ..Self::new(scan, role)
        }
    }

    pub(super) fn new(scan: SelectPlan, role: Role) -> Self {
        let output = match &scan.output {
            Output::Rows { .. } => OutputPlan::Rows(Box::new(RowPlan::new(&scan))),
            Output::Groups { .. } => OutputPlan::Groups(Box::new(GroupPlan::new(&scan, role))),
        };
        let read_whole = match &output {
            OutputPlan::Rows(plan) => plan.read_whole(),
            OutputPlan::Groups(_) => BTreeSet::new(),
        };
        let filter = FilterPlan::new(scan.filter.as_ref(), scan.table.as_ref(), &read_whole);
        let projection = scan.projection();
        let cost_per_row = filter.cost_per_row() + output.cost_per_row();
        let joins_morsels = matches!(output, OutputPlan::Groups(_));
        let table = scan.table.as_ref();
        let morsels = filter.morsels(table);
        let slots = slots::cut(table, &morsels, &projection, cost_per_row, joins_morsels);
        Self {
            slots: match &output {
                OutputPlan::Rows(plan) => plan.in_turn(slots),
                OutputPlan::Groups(_) => slots,
            },
            ruled_out: table.morsels() - morsels.len(),
            filter,
            output,
            projection,
            scan,
        }
    }

    pub(super) fn stored(&self) -> Option<&dyn StoredTable> {
        self.scan
            .table
            .as_stored()
            .filter(|_| !self.projection.is_empty())
    }

    /// Whether the first rows of the input suffice.
    pub(super) fn stops_early(&self) -> bool {
        self.has_limited_rows() && self.scan.order.is_empty()
    }

    fn has_limited_rows(&self) -> bool {
        matches!(self.output, OutputPlan::Rows(_)) && self.scan.limit.is_some()
    }

    /// Whether the chunks of a slot are filtered before they are collected. With a limit, each chunk
    /// that is collected may show that later rows are not needed, unless a threshold has shown it.
    pub(super) fn looks_ahead(&self) -> bool {
        let has_condition = |threshold: &Threshold| threshold.condition().is_some();
        self.stored().is_some() && (!self.has_limited_rows() || self.threshold().is_some_and(has_condition))
    }

    pub(super) fn threshold(&self) -> Option<&Threshold> {
        match &self.output {
            OutputPlan::Rows(plan) => plan.threshold(),
            OutputPlan::Groups(_) => None,
        }
    }

    pub(super) fn groups(&self) -> &GroupPlan {
        match &self.output {
            OutputPlan::Groups(plan) => plan,
            OutputPlan::Rows(_) => unreachable!("only an output of groups is merged and ordered"),
        }
    }

    /// The slots that the first rows of its groups name.
    pub(super) fn slots_of_firsts(&self) -> usize {
        self.groups().slots_of_firsts(self.slots.len())
    }

    pub(super) fn cost(&self) -> u64 {
        let schema = self.scan.table.schema();
        let width = |&column: &usize| schema.field(column).data_type().primitive_width().unwrap_or(16) as u64;
        let row: u64 = self.projection.iter().map(width).sum();
        let rows = self.slots.iter().map(|slot| slot.rows.len() as u64);
        let rows = rows.fold(0, u64::saturating_add);
        rows.saturating_mul(row.max(1))
    }

    pub(super) fn collect<'m, 't: 'm>(
        &self,
        slot: usize,
        filter: &SlotFilter<'_>,
        needed: Option<&Expr>,
        chunks: &mut dyn Iterator<Item = Chunk<'m, 't>>,
    ) -> Result<Collected, ExecError> {
        match &self.output {
            OutputPlan::Rows(plan) => {
                let rows = plan.collect(filter, needed, chunks)?;
                Ok(Collected::Rows(rows))
            }
            OutputPlan::Groups(plan) => {
                let groups = plan.collect(slot, filter, chunks)?;
                Ok(Collected::Groups(groups.map(Box::new)))
            }
        }
    }
}
