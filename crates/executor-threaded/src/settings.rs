//! The settings of an executor's threads that do not depend on the types of its tasks.

use std::fmt;
use std::sync::Arc;

use executor_core::ExecutorConfig;

/// Called with a worker's number on the worker's thread.
pub(crate) type WorkerHook = Arc<dyn Fn(usize) + Send + Sync>;

pub(crate) struct Settings {
    pub(crate) config: ExecutorConfig,
    pub(crate) thread_name: String,
    pub(crate) stack_size: Option<usize>,
    /// The cores of the workers, if they are restricted.
    pub(crate) cpus: Option<Vec<usize>>,
    pub(crate) on_start: Option<WorkerHook>,
    pub(crate) on_stop: Option<WorkerHook>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            config: ExecutorConfig::default(),
            thread_name: "windlass".to_owned(),
            stack_size: None,
            cpus: None,
            on_start: None,
            on_stop: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("config", &self.config)
            .field("thread_name", &self.thread_name)
            .field("stack_size", &self.stack_size)
            .field("cpus", &self.cpus)
            .finish_non_exhaustive()
    }
}
