//! The steps of a filter, and the order in which they run.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use arrow::array::BooleanArray;
use pipeline_exec::lock;

use super::estimate;
use super::measure::Measured;
use super::prune;
use super::selection::Selection;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr, Filtered, TextSearch};
use crate::table::TableSource;

/// Rows per remaining row above which a step reads only the remaining rows.
const SPARSE: usize = 4;

pub(crate) struct FilterPlan {
    steps: Vec<FilterStep>,
    /// Runs of steps that may be reordered among themselves.
    movable: Vec<Range<usize>>,
    /// Conditions that hold before a step can fail. A morsel without a row for one of them is not
    /// read.
    prunable: Vec<Expr>,
    changes: Changes,
}

/// How often the order changed from one slot to the next.
#[derive(Debug, Default)]
struct Changes {
    last: Mutex<Vec<usize>>,
    count: AtomicUsize,
}

pub(crate) struct FilterStep {
    condition: Expr,
    /// If its column, which is one of texts, is read for nothing else but rows that pass.
    on_texts: Option<TextSearch>,
    /// The fraction of rows expected to pass.
    selectivity: f64,
    /// Cost per row, in comparisons of two integers.
    cost: f64,
    measured: Measured,
}

impl FilterPlan {
    /// `read_whole` has columns that are read for all rows beside the filter.
    pub(crate) fn new(filter: Option<&Expr>, table: &dyn TableSource, read_whole: &BTreeSet<usize>) -> Self {
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
            let column = part.only_column();
            match steps[start..]
                .iter_mut()
                .find(|step| column.is_some() && step.condition.only_column() == column)
            {
                Some(step) => step.add(part, table),
                None => steps.push(FilterStep::new(part, table)),
            }
        }
        movable.push(start..steps.len());
        let reads = |step: &FilterStep, column: usize| {
            let mut columns = BTreeSet::new();
            step.condition.collect_columns(&mut columns);
            columns.contains(&column)
        };
        for at in 0..steps.len() {
            let on_texts = TextSearch::of(&steps[at].condition);
            steps[at].on_texts = on_texts.filter(|condition| {
                let column = condition.column();
                !read_whole.contains(&column) && steps.iter().filter(|step| reads(step, column)).count() == 1
            });
        }
        Self {
            steps,
            movable,
            prunable,
            changes: Changes::default(),
        }
    }

    /// The morsels that statistics do not rule out.
    pub(crate) fn morsels(&self, table: &dyn TableSource) -> Vec<usize> {
        let all = (0..table.morsels()).collect();
        let parts = self.prunable.iter();
        parts.fold(all, |left: Vec<usize>, part| prune::may_hold(part, table, &left))
    }

    /// The order for a slot, which counts its changes.
    pub(crate) fn next_order(&self) -> Vec<usize> {
        let order = self.order();
        let mut last = lock(&self.changes.last);
        if *last != order {
            if !last.is_empty() {
                // Ordering: Relaxed. A number for people.
                self.changes.count.fetch_add(1, Ordering::Relaxed);
            }
            last.clone_from(&order);
        }
        order
    }

    pub(crate) fn order_changes(&self) -> usize {
        // Ordering: Relaxed. A number for people.
        self.changes.count.load(Ordering::Relaxed)
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
            self.narrow(step, rows, &mut selection)?;
        }
        Ok(selection)
    }

    /// Drops the selected rows that do not pass `step`.
    pub(crate) fn narrow(
        &self,
        step: usize,
        rows: &dyn ColumnSource,
        selection: &mut Selection,
    ) -> Result<(), ExecError> {
        match selection.count() {
            0 => Ok(()),
            _ => self.steps[step].narrow(rows, selection),
        }
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
            selectivity: estimate::selectivity(&condition, table),
            cost: estimate::cost(&condition),
            condition,
            on_texts: None,
            measured: Measured::default(),
        }
    }

    fn add(&mut self, condition: Expr, table: &dyn TableSource) {
        let both = estimate::selectivity_of_both(self.selectivity, estimate::selectivity(&condition, table));
        self.selectivity = both;
        self.cost += estimate::cost(&condition);
        let first = self.condition.clone();
        self.condition = Expr::and(first, condition).expect("two conditions");
    }

    /// A nanosecond counts as one unit of cost, which affects only the order of steps.
    fn benefit(&self) -> f64 {
        let (selectivity, cost) = self
            .measured
            .selectivity_and_cost()
            .unwrap_or((self.selectivity, self.cost));
        (1.0 - selectivity) / cost.max(1e-3)
    }

    fn narrow(&self, rows: &dyn ColumnSource, selection: &mut Selection) -> Result<(), ExecError> {
        let on_texts = self.on_texts.as_ref();
        narrow(&self.condition, on_texts, &self.measured, rows, selection)
    }
}

/// Drops the rows for which `condition` is not true. The reader may know them by `on_texts`.
pub(super) fn narrow(
    condition: &Expr,
    on_texts: Option<&TextSearch>,
    measured: &Measured,
    rows: &dyn ColumnSource,
    selection: &mut Selection,
) -> Result<(), ExecError> {
    let start = Instant::now();
    let before = selection.count();
    let is_sparse = before * SPARSE < selection.rows();
    let is_compact = !selection.is_all() && (condition.can_fail() || is_sparse);
    let passing = match on_texts {
        Some(search) => rows.rows_where(search)?,
        None => None,
    };
    let answers = match passing {
        Some(passing) => Some(BooleanArray::new(passing, None)),
        None if !is_compact => Some(condition.evaluate_condition(rows)?),
        None if condition
            .only_column()
            .is_some_and(|column| rows.may_know_kept(column)) =>
        {
            None
        }
        // To look up all rows takes no longer than to find those that are left.
        None => condition.evaluate_by_value(rows)?,
    };
    match answers {
        Some(answers) => selection.and(&answers),
        None => {
            let left = Filtered::new(rows, &selection.mask(), [condition]);
            selection.and_compact(&condition.evaluate_condition(&left)?);
        }
    }
    measured.add(before, selection.count(), start.elapsed());
    Ok(())
}

impl fmt::Display for FilterStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}  [estimated {:.1} %",
            self.condition,
            self.selectivity * 100.0
        )?;
        if self.condition.can_fail() {
            f.write_str(", can fail: keeps its place")?;
        }
        write!(f, "{}]", self.measured)
    }
}
