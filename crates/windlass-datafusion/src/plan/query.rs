//! One execution of a plan, as a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion_common::Result;
use datafusion_execution::runtime_env::RuntimeEnv;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::ExecutionPlan;
use pools::{AsyncJob, AsyncTask};

use super::longest::{Longest, LongestPoll};
use super::measures::Measures;
use super::memory::QueryMemory;
use super::options::WindlassOptions;
use super::spilling::{is_one_batch_a_file, one_batch_a_file};
use crate::hook::watch::{self, Watch, Watched};
use crate::snapshot::Registration;
use crate::windlass::Windlass;

/// Its streams share it; the job ends with the last of them.
#[derive(Debug)]
pub(super) struct Query {
    job: AsyncJob,
    plan: Arc<dyn ExecutionPlan>,
    longest: Arc<Longest>,
    asked: Arc<TaskContext>,
    context: Arc<TaskContext>,
    measures: Arc<Measures>,
    was_dropped: AtomicBool,
    _open: Registration,
}

impl Query {
    pub(super) fn open(
        windlass: &Windlass,
        plan: &Arc<dyn ExecutionPlan>,
        asked: Arc<TaskContext>,
        measures: Arc<Measures>,
    ) -> Self {
        let options = WindlassOptions::of(asked.session_config().options());
        let name = match asked.task_id() {
            Some(task) => format!("query {task} of session {}", asked.session_id()),
            None => format!("query of session {}", asked.session_id()),
        };
        let (job, open) = windlass.open(options.job(name));
        let context = match options.memory {
            None if is_one_batch_a_file(&asked) => Arc::clone(&asked),
            limit => Arc::new(context(&asked, limit)),
        };
        Self {
            job,
            plan: Arc::clone(plan),
            longest: Arc::new(Longest::new(plan)),
            asked,
            context,
            measures,
            was_dropped: AtomicBool::new(false),
            _open: open,
        }
    }

    pub(super) fn job(&self) -> &AsyncJob {
        &self.job
    }

    /// An equal context is another one.
    pub(super) fn is_of(&self, context: &Arc<TaskContext>) -> bool {
        Arc::ptr_eq(&self.asked, context)
    }

    pub(super) fn longest(&self) -> LongestPoll {
        self.longest.poll()
    }

    pub(super) fn execute(&self, partition: usize) -> Result<SendableRecordBatchStream> {
        let context = Arc::clone(&self.context);
        let execute = || self.job.enter(|| self.plan.execute(partition, context));
        watch::inside(&self.watch(), execute)
    }

    /// The last stream's drop then cancels the job.
    pub(super) fn drop_early(&self) {
        // Ordering: Relaxed. See `drop`.
        self.was_dropped.store(true, Ordering::Relaxed);
    }

    pub(super) fn spawn<F>(&self, future: F) -> AsyncTask<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.job.spawn(Watched::new(Box::pin(future), self.watch()))
    }

    fn watch(&self) -> Arc<dyn Watch> {
        Arc::clone(&self.longest) as Arc<dyn Watch>
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        // Ordering: Relaxed. The last stream's drop comes after all others.
        if self.was_dropped.load(Ordering::Relaxed) {
            self.job.cancel();
        }
        self.measures.add(&self.job, self.longest.poll());
    }
}

/// A query's own, with its limit of memory.
fn context(asked: &TaskContext, limit: Option<usize>) -> TaskContext {
    let mut runtime = asked.runtime_env();
    if let Some(limit) = limit {
        let memory = QueryMemory::new(limit, Arc::clone(&runtime.memory_pool));
        runtime = Arc::new(RuntimeEnv {
            memory_pool: Arc::new(memory),
            ..RuntimeEnv::clone(&runtime)
        });
    }
    let mut config = asked.session_config().clone();
    // Changing one option copies all.
    if !is_one_batch_a_file(asked) {
        one_batch_a_file(config.options_mut());
    }
    TaskContext::new(
        asked.task_id(),
        asked.session_id(),
        config,
        asked.scalar_functions().clone(),
        asked.higher_order_functions().clone(),
        asked.aggregate_functions().clone(),
        asked.window_functions().clone(),
        runtime,
    )
}
