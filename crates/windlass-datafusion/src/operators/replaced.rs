//! The plan in whose place a node of ours stands.

use std::fmt;
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt as _, stream};
use pipeline_exec::lock;

/// It runs instead if the stages cannot, which the metric `of_child` counts.
#[derive(Debug)]
pub(super) struct Replaced {
    plan: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
    /// Why it ran, for people.
    why: Arc<Mutex<Option<String>>>,
}

impl Replaced {
    pub(super) fn new(plan: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            plan,
            metrics: ExecutionPlanMetricsSet::new(),
            why: Arc::default(),
        }
    }

    pub(super) fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    pub(super) fn metrics(&self) -> MetricsSet {
        self.metrics.clone_inner()
    }

    /// The rows of a partition by the stages. If there is an error instead, `otherwise` runs.
    pub(super) fn stream(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
        rows: impl Future<Output = Result<BoxStream<'static, Result<RecordBatch>>, String>> + Send + 'static,
        otherwise: Arc<dyn ExecutionPlan>,
    ) -> SendableRecordBatchStream {
        let why_it_ran = Arc::clone(&self.why);
        let of_child = MetricBuilder::new(&self.metrics).counter("of_child", partition);
        let output_rows = MetricBuilder::new(&self.metrics).output_rows(partition);
        let rows = async move {
            match rows.await {
                Ok(rows) => Ok(rows),
                Err(why) => {
                    of_child.add(1);
                    *lock(&why_it_ran) = Some(why);
                    otherwise.execute(partition, context).map(StreamExt::boxed)
                }
            }
        };
        let rows = stream::once(rows).try_flatten();
        let rows = rows.inspect_ok(move |batch| output_rows.add(batch.num_rows()));
        make_cooperative(Box::pin(RecordBatchStreamAdapter::new(self.plan.schema(), rows)))
    }

    /// The end of the node's line in a plan.
    pub(super) fn write_why(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*lock(&self.why) {
            Some(why) => write!(f, ", its child ran: {why}"),
            None => Ok(()),
        }
    }
}
