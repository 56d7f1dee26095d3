//! Operators that make many batches of one: they pause for want of budget, as a scan does.
//!
//! DataFusion's operators yield where they read: a scan takes a unit of tokio's cooperative budget
//! for a batch, and an aggregate above it pauses with the scan. A join may make a million batches
//! of two, and reads nothing meanwhile. An aggregate above it would keep its worker until it has
//! seen them all, and no cancel would end it. So a batch of such an operator takes a unit as well.

use std::any::Any;
use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode as _};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec, SymmetricHashJoinExec,
};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::unnest::UnnestExec;
use futures_util::{StreamExt, stream};
use pools::with_budget;

use super::in_place::{InPlace, InPlaceExec};

/// Makes the joins of a plan pause. The plan keeps its shape and its measures.
///
/// [`WindlassPlanner`](crate::WindlassPlanner) does so; this is for plans that come from elsewhere.
///
/// # Errors
///
/// If an operator does not take the children that it has.
pub fn with_pauses(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let changed = plan.transform_up(|node| {
        Ok(if makes_many_of_one(node.as_ref()) && !pauses(node.as_ref()) {
            Transformed::yes(Arc::new(InPlaceExec::new(Pausing(node))) as Arc<dyn ExecutionPlan>)
        } else {
            Transformed::no(node)
        })
    });
    Ok(changed?.data)
}

fn makes_many_of_one(node: &dyn ExecutionPlan) -> bool {
    node.is::<NestedLoopJoinExec>()
        || node.is::<CrossJoinExec>()
        || node.is::<HashJoinExec>()
        || node.is::<SortMergeJoinExec>()
        || node.is::<SymmetricHashJoinExec>()
        || node.is::<UnnestExec>()
}

fn pauses(node: &dyn ExecutionPlan) -> bool {
    (node as &dyn Any).is::<InPlaceExec<Pausing>>()
}

struct Pausing(Arc<dyn ExecutionPlan>);

impl InPlace for Pausing {
    fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.0
    }

    fn over(&self, plan: Arc<dyn ExecutionPlan>) -> Self {
        Self(plan)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut rows = self.0.execute(partition, context)?;
        let schema = rows.schema();
        let pausing = stream::poll_fn(move |cx| with_budget(cx, |cx| rows.poll_next_unpin(cx)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, pausing)))
    }
}
