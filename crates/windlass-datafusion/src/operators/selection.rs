//! Columns of the rows that pass a filter, as the stages can compute them.

use std::fmt;
use std::sync::Arc;

use columnar::{Expr, MemoryTable, Output, SelectPlan, TableSource};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

use super::expression::{Columns, texts};
use super::input::Input;
use super::source::Source;

/// All expressions read the columns of the source.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) source: Source,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    hints: Vec<Arc<dyn PhysicalExpr>>,
    columns: Vec<Arc<dyn PhysicalExpr>>,
}

impl Selection {
    /// `None` if the stages cannot compute `plan`, or if its rows have an order.
    pub(super) fn of(plan: &dyn ExecutionPlan) -> Option<Self> {
        let properties = plan.properties();
        let moves = !matches!(
            properties.output_partitioning(),
            Partitioning::UnknownPartitioning(_) | Partitioning::RoundRobinBatch(_)
        );
        if moves || properties.output_ordering().is_some() {
            return None;
        }
        let input = Input::of(plan)?;
        let columns: Vec<_> = input
            .columns
            .iter()
            .map(|column| Arc::clone(&column.expr))
            .collect();
        let is_bare = input.filters.is_empty() && matches!(input.source, Source::Memory(_));
        if is_bare || columns.is_empty() || !columns.iter().all(|column| column.is::<Column>()) {
            return None;
        }
        let selection = Self {
            source: input.source,
            filters: input.filters,
            hints: input.hints,
            columns,
        };
        let like_it = MemoryTable::try_new("", selection.source.schema(), []).ok()?;
        selection.select(Arc::new(like_it))?;
        Some(selection)
    }

    /// The query that gives the columns. `None` if `table` has them not, or a filter could fail in
    /// the middle of the rows.
    pub(super) fn select(&self, table: Arc<dyn TableSource>) -> Option<SelectPlan> {
        let (known, read) = (self.source.schema(), table.schema());
        let columns = Columns::new(&known, &read);
        let filter = columns.all(&self.filters)?;
        if filter.as_ref().is_some_and(Expr::can_fail) {
            return None;
        }
        let outputs = self.columns.iter().map(|column| {
            let column = columns.expr(column)?;
            Some((String::new(), column))
        });
        let output = Output::Rows {
            columns: outputs.collect::<Option<_>>()?,
        };
        Some(SelectPlan {
            filter,
            ..SelectPlan::new(table, output)
        })
    }

    /// By what joins and sorts know by now: rows for which it is not true are not needed. A part that
    /// the stages cannot compute is left out.
    fn needed(&self, table: &dyn TableSource) -> Result<Option<Expr>> {
        let (known, read) = (self.source.schema(), table.schema());
        let columns = Columns::new(&known, &read);
        let mut conditions = Vec::new();
        for hint in &self.hints {
            let hint = snapshot_physical_expr(Arc::clone(hint))?;
            let parts = split_conjunction(&hint);
            let parts = parts.into_iter().filter_map(|part| columns.expr(part));
            conditions.extend(parts.filter(|part| !part.can_fail()));
        }
        Ok(match conditions.is_empty() {
            true => None,
            // A condition of another type is none.
            false => Expr::all(conditions).ok(),
        })
    }
}

/// What joins and sorts above know by now of the rows that they need.
#[derive(Debug, Default)]
pub(super) struct Needed {
    generation: Option<u64>,
    condition: Option<Expr>,
}

impl Needed {
    /// Rows for which this is not true are not needed.
    pub(super) fn by_now(&mut self, selection: &Selection, table: &dyn TableSource) -> Result<Option<&Expr>> {
        let generation = selection.hints.iter().map(snapshot_generation);
        let generation = generation.fold(0, u64::wrapping_add);
        if self.generation != Some(generation) {
            self.generation = Some(generation);
            self.condition = selection.needed(table)?;
        }
        Ok(self.condition.as_ref())
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "scan=[{}], filter=[{}], columns=[{}]",
            self.source,
            texts(&self.filters),
            texts(&self.columns),
        )?;
        match self.hints.is_empty() {
            true => Ok(()),
            false => write!(f, ", hints=[{}]", texts(&self.hints)),
        }
    }
}
