//! Plans over workers what reads files alone. All else stays in this process: tables in memory,
//! `windlass.queries`, `pg_catalog`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner as _};
use datafusion_distributed::{DistributedExec, DistributedLeafExec};

#[derive(Debug)]
pub(crate) struct FilesOverWorkers {
    over_workers: Arc<dyn QueryPlanner + Send + Sync>,
}

impl FilesOverWorkers {
    pub(crate) fn new(over_workers: Arc<dyn QueryPlanner + Send + Sync>) -> Self {
        Self { over_workers }
    }
}

#[async_trait]
impl QueryPlanner for FilesOverWorkers {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planned = self
            .over_workers
            .create_physical_plan(logical_plan, session)
            .await?;
        if !is_distributed(&planned)? || reads_only_files(&planned)? {
            return Ok(planned);
        }
        let planner = DefaultPhysicalPlanner::default();
        planner.create_physical_plan(logical_plan, session).await
    }
}

fn is_distributed(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|plan| Ok(plan.is::<DistributedExec>()))
}

fn reads_only_files(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut only_files = true;
    plan.apply(|plan| {
        if plan.is::<DistributedLeafExec>() {
            // Its variants are parts of one scan.
            return Ok(TreeNodeRecursion::Jump);
        }
        if plan.children().is_empty() && !is_of_files(plan) {
            only_files = false;
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(only_files)
}

fn is_of_files(leaf: &Arc<dyn ExecutionPlan>) -> bool {
    let scan = leaf.downcast_ref::<DataSourceExec>();
    leaf.is::<EmptyExec>()
        || leaf.is::<PlaceholderRowExec>()
        || scan.is_some_and(|scan| scan.data_source().downcast_ref::<FileScanConfig>().is_some())
}
