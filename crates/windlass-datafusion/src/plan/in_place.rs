//! A node in the place of another one: the plan keeps its shape.
//!
//! ```text
//!   writer                       writer
//!     └─ aggregate      ──►        └─ InPlaceExec ╌╌ stands for the aggregate: its name, its measures
//!          └─ scan                      └─ scan
//! ```
//!
//! Engines that compute over several machines count measures by a node's place in the plan, and
//! look for operators node by node. They would miscount with one node more, or find one twice.

use std::fmt;
use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion_physical_plan::metrics::MetricsSet;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties};

use super::root::WindlassExec;

/// Executes a plan in the place of the plan's root: see [`InPlaceExec`].
pub trait InPlace: Sized + Send + Sync + 'static {
    /// The plan.
    fn plan(&self) -> &Arc<dyn ExecutionPlan>;

    /// The same over a plan with other children.
    #[must_use]
    fn over(&self, plan: Arc<dyn ExecutionPlan>) -> Self;

    /// Returns the rows of a partition.
    ///
    /// # Errors
    ///
    /// As [`ExecutionPlan::execute`].
    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream>;
}

/// A node that looks like a plan's root and executes the plan as `E` does.
///
/// Its children are the children of that root, so walks over the plan meet each operator once.
pub struct InPlaceExec<E>(E);

impl<E> InPlaceExec<E> {
    /// Puts a node in the place of the root of `executes`' plan.
    pub fn new(executes: E) -> Self {
        Self(executes)
    }
}

impl<E: InPlace> ExecutionPlan for InPlaceExec<E> {
    fn name(&self) -> &str {
        self.0.plan().name()
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.0.plan().as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.plan().properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.0.plan().children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.0.plan().apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = Arc::clone(self.0.plan()).replace_children(children, options)?;
        Ok(Arc::new(Self(self.0.over(plan))))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = Arc::clone(self.0.plan()).reset_state()?;
        Ok(Arc::new(Self(self.0.over(plan))))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.0.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.0.plan().metrics()
    }
}

impl<E: InPlace> DisplayAs for InPlaceExec<E> {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.plan().fmt_as(format, f)
    }
}

impl<E: InPlace> fmt::Debug for InPlaceExec<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.plan().fmt(f)
    }
}

/// Each execution is a job. [`WindlassExec::stop`] of a clone ends them all.
impl InPlace for Arc<WindlassExec> {
    fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        self.input()
    }

    fn over(&self, plan: Arc<dyn ExecutionPlan>) -> Self {
        Arc::new(WindlassExec::over(self, plan))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        ExecutionPlan::execute(self.as_ref(), partition, context)
    }
}
