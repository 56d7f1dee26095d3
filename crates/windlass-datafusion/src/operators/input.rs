//! A source, and filters and projections of its columns.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::catalog::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource as _, ParquetSource};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs, update_expr};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

use super::batches::Batches;
use super::source::Source;

/// What an aggregate or another operator reads. All expressions read the columns of the source.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) source: Source,
    /// Rows for which one of them is not true are dropped.
    pub(super) filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Filters that joins and sorts fill while they run: rows for which one of them is not true may be
    /// dropped.
    pub(super) hints: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns of the input.
    pub(super) columns: Vec<ProjectionExpr>,
}

impl Input {
    /// `None` if there is another operator, or a source that the stages do not read.
    pub(super) fn of(plan: &dyn ExecutionPlan) -> Option<Self> {
        if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
            return match scan.downcast_to_file_source::<ParquetSource>() {
                Some((files, parquet)) => Self::of_files(files, parquet),
                None => Self::of_memory(scan),
            };
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

    fn of_files(scan: &FileScanConfig, parquet: &ParquetSource) -> Option<Self> {
        let columns = match scan.file_source.projection() {
            Some(columns) => columns.clone(),
            None => all_columns(scan.file_source.table_schema().table_schema()),
        };
        let predicate = parquet.filter();
        let conditions = predicate.iter().flat_map(split_conjunction).cloned();
        let (hints, mut filters): (Vec<_>, Vec<_>) =
            conditions.partition(|condition| condition.is::<DynamicFilterPhysicalExpr>());
        if !parquet.table_parquet_options().global.pushdown_filters {
            // They only prune, and the plan filters above.
            filters.clear();
        }
        Some(Self {
            source: Source::of_files(scan)?,
            filters,
            hints,
            columns: columns.iter().cloned().collect(),
        })
    }

    fn of_memory(scan: &DataSourceExec) -> Option<Self> {
        let memory = scan.data_source().downcast_ref::<MemorySourceConfig>()?;
        if scan.fetch().is_some() {
            return None;
        }
        let schema = memory.original_schema();
        let columns = match memory.projection() {
            Some(kept) => ProjectionExprs::from_indices(kept, &schema),
            None => all_columns(&schema),
        };
        let batches = Batches::of(Arc::clone(scan.data_source()))?;
        Some(Self {
            source: Source::Memory(Arc::new(batches)),
            filters: Vec::new(),
            hints: Vec::new(),
            columns: columns.iter().cloned().collect(),
        })
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

fn all_columns(schema: &Schema) -> ProjectionExprs {
    let all: Vec<usize> = (0..schema.fields().len()).collect();
    ProjectionExprs::from_indices(&all, schema)
}
