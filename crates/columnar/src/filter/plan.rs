//! The steps of a filter, and the order in which they run.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::time::Instant;

use arrow::array::{Array as _, BooleanArray};
use arrow::buffer::{BooleanBuffer, Buffer};

use super::estimate;
use super::measure::Measured;
use super::prune;
use super::selection::Selection;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr, Filtered, Values};
use crate::table::{Codes, TableSource};

/// Rows per remaining row above which a step reads only the remaining rows.
const SPARSE: usize = 4;

/// Values of a column's codes at most for a step that looks at them instead of the rows.
const VALUES_MAX: usize = 4_096;

pub(crate) struct FilterPlan {
    steps: Vec<FilterStep>,
    /// Runs of steps that may be reordered among themselves.
    movable: Vec<Range<usize>>,
    /// Conditions that hold before a step can fail. A morsel without a row for one of them is not
    /// read.
    prunable: Vec<Expr>,
}

pub(crate) struct FilterStep {
    /// All must hold.
    conditions: Vec<Expr>,
    can_fail: bool,
    /// The column, if it is the only one and no value of it can fail.
    only_column: Option<usize>,
    /// The fraction of rows expected to pass.
    selectivity: f64,
    /// Cost per row, in comparisons of two integers.
    cost: f64,
    measured: Measured,
}

impl FilterPlan {
    pub(crate) fn new(filter: Option<&Expr>, table: &dyn TableSource) -> Self {
        let parts = filter.map_or_else(Vec::new, |filter| filter.clone().conjuncts());
        let prunable = parts
            .iter()
            .take_while(|part| !part.can_fail())
            .cloned()
            .collect();
        let mut steps: Vec<FilterStep> = Vec::new();
        let mut movable = Vec::new();
        let mut start = 0;
        for part in parts {
            if part.can_fail() {
                movable.push(start..steps.len());
                steps.push(FilterStep::new(part, table));
                start = steps.len();
                continue;
            }
            let columns = part.columns();
            match steps[start..]
                .iter_mut()
                .find(|step| columns.len() == 1 && step.columns() == columns)
            {
                Some(step) => step.add(part, table),
                None => steps.push(FilterStep::new(part, table)),
            }
        }
        movable.push(start..steps.len());
        Self {
            steps,
            movable,
            prunable,
        }
    }

    pub(crate) fn skips(&self, table: &dyn TableSource, morsel: usize) -> bool {
        self.prunable
            .iter()
            .any(|part| !prune::may_hold(part, table, morsel))
    }

    /// Cheapest expected first.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        for run in &self.movable {
            order[run.clone()].sort_by(|&a, &b| self.steps[b].benefit().total_cmp(&self.steps[a].benefit()));
        }
        order
    }

    /// Those of the selected rows that pass.
    pub(crate) fn select(
        &self,
        rows: &dyn ColumnSource,
        order: &[usize],
        mut selection: Selection,
    ) -> Result<Selection, ExecError> {
        for &step in order {
            if selection.count() == 0 {
                break;
            }
            self.steps[step].narrow(rows, &mut selection)?;
        }
        Ok(selection)
    }

    pub(crate) fn explain(&self, f: &mut dyn fmt::Write, indent: &str) -> fmt::Result {
        for step in self.order() {
            writeln!(f, "{indent}{}", self.steps[step])?;
        }
        Ok(())
    }

    pub(crate) fn cost_per_row(&self) -> f64 {
        self.steps.iter().map(|step| step.cost).sum()
    }

    pub(crate) fn selectivity(&self) -> f64 {
        self.steps.iter().map(|step| step.selectivity).product()
    }
}

impl FilterStep {
    fn new(condition: Expr, table: &dyn TableSource) -> Self {
        Self {
            can_fail: condition.can_fail(),
            only_column: only_column(&condition),
            selectivity: estimate::selectivity(&condition, table),
            cost: estimate::cost(&condition),
            conditions: vec![condition],
            measured: Measured::default(),
        }
    }

    fn add(&mut self, condition: Expr, table: &dyn TableSource) {
        let both = estimate::selectivity_of_both(self.selectivity, estimate::selectivity(&condition, table));
        self.selectivity = both;
        self.cost += estimate::cost(&condition);
        self.conditions.push(condition);
    }

    fn columns(&self) -> BTreeSet<usize> {
        self.conditions.iter().flat_map(Expr::columns).collect()
    }

    /// A nanosecond counts as one unit of cost, which affects only the order of steps.
    fn benefit(&self) -> f64 {
        let (selectivity, cost) = self
            .measured
            .selectivity_and_cost()
            .unwrap_or((self.selectivity, self.cost));
        (1.0 - selectivity) / cost.max(1e-3)
    }

    /// The rows that pass, if the step's only column is held as codes: each value is looked at once.
    fn kept_codes(&self, rows: &dyn ColumnSource) -> Result<Option<BooleanArray>, ExecError> {
        let Some(column) = self.only_column else {
            return Ok(None);
        };
        let Some(codes) = rows.codes(column)? else {
            return Ok(None);
        };
        if codes.values().len() > VALUES_MAX.min(rows.rows()) {
            return Ok(None);
        }
        let values = Values::of(column, &codes)?;
        let mut kept = Selection::all(values.rows());
        for condition in &self.conditions {
            kept.and(&condition.evaluate_condition(&values)?);
        }
        Ok(Some(of_rows(&codes, kept.mask().values())))
    }

    fn narrow(&self, rows: &dyn ColumnSource, selection: &mut Selection) -> Result<(), ExecError> {
        let start = Instant::now();
        let before = selection.count();
        let sparse = before * SPARSE < selection.rows();
        if let Some(kept) = self.kept_codes(rows)? {
            selection.and(&kept);
        } else if !selection.is_all() && (self.can_fail || sparse) {
            let left = Filtered::new(rows, &selection.mask());
            let mut inner = Selection::all(before);
            for condition in &self.conditions {
                inner.and(&condition.evaluate_condition(&left)?);
            }
            selection.and_compact(&inner.mask());
        } else {
            for condition in &self.conditions {
                selection.and(&condition.evaluate_condition(rows)?);
            }
        }
        self.measured.add(before, selection.count(), start.elapsed());
        Ok(())
    }
}

/// The rows whose values are kept. The bit behind those of the values is for NULL.
fn of_rows(codes: &Codes, kept: &BooleanBuffer) -> BooleanArray {
    // The length that the compiler knows spares a check for each row.
    let mut is_kept = [0u8; VALUES_MAX];
    let (null, rows) = (codes.values().len(), codes.rows());
    for value in kept.set_indices().take(null) {
        is_kept[value] = 1;
    }
    let look = |code: u32| is_kept[code as usize % VALUES_MAX];
    let (whole, rest) = rows.values().as_chunks::<8>();
    let mut bytes: Vec<u8> = Vec::with_capacity(whole.len() + 1);
    bytes.extend(whole.iter().map(|codes| packed(codes.map(look))));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last.iter_mut()
            .zip(rest)
            .for_each(|(bit, &code)| *bit = look(code));
        bytes.push(packed(last));
    }
    let mut bits = BooleanBuffer::new(Buffer::from(bytes), 0, rows.len());
    if let Some(nulls) = rows.nulls().filter(|nulls| nulls.null_count() > 0) {
        bits = match kept.value(null) {
            true => &bits | &!nulls.inner(),
            false => &bits & nulls.inner(),
        };
    }
    BooleanArray::new(bits, None)
}

/// Eight bits in the order of the bytes that hold them.
fn packed(bits: [u8; 8]) -> u8 {
    // The product's last byte adds each byte's bit at a place of its own, without a carry.
    (u64::from_le_bytes(bits).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

fn only_column(condition: &Expr) -> Option<usize> {
    let columns = condition.columns();
    let is_one = columns.len() == 1 && !condition.can_fail();
    columns.first().copied().filter(|_| is_one)
}

impl fmt::Display for FilterStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, condition) in self.conditions.iter().enumerate() {
            write!(f, "{}{condition}", if at == 0 { "" } else { " and " })?;
        }
        write!(f, "  [estimated {:.1} %", self.selectivity * 100.0)?;
        if self.can_fail {
            f.write_str(", can fail: keeps its place")?;
        }
        write!(f, "{}]", self.measured)
    }
}
