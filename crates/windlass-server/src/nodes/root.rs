//! The top of a plan that came from another node: what may not be in it is refused, and a panic
//! below it is an error.
//!
//! The service of a worker does not see a panic in a task that it spawned: the task's rows would
//! seem to end. The node keeps the plan's shape, since a worker's measures are counted by place.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{exec_err, internal_datafusion_err};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_distributed::{WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse};
use futures_util::StreamExt;
use pipeline_exec::panic_text;
use windlass_datafusion::{InPlace, InPlaceExec, with_pauses};

use crate::tables::store_url;

/// Checks a plan that came, and puts the node on it.
pub(crate) fn receive(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    event.plan.apply(|plan| {
        if plan.is::<DataSinkExec>() {
            return exec_err!("a worker only reads");
        }
        if let Some(scan) = plan.downcast_ref::<DataSourceExec>()
            && let Some(files) = scan.data_source().downcast_ref::<FileScanConfig>()
            && files.object_store_url != ObjectStoreUrl::local_filesystem()
            && files.object_store_url != store_url()?
        {
            return exec_err!("a worker reads its own tables, not {}", files.object_store_url);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let received = InPlaceExec::new(Received(with_pauses(event.plan)?));
    Ok(WorkerPlanRewriteEventResponse::new(Arc::new(received)))
}

/// A panic of the plan's rows is an error.
struct Received(Arc<dyn ExecutionPlan>);

impl InPlace for Received {
    fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.0
    }

    fn over(&self, plan: Arc<dyn ExecutionPlan>) -> Self {
        Self(plan)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.0.execute(partition, context).map(panics_as_errors)
    }
}

fn panics_as_errors(rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let rows = AssertUnwindSafe(rows)
        .catch_unwind()
        .map(|item| item.unwrap_or_else(|panic| Err(error_of(panic.as_ref()))));
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

fn error_of(panic: &(dyn Any + Send)) -> datafusion::error::DataFusionError {
    internal_datafusion_err!("a panic: {}", panic_text(panic).unwrap_or("without a text"))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::Schema;
    use datafusion::datasource::physical_plan::{FileScanConfigBuilder, ParquetSource};
    use datafusion::prelude::SessionConfig;
    use futures_util::{FutureExt, stream};

    use super::*;

    #[test]
    fn a_panic_below_is_an_error_and_not_the_end_of_the_rows() {
        let schema = Arc::new(Schema::empty());
        let rows = stream::poll_fn(|_| panic!("a shelf fell down"));
        let mut rows = panics_as_errors(Box::pin(RecordBatchStreamAdapter::new(schema, rows)));
        let error = rows.next().now_or_never().unwrap().unwrap().unwrap_err();
        assert!(error.to_string().contains("a shelf fell down"), "{error}");
    }

    #[test]
    fn a_plan_over_another_store_is_refused() {
        let received = |url: &str| {
            let url = ObjectStoreUrl::parse(url).unwrap();
            let source = Arc::new(ParquetSource::new(Arc::new(Schema::empty())));
            let plan = DataSourceExec::from_data_source(FileScanConfigBuilder::new(url, source).build());
            let session_config = &SessionConfig::new();
            receive(WorkerPlanRewriteEvent { plan, session_config }).map(|_| ())
        };
        received("file://").unwrap();
        received("url://tables").unwrap();
        assert!(received("url://other").is_err());
        assert!(received("https://host").is_err());
        let error = received("s3://bucket").unwrap_err().to_string();
        assert!(error.contains("not s3://bucket"), "{error}");
    }
}
