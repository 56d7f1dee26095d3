//! The wrapper of a session's planner: each plan gets a [`WindlassExec`].

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion_common::Result;
use datafusion_expr::LogicalPlan;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::analyze::AnalyzeExec;
use datafusion_physical_plan::explain::ExplainExec;
use datafusion_session::{QueryPlanner, Session};

use super::pausing::with_pauses;
use super::root::WindlassExec;
use crate::windlass::Windlass;

/// Plans as another planner does, and makes a plan's executions jobs.
#[derive(Debug)]
pub struct WindlassPlanner {
    planner: Arc<dyn QueryPlanner + Send + Sync>,
    windlass: Windlass,
}

impl WindlassPlanner {
    /// Wraps `planner`, which may distribute plans to other machines.
    pub fn new(planner: Arc<dyn QueryPlanner + Send + Sync>, windlass: &Windlass) -> Self {
        Self {
            planner,
            windlass: windlass.clone(),
        }
    }
}

#[async_trait]
impl QueryPlanner for WindlassPlanner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.planner.create_physical_plan(logical_plan, session).await?;
        wrap(with_pauses(plan)?, &self.windlass)
    }
}

fn wrap(plan: Arc<dyn ExecutionPlan>, windlass: &Windlass) -> Result<Arc<dyn ExecutionPlan>> {
    let is_wrapped = (plan.as_ref() as &dyn Any).is::<WindlassExec>();
    if is_wrapped || plan.is::<ExplainExec>() {
        return Ok(plan);
    }
    // It shows the metrics of the plan below, so the node goes below it.
    if plan.is::<AnalyzeExec>() {
        let below = plan.children().into_iter().cloned();
        let below = below.map(|child| wrap(child, windlass)).collect::<Result<_>>()?;
        return datafusion_physical_plan::execution_plan::replace_children_if_necessary(plan, below);
    }
    Ok(Arc::new(WindlassExec::new(plan, windlass)))
}
