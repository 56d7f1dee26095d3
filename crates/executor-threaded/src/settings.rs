//! The settings of an executor's threads that do not depend on the types of its tasks.

use std::fmt;
use std::sync::Arc;

use executor_core::ExecutorConfig;

use crate::host::{HostError, for_host};

pub(crate) type WorkerHook = Arc<dyn Fn(usize) + Send + Sync>;

pub(crate) struct Settings {
    pub(crate) config: ExecutorConfig,
    /// Why the host's number of workers is unknown, unless a configuration was given.
    pub(crate) host_error: Option<HostError>,
    pub(crate) thread_name: String,
    pub(crate) stack_size: Option<usize>,
    pub(crate) cpus: Option<Vec<usize>>,
    pub(crate) on_start: Option<WorkerHook>,
    pub(crate) on_stop: Option<WorkerHook>,
}

impl Default for Settings {
    fn default() -> Self {
        let (config, host_error) = match for_host() {
            Ok(config) => (config, None),
            Err(error) => (ExecutorConfig::default(), Some(error)),
        };
        Self {
            config,
            host_error,
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
