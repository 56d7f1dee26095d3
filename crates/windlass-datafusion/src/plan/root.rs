//! The node on the root of a plan.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result, assert_eq_or_internal_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::coop::make_cooperative;
use datafusion_physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, EvaluationType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion_physical_plan::metrics::MetricsSet;
use datafusion_physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties, Statistics,
};
use pipeline_exec::lock;
use pools::AsyncJob;

use super::longest::LongestPoll;
use super::measures::{Measures, Used};
use super::query::Query;
use super::stream;
use crate::windlass::Windlass;

/// Passes on its input's rows. Each execution is a job with the session's
/// [`WindlassOptions`](crate::WindlassOptions); inside a job the plan stays in that job. The node
/// is transparent: `is` and `downcast_ref` see its input.
#[derive(Debug)]
pub struct WindlassExec {
    input: Arc<dyn ExecutionPlan>,
    windlass: Windlass,
    properties: Arc<PlanProperties>,
    last: Mutex<Last>,
    executions: Arc<Mutex<Executions>>,
    measures: Arc<Measures>,
}

/// The executions of a node, and of those that replaced it in its plan.
#[derive(Debug, Default)]
struct Executions {
    are_stopped: bool,
    open: Vec<Weak<Query>>,
}

#[derive(Debug, Default)]
struct Last {
    query: Weak<Query>,
    begun: BTreeSet<usize>,
    /// What the job around the plan had used when it began.
    before: Option<Used>,
}

impl WindlassExec {
    /// Puts a node above `input`.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>, windlass: &Windlass) -> Self {
        Self::among(Arc::default(), input, windlass)
    }

    fn among(executions: Arc<Mutex<Executions>>, input: Arc<dyn ExecutionPlan>, windlass: &Windlass) -> Self {
        let properties = PlanProperties::clone(input.properties())
            // The job reads ahead, and the consumer yields between rows.
            .with_evaluation_type(EvaluationType::Eager)
            .with_scheduling_type(SchedulingType::Cooperative);
        Self {
            input,
            windlass: windlass.clone(),
            properties: Arc::new(properties),
            last: Mutex::default(),
            executions,
            measures: Arc::default(),
        }
    }

    /// The same over another plan.
    pub(super) fn over(&self, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::among(Arc::clone(&self.executions), input, &self.windlass)
    }

    /// Returns the plan below.
    #[must_use]
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// Ends the executions of this plan with [`QueryEnded::Cancelled`](crate::QueryEnded), those
    /// that begin later as well. Dropping all streams of an execution ends it, too; this is for
    /// engines that poll the streams in tasks of their own.
    ///
    /// Executions inside of another job end with that job alone. A node that has replaced this one
    /// in its plan, for other children, is stopped with it.
    pub fn stop(&self) {
        let open = {
            let mut executions = lock(&self.executions);
            executions.are_stopped = true;
            std::mem::take(&mut executions.open)
        };
        for query in open.iter().filter_map(Weak::upgrade) {
            query.job().cancel();
        }
    }

    /// The last one, if it has this context and has not begun this partition; else a new one.
    fn query(&self, partition: usize, context: Arc<TaskContext>) -> Arc<Query> {
        let mut last = self.last();
        if let Some(query) = last.query.upgrade()
            && query.is_of(&context)
            && last.begun.insert(partition)
        {
            return query;
        }
        let query = Arc::new(Query::open(
            &self.windlass,
            &self.input,
            context,
            Arc::clone(&self.measures),
        ));
        *last = Last {
            query: Arc::downgrade(&query),
            begun: BTreeSet::from([partition]),
            before: None,
        };
        drop(last);
        self.add(&query);
        query
    }

    fn add(&self, query: &Arc<Query>) {
        let mut executions = lock(&self.executions);
        if executions.are_stopped {
            drop(executions);
            query.job().cancel();
            return;
        }
        executions.open.retain(|query| query.strong_count() > 0);
        executions.open.push(Arc::downgrade(query));
    }

    /// The plan is a part of a job around it, which has used something already.
    fn begin_inside(&self, partition: usize, job: &AsyncJob) {
        let mut last = self.last();
        let is_new = !last.begun.insert(partition);
        if is_new || last.before.is_none() {
            *last = Last {
                query: Weak::new(),
                begun: BTreeSet::from([partition]),
                before: Some(Used::by(job, LongestPoll::default())),
            };
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        lock(&self.last)
    }
}

impl DisplayAs for WindlassExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => f.write_str("WindlassExec"),
            DisplayFormatType::TreeRender => Ok(()),
        }
    }
}

impl ExecutionPlan for WindlassExec {
    fn name(&self) -> &str {
        "WindlassExec"
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.input.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
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
        assert_eq_or_internal_err!(children.len(), 1, "WindlassExec has one input");
        Ok(Arc::new(self.over(children.swap_remove(0))))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if let Some(job) = AsyncJob::current() {
            self.begin_inside(partition, &job);
            return self.input.execute(partition, context);
        }
        let query = self.query(partition, context);
        let rows = query.execute(partition)?;
        Ok(make_cooperative(stream::from_job(query, rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let (running, before) = {
            let last = self.last();
            (last.query.upgrade(), last.before.clone())
        };
        let used = match (running, before, AsyncJob::current()) {
            (Some(query), ..) => Some(Used::by(query.job(), query.longest())),
            // EXPLAIN ANALYZE asks from inside the job around the plan.
            (None, Some(before), Some(job)) => Some(Used::by(&job, LongestPoll::default()).since(&before)),
            (None, ..) => None,
        };
        Some(self.measures.metrics(used))
    }

    fn statistics_from_inputs(
        &self,
        input_stats: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&input_stats[0]))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn fetch(&self) -> Option<usize> {
        self.input.fetch()
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
