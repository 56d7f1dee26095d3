//! The runtime under the mixed pool, own or foreign.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use executor_threaded::lock;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::MixedError;
use crate::gate::Gate;

#[derive(Clone, Debug)]
pub(crate) struct MixedConfig {
    pub(crate) threads: usize,
    pub(crate) blocking_max: usize,
    pub(crate) name: String,
    pub(crate) foreign: Option<Handle>,
}

#[derive(Debug)]
pub(crate) struct MixedState {
    config: MixedConfig,
    runtime: Mutex<Running>,
    pub(crate) gate: Arc<Gate>,
}

#[derive(Debug)]
enum Running {
    NotYet,
    Own(Runtime),
    Foreign(Handle),
    Ended,
}

impl MixedState {
    pub(crate) fn new(config: MixedConfig) -> Self {
        Self {
            config,
            runtime: Mutex::new(Running::NotYet),
            gate: Arc::default(),
        }
    }

    pub(crate) fn handle(&self) -> Result<Handle, MixedError> {
        let mut running = lock(&self.runtime);
        if let Running::NotYet = &*running {
            *running = match &self.config.foreign {
                Some(handle) => Running::Foreign(handle.clone()),
                None => Running::Own(self.config.start().map_err(MixedError::Unavailable)?),
            };
        }
        match &*running {
            Running::Own(runtime) => Ok(runtime.handle().clone()),
            Running::Foreign(handle) => Ok(handle.clone()),
            Running::NotYet | Running::Ended => Err(MixedError::Closed),
        }
    }

    /// Tasks on an own runtime end at their next await.
    pub(crate) fn end(&self) {
        self.gate.close();
        let running = std::mem::replace(&mut *lock(&self.runtime), Running::Ended);
        if let Running::Own(runtime) = running {
            // Without a wait, because the caller may be async code.
            runtime.shutdown_background();
        }
    }

    pub(crate) fn blocking_max(&self) -> usize {
        self.config.blocking_max
    }
}

impl MixedConfig {
    fn start(&self) -> io::Result<Runtime> {
        let (name, number) = (self.name.clone(), AtomicUsize::new(0));
        Builder::new_multi_thread()
            .worker_threads(self.threads)
            .max_blocking_threads(self.blocking_max)
            .thread_name_fn(move || {
                // Ordering: Relaxed. The numbers need only be distinct.
                format!("{name}-mixed-{}", number.fetch_add(1, Ordering::Relaxed))
            })
            .enable_all()
            .build()
    }
}
