//! Building an executor: what can be set with callbacks, and starting the threads.
//!
//! Plain settings are data ([`ExecutorConfig`]). What is left for a builder is what data cannot be: names and hooks.
//!
//! Building is all or nothing. When the last worker has reported that it is ready, there is an executor; when one
//! has failed, the others are told that it is over and are joined, and there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use executor_core::{ExecutorConfig, IdleHooks, NoopTrace, TieredIdle, TraceHooks};

use crate::affinity;
use crate::error::BuildError;
use crate::executor::Executor;
use crate::ports::Shared;
use crate::worker::{self, Blueprint, Remains, Report, Seat, WorkerCtx, WorkerHook};

/// Makes the default idle hooks of a worker.
pub type DefaultIdle = fn(usize, &ExecutorConfig) -> TieredIdle;

/// Makes the default trace hooks of a worker.
pub type DefaultTrace = fn(usize) -> NoopTrace;

/// Builds an [`Executor`] with more than plain settings.
///
/// ```
/// use executor_threaded::{Executor, ExecutorConfig};
///
/// let executor = Executor::<&'static str>::builder()
///     .config(ExecutorConfig { workers: 2, ..ExecutorConfig::default() })
///     .thread_name("greeter")
///     .stack_size(1 << 20)
///     .on_start(|worker| assert_eq!(
///         std::thread::current().name(),
///         Some(format!("greeter-{worker}").as_str()),
///     ))
///     .build(|_worker| String::new(), |name, cx| cx.scratch.push_str(name))?;
/// executor.spawn_external("world")?;
/// executor.join();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExecutorBuilder<T, FI = DefaultIdle, FH = DefaultTrace> {
    config: ExecutorConfig,
    thread_name: String,
    stack_size: Option<usize>,
    idle_hooks: FI,
    trace_hooks: FH,
    on_start: Option<WorkerHook>,
    on_stop: Option<WorkerHook>,
    task: PhantomData<fn(T)>,
}

impl<T> ExecutorBuilder<T> {
    pub(crate) fn new() -> Self {
        Self {
            config: ExecutorConfig::default(),
            thread_name: "windlass".to_owned(),
            stack_size: None,
            idle_hooks: |_worker, config| TieredIdle::new(config.spin_iters, config.park_timeout),
            trace_hooks: |_worker| NoopTrace,
            on_start: None,
            on_stop: None,
            task: PhantomData,
        }
    }
}

impl<T, FI, FH> ExecutorBuilder<T, FI, FH> {
    /// The plain settings. Default [`ExecutorConfig::default`].
    #[must_use]
    pub fn config(mut self, config: ExecutorConfig) -> Self {
        self.config = config;
        self
    }

    /// Threads are named `{prefix}-{worker}`. Default `windlass`. Linux shows the first 15 bytes of a name.
    #[must_use]
    pub fn thread_name(mut self, prefix: impl Into<String>) -> Self {
        self.thread_name = prefix.into();
        self
    }

    /// Size of each thread's stack in bytes. The default is the standard library's.
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Called on each worker's thread before its scratch is made, with the worker's number.
    #[must_use]
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_start = Some(Arc::new(hook));
        self
    }

    /// Called on each worker's thread after its last task, before its scratch is dropped.
    #[must_use]
    pub fn on_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_stop = Some(Arc::new(hook));
        self
    }

    /// Decides what each worker does while it finds nothing; `make` is called on the worker's own thread, so the
    /// hooks need not be `Send`. The default is [`TieredIdle`] from `spin_iters` and `park_timeout`.
    #[must_use]
    pub fn idle_hooks<F, I>(self, make: F) -> ExecutorBuilder<T, F, FH>
    where
        F: Fn(usize, &ExecutorConfig) -> I + Send + Sync + 'static,
        I: IdleHooks,
    {
        let Self {
            config,
            thread_name,
            stack_size,
            idle_hooks: _,
            trace_hooks,
            on_start,
            on_stop,
            task,
        } = self;
        ExecutorBuilder {
            config,
            thread_name,
            stack_size,
            idle_hooks: make,
            trace_hooks,
            on_start,
            on_stop,
            task,
        }
    }

    /// Follows what each worker does; `make` is called on the worker's own thread, so the hooks need not be `Send`.
    /// The default costs nothing.
    #[must_use]
    pub fn trace_hooks<F, H>(self, make: F) -> ExecutorBuilder<T, FI, F>
    where
        F: Fn(usize) -> H + Send + Sync + 'static,
        H: TraceHooks<T>,
    {
        let Self {
            config,
            thread_name,
            stack_size,
            idle_hooks,
            trace_hooks: _,
            on_start,
            on_stop,
            task,
        } = self;
        ExecutorBuilder {
            config,
            thread_name,
            stack_size,
            idle_hooks,
            trace_hooks: make,
            on_start,
            on_stop,
            task,
        }
    }

    /// Starts the workers; returns when each has its scratch value.
    ///
    /// `scratch_init` makes a worker's scratch value on the worker's own thread, so it need not be `Send`.
    /// `runner` runs a task.
    ///
    /// # Errors
    ///
    /// See [`BuildError`]; no thread is left running.
    pub fn build<S, A, R, I, H>(self, scratch_init: A, runner: R) -> Result<Executor<T>, BuildError>
    where
        T: Send + 'static,
        S: 'static,
        A: Fn(usize) -> S + Send + Sync + 'static,
        R: Fn(T, &mut WorkerCtx<T, S>) + Send + Sync + 'static,
        FI: Fn(usize, &ExecutorConfig) -> I + Send + Sync + 'static,
        I: IdleHooks,
        FH: Fn(usize) -> H + Send + Sync + 'static,
        H: TraceHooks<T>,
    {
        self.config.validate()?;
        if self.thread_name.contains('\0') {
            return Err(BuildError::ThreadName {
                prefix: self.thread_name,
            });
        }
        let workers = self.config.workers;
        let mut cores = affinity::deal(self.config.pin_threads, workers)?.into_iter();
        let (shared, ports) = Shared::new(self.config.clone());
        let blueprint = Arc::new(Blueprint {
            config: self.config,
            scratch_init,
            runner,
            idle_hooks: self.idle_hooks,
            trace_hooks: self.trace_hooks,
            on_start: self.on_start,
            on_stop: self.on_stop,
        });

        let (reports, heard) = mpsc::channel();
        let mut threads = Vec::with_capacity(workers);
        let mut failure = None;
        for (worker, ports) in ports.into_iter().enumerate() {
            let seat = Seat {
                worker,
                ports,
                core: cores.next(),
            };
            let mut thread = thread::Builder::new().name(format!("{}-{worker}", self.thread_name));
            if let Some(bytes) = self.stack_size {
                thread = thread.stack_size(bytes);
            }
            let (blueprint, reports) = (Arc::clone(&blueprint), reports.clone());
            match thread.spawn(move || worker::run(seat, blueprint, reports)) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    failure = Some(BuildError::Thread { worker, source });
                    break;
                }
            }
        }
        drop((reports, blueprint));
        let unready = first_failure(&heard, threads.len());
        // Joined first, and only then returned: an error leaves no thread behind, through the executor's drop.
        let executor = Executor::new_started(shared, threads);
        let failure = failure.or(unready);
        match failure {
            None => {
                tracing::debug!(workers, "executor started");
                Ok(executor)
            }
            Some(error) => {
                drop(executor);
                Err(error)
            }
        }
    }
}

impl<T, FI, FH> fmt::Debug for ExecutorBuilder<T, FI, FH> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorBuilder")
            .field("config", &self.config)
            .field("thread_name", &self.thread_name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// A worker's thread, as its executor holds it.
pub(crate) type WorkerThread<T> = JoinHandle<Remains<T>>;

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
