//! Starts an executor's threads, all or none: if one fails, the caller aborts and joins the others.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;

use crate::affinity;
use crate::error::BuildError;
use crate::ports::Shared;
use crate::settings::Settings;
use crate::stack;
use crate::worker::{Report, WorkerCtx, WorkerMain, WorkerSlot, WorkerSpec};

pub(crate) struct Started<T, J> {
    pub(crate) shared: Arc<Shared<T>>,
    pub(crate) threads: Vec<J>,
    pub(crate) failure: Option<BuildError>,
}

/// Returns when all threads have reported.
pub(crate) fn start<T, S, K, A, R, FI, FH, J>(
    mut spec: WorkerSpec<S, K, A, R, FI, FH>,
    mut spawn: impl FnMut(thread::Builder, WorkerMain<T, S, K, A, R, FI, FH>) -> io::Result<J>,
) -> Result<Started<T, J>, BuildError> {
    if let Some(error) = spec.settings.host_error.take() {
        return Err(BuildError::Host(error));
    }
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

/// Returns the failure with the lowest number.
fn first_failure(heard: &mpsc::Receiver<Report>, threads: usize) -> Option<BuildError> {
    let mut silent: BTreeSet<usize> = (0..threads).collect();
    let mut failures = BTreeMap::new();
    for (worker, report) in heard {
        silent.remove(&worker);
        if let Err(error) = report {
            failures.insert(worker, error);
        }
    }
    // Only a panic in foreign code, such as a subscriber's, ends a thread without a report.
    for worker in silent {
        let message = "its thread ended before it was ready".to_owned();
        failures.insert(worker, BuildError::HookPanicked { worker, message });
    }
    failures.into_values().next()
}
