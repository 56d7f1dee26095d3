//! Engines under test, whose rows should be equal.

use std::future::Future;
use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::{SessionConfig, SessionContext};
use pools::Pools;
use tokio::runtime::{Builder, Runtime};
use windlass_datafusion::{Windlass, WindlassExt, WindlassOptions};

pub(crate) trait Engine {
    fn name(&self) -> String;

    fn session_with(&self, config: SessionConfig) -> SessionContext;

    fn session(&self, partitions: usize) -> SessionContext {
        self.session_with(SessionConfig::new().with_target_partitions(partitions))
    }
}

#[derive(Debug)]
pub(crate) struct Plain;

impl Engine for Plain {
    fn name(&self) -> String {
        "plain DataFusion".to_owned()
    }

    fn session_with(&self, config: SessionConfig) -> SessionContext {
        SessionContext::new_with_config(config)
    }
}

#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) windlass: Windlass,
    workers: usize,
}

impl Ours {
    pub(crate) fn with_workers(workers: usize) -> Ours {
        let pools = Pools::builder().cpu_threads(workers).build().expect("in range");
        Ours {
            windlass: Windlass::install(pools).expect("the hook is free or ours"),
            workers,
        }
    }
}

impl Engine for Ours {
    fn name(&self) -> String {
        format!("windlass with {} workers", self.workers)
    }

    fn session_with(&self, config: SessionConfig) -> SessionContext {
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features()
            .with_windlass(&self.windlass)
            .build();
        SessionContext::new_with_state(state)
    }
}

/// As [`Ours`], with `windlass.operators = true`.
#[derive(Debug)]
pub(crate) struct Operators(Ours);

impl Operators {
    pub(crate) fn with_workers(workers: usize) -> Operators {
        Operators(Ours::with_workers(workers))
    }

    pub(crate) fn windlass(&self) -> &Windlass {
        &self.0.windlass
    }

    pub(crate) fn session_in(&self, config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionContext {
        let options = WindlassOptions {
            operators: true,
            ..WindlassOptions::default()
        };
        let state = SessionStateBuilder::new()
            .with_config(config.with_option_extension(options))
            .with_runtime_env(runtime)
            .with_default_features()
            .with_windlass(self.windlass())
            .build();
        SessionContext::new_with_state(state)
    }
}

impl Engine for Operators {
    fn name(&self) -> String {
        format!("{} and its operators", self.0.name())
    }

    fn session_with(&self, config: SessionConfig) -> SessionContext {
        self.session_in(config, Arc::default())
    }
}

pub(crate) fn block_on_many_threads<F: Future>(test: F) -> F::Output {
    many_threads().block_on(test)
}

pub(crate) fn many_threads() -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("two threads")
}

pub(crate) fn one_thread() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("no thread at all")
}
