//! Starting an executor's threads, whoever is going to own them.
//!
//! It is all or nothing. When the last worker has reported that it is ready, there is an executor; when one has failed,
//! the others are told that it is over and are joined by whoever owns their threads, and there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;

use executor_core::ExecutorConfig;

use crate::affinity;
use crate::error::BuildError;
use crate::ports::Shared;
use crate::stack;
use crate::worker::{WorkerSpec, WorkerMain, Report, WorkerSlot, WorkerCtx, WorkerHook};

/// What can be set without knowing types.
pub(crate) struct Settings {
    pub(crate) config: ExecutorConfig,
    pub(crate) thread_name: String,
    pub(crate) stack_size: Option<usize>,
    /// Cores that the workers run on, if not on any.
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

/// Threads that have been started, each a `J`. Whoever gets this joins them, after a failure at once.
pub(crate) struct Started<T, J> {
    pub(crate) shared: Arc<Shared<T>>,
    pub(crate) threads: Vec<J>,
    pub(crate) failure: Option<BuildError>,
}

/// Starts a thread a worker by way of `spawn`; returns when each has said whether it is ready.
pub(crate) fn start<T, S, K, A, R, FI, FH, J>(
    mut spec: WorkerSpec<S, K, A, R, FI, FH>,
    mut spawn: impl FnMut(thread::Builder, WorkerMain<T, S, K, A, R, FI, FH>) -> io::Result<J>,
) -> Result<Started<T, J>, BuildError> {
    let Settings { config, cpus, .. } = &mut spec.settings;
    config.cores = (config.cores).or_else(|| Some(cpus.as_ref().map_or_else(num_cpus::get, Vec::len).max(1)));
    let spec = Arc::new(spec);
    let settings = &spec.settings;
    settings.config.validate()?;
    if settings.thread_name.contains('\0') {
        return Err(BuildError::ThreadName {
            prefix: settings.thread_name.clone(),
        });
    }
    let workers = settings.config.workers;
    let stack_size = stack::size(settings.stack_size, size_of::<WorkerCtx<T, S>>());
    let places = affinity::places(settings.config.pin_threads, workers, settings.cpus.as_deref())?;
    let (shared, ports) = Shared::new(settings.config.clone());

    let (reports, heard) = mpsc::channel();
    let mut threads = Vec::with_capacity(workers);
    let mut failure = None;
    for (worker, (ports, place)) in ports.into_iter().zip(places).enumerate() {
        let mut thread = thread::Builder::new().name(format!("{}-{worker}", settings.thread_name));
        if let Some(bytes) = stack_size {
            thread = thread.stack_size(bytes);
        }
        let body = WorkerMain {
            slot: WorkerSlot { worker, ports, place },
            spec: Arc::clone(&spec),
            reports: reports.clone(),
        };
        match spawn(thread, body) {
            Ok(thread) => threads.push(thread),
            Err(source) => {
                failure = Some(BuildError::Thread { worker, source });
                break;
            }
        }
    }
    drop((reports, spec));
    let unready = first_failure(&heard, threads.len());
    let failure = failure.or(unready);
    if failure.is_none() {
        tracing::debug!(workers, "executor started");
    }
    Ok(Started {
        shared,
        threads,
        failure,
    })
}

/// Listens until each of `threads` has said whether it is ready; the failure of the first one, by number, that is not.
fn first_failure(heard: &mpsc::Receiver<Report>, threads: usize) -> Option<BuildError> {
    let mut silent: BTreeSet<usize> = (0..threads).collect();
    let mut failures = BTreeMap::new();
    for (worker, report) in heard {
        silent.remove(&worker);
        if let Err(error) = report {
            failures.insert(worker, error);
        }
    }
    // Only a panic in foreign code that nobody expects to panic, such as a subscriber's, ends a thread in silence.
    for worker in silent {
        let message = "its thread ended before it was ready".to_owned();
        failures.insert(worker, BuildError::HookPanicked { worker, message });
    }
    failures.into_values().next()
}
