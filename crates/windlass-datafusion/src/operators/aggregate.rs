//! The node in the place of an aggregate.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use columnar::MemoryPool;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, assert_eq_or_internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
};
use futures_util::{Stream, StreamExt as _, stream};
use query::{CancellationToken, QueryPlan, Session, Work};

use super::grouping::Grouping;
use super::memory::FromSession;
use super::outside::outside;
use super::replaced::Replaced;
use crate::plan::WindlassOptions;
use crate::windlass::Windlass;

/// Gives each group of an aggregate once, in one partition, by a job of windlass's stages over the
/// aggregate's source. Its child is the aggregate as DataFusion computes it, which runs instead if
/// the job cannot end.
#[derive(Debug)]
pub struct WindlassAggregateExec {
    grouping: Arc<Grouping>,
    gives: Gives,
    replaced: Replaced,
    windlass: Windlass,
    properties: Arc<PlanProperties>,
}

/// What stands beside the keys of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    /// The states of a partial aggregate.
    States,
    Values,
}

impl WindlassAggregateExec {
    pub(super) fn new(
        grouping: Arc<Grouping>,
        gives: Gives,
        aggregate: Arc<dyn ExecutionPlan>,
        windlass: &Windlass,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(aggregate.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            grouping,
            gives,
            replaced: Replaced::new(aggregate),
            windlass: windlass.clone(),
            properties: Arc::new(properties),
        }
    }
}

impl ExecutionPlan for WindlassAggregateExec {
    fn name(&self) -> &'static str {
        "WindlassAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.replaced.plan()]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        assert_eq_or_internal_err!(children.len(), 1, "WindlassAggregateExec has one child");
        let aggregate = children.swap_remove(0);
        Ok(Arc::new(Self::new(
            Arc::clone(&self.grouping),
            self.gives,
            aggregate,
            &self.windlass,
        )))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        assert_eq_or_internal_err!(partition, 0, "WindlassAggregateExec has one partition");
        let run = Arc::new(Run {
            grouping: Arc::clone(&self.grouping),
            gives: self.gives,
            schema: self.schema(),
            windlass: self.windlass.clone(),
            context,
        });
        let context = Arc::clone(&run.context);
        let groups = async move {
            let job = Arc::clone(&run);
            let groups = outside(async move { job.groups().await }).await?;
            Ok(run.rows(groups).boxed())
        };
        let aggregate = Arc::clone(self.replaced.plan());
        let otherwise = Arc::new(CoalescePartitionsExec::new(aggregate));
        Ok(self.replaced.stream(partition, context, groups, otherwise))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.replaced.metrics())
    }
}

/// One execution; dropping its future cancels the job.
struct Run {
    grouping: Arc<Grouping>,
    gives: Gives,
    schema: SchemaRef,
    windlass: Windlass,
    context: Arc<TaskContext>,
}

/// Groups, and their bytes in the session's memory.
struct Groups {
    batches: Vec<RecordBatch>,
    reservation: MemoryReservation,
}

impl Run {
    /// An error says why the job did not end.
    async fn groups(&self) -> Result<Groups, String> {
        let table = self.grouping.source.open(&self.windlass, &self.context).await?;
        let plan = self.grouping.select(table).ok_or("the table has other columns")?;
        let quota = MemoryPool::within("aggregate", Box::new(FromSession::new(self.reservation())));
        let plan = QueryPlan::from(plan).with_quota(Arc::new(quota)).in_any_order();
        let query = Session::new(self.work()).query(plan);
        let report = query.run_async(CancellationToken::new()).await;
        let groups = report.map_err(|error| error.to_string())?.rows;
        let reservation = self.reservation();
        let bytes = groups
            .batches
            .iter()
            .map(RecordBatch::get_array_memory_size)
            .sum();
        reservation.try_grow(bytes).map_err(|error| error.to_string())?;
        Ok(Groups {
            batches: groups.batches,
            reservation,
        })
    }

    fn work(&self) -> Work {
        let options = WindlassOptions::of(self.context.session_config().options());
        let work = Work::new(self.windlass.pools()).class(options.class);
        match options.max_workers {
            Some(workers) => work.max_workers(workers),
            None => work,
        }
    }

    fn reservation(&self) -> MemoryReservation {
        MemoryConsumer::new("WindlassAggregateExec").register(self.context.memory_pool())
    }

    /// The groups in batches of the session's length.
    fn rows(&self, groups: Groups) -> impl Stream<Item = Result<RecordBatch>> + use<> {
        let Groups { batches, reservation } = groups;
        let batch_rows = self.context.session_config().batch_size().max(1);
        let (grouping, gives) = (Arc::clone(&self.grouping), self.gives);
        let schema = Arc::clone(&self.schema);
        let parts = batches.into_iter().flat_map(move |groups| {
            let starts = (0..groups.num_rows()).step_by(batch_rows);
            starts.map(move |start| groups.slice(start, batch_rows.min(groups.num_rows() - start)))
        });
        let rows = parts.map(move |groups| {
            let _held = &reservation;
            let columns = match gives {
                Gives::States => grouping.states(&groups)?,
                Gives::Values => grouping.values(&groups)?,
            };
            Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
        });
        stream::iter(rows)
    }
}

impl DisplayAs for WindlassAggregateExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(format, DisplayFormatType::TreeRender) {
            return write!(f, "{}", self.grouping);
        }
        let gives = match self.gives {
            Gives::States => "states",
            Gives::Values => "values",
        };
        write!(f, "WindlassAggregateExec: gives={gives}, {}", self.grouping)?;
        self.replaced.write_why(f)
    }
}
