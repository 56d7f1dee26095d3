//! Ballista's stages as jobs: an [`ExecutionEngine`] for Ballista's executors.
//!
//! ```text
//!   scheduler ──► executor: a task is a part of a stage
//!                   └─► WindlassEngine
//!                         writer of the shuffle         on Ballista's threads
//!                           └─ InPlaceExec ─► a job     on the CPU pool's workers
//!                                └─ the stage's plan
//! ```
//!
//! The node stands in the place of the operator below the writer, because Ballista counts measures
//! by place and looks for operators node by node. The job has the task's partitions, and the
//! session's settings, if client, scheduler and executor make sessions with
//! [`WindlassOptions`](windlass_datafusion::WindlassOptions) among their extensions.
//!
//! Ballista polls a writer's partitions in tasks of their own, which go on after a task of the
//! executor was cancelled. [`WindlassEngine`] ends the job then, so they end with an error.
//!
//! A stage whose writer is above a reader of shuffled rows alone has no node: it computes nothing.
#![forbid(unsafe_code)]

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::client_pool::BallistaClientPool;
use ballista_core::serde::protobuf::{
    RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport,
};
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use datafusion::common::assert_eq_or_internal_err;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use windlass_datafusion::{InPlaceExec, Windlass, WindlassExec, with_pauses};

/// Computes stages as Ballista's own engine does, each task as a job of the CPU pool.
///
/// ```no_run
/// use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
/// use std::sync::Arc;
/// use windlass_ballista::WindlassEngine;
/// use windlass_datafusion::{Windlass, pools::Pools};
///
/// let windlass = Windlass::install(Pools::global().clone())?;
/// let config = ExecutorProcessConfig {
///     override_execution_engine: Some(Arc::new(WindlassEngine::new(&windlass))),
///     ..ExecutorProcessConfig::default()
/// };
/// let serve = start_executor_process(Arc::new(config));
/// windlass.pools().mixed().block_on(serve)??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WindlassEngine {
    windlass: Windlass,
    engine: DefaultExecutionEngine,
}

impl WindlassEngine {
    /// An engine that opens a connection for each read from another executor.
    #[must_use]
    pub fn new(windlass: &Windlass) -> Self {
        Self {
            windlass: windlass.clone(),
            engine: DefaultExecutionEngine::new(),
        }
    }

    /// An engine that takes connections to other executors from `clients`.
    #[must_use]
    pub fn with_client_pool(windlass: &Windlass, clients: Arc<dyn BallistaClientPool>) -> Self {
        Self {
            windlass: windlass.clone(),
            engine: DefaultExecutionEngine::with_client_pool(clients),
        }
    }
}

impl ExecutionEngine for WindlassEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let children = plan.children();
        assert_eq_or_internal_err!(children.len(), 1, "a writer of a shuffle has one input");
        let root = with_pauses(Arc::clone(children[0]))?;
        let root = Arc::new(WindlassExec::new(root, &self.windlass));
        let below = Arc::new(InPlaceExec::new(Arc::clone(&root)));
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        let plan = plan.replace_children(vec![below], options)?;
        let stage = self.engine.create_query_stage_exec(
            job_id,
            stage_id,
            task_id,
            global_output_partition_ids,
            plan,
            work_dir,
            config,
        )?;
        Ok(Arc::new(StageAsJob { stage, root }))
    }
}

impl fmt::Debug for WindlassEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindlassEngine")
            .field("windlass", &self.windlass)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct StageAsJob {
    stage: Arc<dyn QueryStageExecutor>,
    root: Arc<WindlassExec>,
}

/// Ends the job when the future that waits for the stage is dropped.
struct StopOnDrop<'a>(&'a WindlassExec);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[async_trait]
impl QueryStageExecutor for StageAsJob {
    async fn execute_query_stage(
        &self,
        task_id: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        let _stop = StopOnDrop(&self.root);
        self.stage.execute_query_stage(task_id, context).await
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.stage.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.stage.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.stage.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.stage.collect_column_stats()
    }
}

impl fmt::Display for StageAsJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stage.fmt(f)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
