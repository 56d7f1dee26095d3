//! The rule that finds what the stages compute.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

use super::aggregate::{Gives, WindlassAggregateExec};
use super::grouping::{Grouping, is_plain};
use super::scan::WindlassScanExec;
use super::selection::Selection;
use crate::plan::WindlassOptions;
use crate::windlass::Windlass;

/// Does nothing unless the session has `windlass.operators = true`.
#[derive(Debug)]
pub(crate) struct OperatorsRule {
    windlass: Windlass,
}

impl OperatorsRule {
    pub(crate) fn new(windlass: &Windlass) -> Self {
        Self {
            windlass: windlass.clone(),
        }
    }

    fn replaced(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else {
            return Ok(self.rows(plan));
        };
        match aggregate.mode() {
            AggregateMode::Partial => Ok(self.node(aggregate, Gives::States, plan)),
            AggregateMode::Single => Ok(self.node(aggregate, Gives::Values, plan)),
            AggregateMode::Final => Ok(self.both_halves(aggregate, plan)),
            AggregateMode::FinalPartitioned => self.partitioned(aggregate, plan),
            _ => Ok(None),
        }
    }

    /// Filters and projections of columns over a table.
    fn rows(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
        let is_of_rows =
            plan.is::<FilterExec>() || plan.is::<ProjectionExec>() || plan.is::<DataSourceExec>();
        let selection = is_of_rows.then(|| Selection::of(plan.as_ref())).flatten()?;
        let node = WindlassScanExec::new(Arc::new(selection), Arc::clone(plan), &self.windlass);
        Some(Arc::new(node))
    }

    fn node(
        &self,
        over_rows: &AggregateExec,
        gives: Gives,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> Option<Arc<dyn ExecutionPlan>> {
        let grouping = Grouping::of(over_rows)?;
        let is_given = gives == Gives::States || grouping.has_values();
        is_given.then(|| {
            let node =
                WindlassAggregateExec::new(Arc::new(grouping), gives, Arc::clone(plan), &self.windlass);
            Arc::new(node) as Arc<dyn ExecutionPlan>
        })
    }

    /// A final aggregate over a partial one: the stages give each group once.
    fn both_halves(
        &self,
        last: &AggregateExec,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> Option<Arc<dyn ExecutionPlan>> {
        let mut below = last.input();
        while below.is::<RepartitionExec>() || below.is::<CoalescePartitionsExec>() {
            let ([child], None) = (&below.children()[..], below.fetch()) else {
                return None;
            };
            below = child;
        }
        let first = below.downcast_ref::<AggregateExec>()?;
        let are_halves = *first.mode() == AggregateMode::Partial && is_plain(last);
        are_halves
            .then(|| self.node(first, Gives::Values, plan))
            .flatten()
    }

    /// Operators above rely on partitions by the keys.
    fn partitioned(
        &self,
        last: &AggregateExec,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(values) = self.both_halves(last, plan) else {
            return Ok(None);
        };
        let schema = values.schema();
        let keys = schema.fields().iter().take(last.group_expr().expr().len());
        let keys = keys
            .enumerate()
            .map(|(place, field)| Arc::new(Column::new(field.name(), place)) as _);
        let partitions = plan.properties().output_partitioning().partition_count();
        let partitioning = Partitioning::Hash(keys.collect(), partitions);
        Ok(Some(Arc::new(RepartitionExec::try_new(values, partitioning)?)))
    }
}

impl PhysicalOptimizerRule for OperatorsRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !WindlassOptions::of(config).operators {
            return Ok(plan);
        }
        let changed = plan.transform_down(|node| {
            Ok(match self.replaced(&node)? {
                Some(stages) => Transformed::new(stages, true, TreeNodeRecursion::Jump),
                None => Transformed::no(node),
            })
        });
        Ok(changed?.data)
    }

    fn name(&self) -> &'static str {
        "windlass_operators"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
