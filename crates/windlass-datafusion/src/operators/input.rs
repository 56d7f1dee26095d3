//! What is below an aggregate: a source, and filters and projections of its columns.

use std::sync::Arc;

use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::{ProjectionExpr, update_expr};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

use super::source::{Scan, Source};

/// The input of an aggregate. All expressions read the columns of the source.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) source: Source,
    /// Rows for which one of them is not true are dropped.
    pub(super) filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Rows for which one of them is not true may be dropped.
    pub(super) hints: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns of the input.
    pub(super) columns: Vec<ProjectionExpr>,
}

impl Input {
    /// `None` if there is another operator, or a source that the stages do not read.
    pub(super) fn of(plan: &dyn ExecutionPlan) -> Option<Self> {
        if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
            let scan = Scan::of(scan)?;
            return Some(Self {
                source: scan.source,
                filters: scan.filters,
                hints: scan.hints,
                columns: scan.columns,
            });
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            return Self::of(filter.input().as_ref())?.filtered(filter);
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let mut input = Self::of(projection.input().as_ref())?;
            let columns = projection.expr().iter().map(|column| {
                let expr = input.of_source(&column.expr)?;
                Some(ProjectionExpr::new(expr, column.alias.clone()))
            });
            input.columns = columns.collect::<Option<_>>()?;
            return Some(input);
        }
        // An aggregate takes the rows of all partitions, in any order.
        let only_moves = plan.is::<CooperativeExec>()
            || plan.is::<CoalescePartitionsExec>()
            || plan
                .downcast_ref::<RepartitionExec>()
                .is_some_and(|moves| matches!(moves.partitioning(), Partitioning::RoundRobinBatch(_)));
        match plan.children()[..] {
            [child] if only_moves && plan.fetch().is_none() => Self::of(child.as_ref()),
            _ => None,
        }
    }

    fn filtered(mut self, filter: &FilterExec) -> Option<Self> {
        if filter.fetch().is_some() {
            return None;
        }
        for condition in split_conjunction(filter.predicate()) {
            let condition = self.of_source(condition)?;
            self.filters.push(condition);
        }
        if let Some(kept) = filter.projection() {
            let columns = kept.iter().map(|&column| self.columns.get(column).cloned());
            self.columns = columns.collect::<Option<_>>()?;
        }
        Some(self)
    }

    /// `expr` over the input's columns, as one over the source's.
    pub(super) fn of_source(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        update_expr(expr, &self.columns, true).ok()?
    }
}
