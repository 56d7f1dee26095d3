//! Setting up an executor: what can be set with callbacks.
//!
//! Plain settings are data ([`ExecutorConfig`]). What is left for a builder is what data cannot be: names, hooks, and
//! what belongs to this machine alone. Two ways lead out of it: [`ExecutorBuilder::build`] to threads that an [`Executor`]
//! owns, and [`ExecutorBuilder::scope`] to threads that end before it returns. Both start them in the same way.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::thread;

use executor_core::{ExecutorConfig, IdleHooks, NoopTrace, TieredIdle, TraceHooks};

use crate::error::BuildError;
use crate::executor::Executor;
use crate::handle::ExecutorHandle;
use crate::panic_handler::{DropPayload, HandleWith, HandlesPanics};
use crate::scope::{ScopeReport, run_scope};
use crate::start::{Settings, Started, start};
use crate::worker::{WorkerSpec, WorkerCtx};

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
pub struct ExecutorBuilder<T, FI = DefaultIdle, FH = DefaultTrace, P = DropPayload> {
    settings: Settings,
    idle_hooks: FI,
    trace_hooks: FH,
    on_panic: P,
    task: PhantomData<fn(T)>,
}

impl<T> ExecutorBuilder<T> {
    pub(crate) fn new() -> Self {
        Self {
            settings: Settings::default(),
            idle_hooks: |_worker, config| TieredIdle::of(config),
            trace_hooks: |_worker| NoopTrace,
            on_panic: DropPayload,
            task: PhantomData,
        }
    }
}

impl<T, FI, FH, P> ExecutorBuilder<T, FI, FH, P> {
    /// The plain settings. Default [`ExecutorConfig::default`].
    #[must_use]
    pub fn config(mut self, config: ExecutorConfig) -> Self {
        self.settings.config = config;
        self
    }

    /// Threads are named `{prefix}-{worker}`. Default `windlass`. Linux shows the first 15 bytes of a name.
    #[must_use]
    pub fn thread_name(mut self, prefix: impl Into<String>) -> Self {
        self.settings.thread_name = prefix.into();
        self
    }

    /// Size of each thread's stack in bytes, for what tasks need. The default is the standard library's.
    ///
    /// A worker's own place for its private tasks is 256 tasks large and lies on its stack, too. If that and the scratch value
    /// are more than some kilobytes, room for them is added to this size, or to the default.
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// Keeps the workers to these cores, by the operating system's numbers. Default: wherever the calling thread may run.
    ///
    /// With [`Pin::Always`](crate::Pin::Always) each worker has one of them to itself; with [`Pin::Auto`](crate::Pin::Auto),
    /// too, if there are enough that no other executor of this process has; else, and with [`Pin::Never`](crate::Pin::Never),
    /// every worker may run on all of them. Threads that a worker starts are kept to its cores as well.
    ///
    /// A core that the calling thread may not use is [`BuildError::Cores`], which names it. Elsewhere than on Linux a worker
    /// can be kept to one core, but not to several: [`BuildError::Pin`].
    ///
    /// ```
    /// use executor_threaded::{CoreAssigner, Executor};
    ///
    /// // All but the first core, which is the main thread's, if there are several.
    /// let cores = CoreAssigner::new().cores().to_vec();
    /// let ours = if cores.len() > 1 { &cores[1..] } else { &cores[..] };
    /// # if cfg!(target_os = "linux") {
    /// let executor = Executor::<u32>::builder().cpus(ours.iter().copied()).build(|_| (), |_task, _cx| {})?;
    /// executor.spawn_external(7)?;
    /// executor.join();
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cpus(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.settings.cpus = Some(cores.into_iter().collect());
        self
    }

    /// Called on each worker's thread before its scratch is made, with the worker's number.
    #[must_use]
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_start = Some(Arc::new(hook));
        self
    }

    /// Called on each worker's thread after its last task, before its scratch is dropped.
    #[must_use]
    pub fn on_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_stop = Some(Arc::new(hook));
        self
    }

    /// Decides what each worker does while it finds nothing; `make` is called on the worker's own thread, so the
    /// hooks need not be `Send`. The default is [`TieredIdle`] from `spin_iters` and `park_timeout`.
    #[must_use]
    pub fn idle_hooks<F, I>(self, make: F) -> ExecutorBuilder<T, F, FH, P>
    where
        F: Fn(usize, &ExecutorConfig) -> I + Send + Sync,
        I: IdleHooks,
    {
        ExecutorBuilder {
            settings: self.settings,
            idle_hooks: make,
            trace_hooks: self.trace_hooks,
            on_panic: self.on_panic,
            task: PhantomData,
        }
    }

    /// Follows what each worker does; `make` is called on the worker's own thread, so the hooks need not be `Send`.
    /// The default costs nothing.
    #[must_use]
    pub fn trace_hooks<F, H>(self, make: F) -> ExecutorBuilder<T, FI, F, P>
    where
        F: Fn(usize) -> H + Send + Sync,
        H: TraceHooks<T>,
    {
        ExecutorBuilder {
            settings: self.settings,
            idle_hooks: self.idle_hooks,
            trace_hooks: make,
            on_panic: self.on_panic,
            task: PhantomData,
        }
    }

    /// What becomes of the panic of a task under [`OnPanic::Isolate`](crate::OnPanic::Isolate): called on the worker's own
    /// thread, with the worker's number, what the panic carried, and the worker's scratch, which it may replace. Under
    /// [`OnPanic::Stop`](crate::OnPanic::Stop) it is never called. The default is an event of `tracing` at level ERROR.
    ///
    /// A handler that panics itself stops the executor, with its own panic.
    ///
    /// ```
    /// use executor_threaded::{Executor, ExecutorConfig, OnPanic};
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let executor = Executor::<u32>::builder()
    ///     .config(ExecutorConfig { on_panic: OnPanic::Isolate, ..ExecutorConfig::default() })
    ///     .on_panic(move |worker, payload, scratch: &mut Vec<u32>| {
    ///         scratch.clear();
    ///         let text = payload.downcast::<&'static str>().map_or("?", |text| *text);
    ///         tell.send(format!("worker {worker}: {text}")).expect("the main thread listens");
    ///     })
    ///     .build(|_worker| Vec::new(), |task, cx| {
    ///         cx.scratch.push(task);
    ///         if task == 3 {
    ///             panic!("three is bad luck");
    ///         }
    ///     })?;
    /// executor.spawn_external_batch((0..10).collect())?;
    /// let metrics = executor.join();
    /// assert_eq!((metrics.total.executed(), metrics.total.panicked), (10, 1));
    /// assert_eq!(told.recv()?, "worker 0: three is bad luck");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_panic<S, F>(self, handler: F) -> ExecutorBuilder<T, FI, FH, HandleWith<S>>
    where
        F: Fn(usize, Box<dyn Any + Send>, &mut S) + Send + Sync + 'static,
    {
        ExecutorBuilder {
            settings: self.settings,
            idle_hooks: self.idle_hooks,
            trace_hooks: self.trace_hooks,
            on_panic: HandleWith(Arc::new(handler)),
            task: PhantomData,
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
        P: HandlesPanics<S>,
    {
        let spec = self.spec(scratch_init, runner, drop::<S>);
        let started = start(spec, |thread, body| thread.spawn(move || body.run()))?;
        let Started {
            shared,
            threads,
            failure,
        } = started;
        // An error leaves no thread behind, through the executor's drop.
        let executor = Executor::new_started(shared, threads);
        match failure {
            None => Ok(executor),
            Some(error) => {
                drop(executor);
                Err(error)
            }
        }
    }

    /// Runs `body` with an executor whose tasks and scratch values may borrow; see [`scope`](crate::scope()).
    ///
    /// # Errors
    ///
    /// See [`BuildError`]; no thread is left running, and `body` is not called.
    ///
    /// # Panics
    ///
    /// With the first panic of `body`, of a task, of a hook, when all threads have ended.
    pub fn scope<S, A, R, I, H, B, V>(
        self,
        scratch_init: A,
        runner: R,
        body: B,
    ) -> Result<ScopeReport<S, V>, BuildError>
    where
        T: Send,
        S: Send,
        A: Fn(usize) -> S + Send + Sync,
        R: Fn(T, &mut WorkerCtx<T, S>) + Send + Sync,
        FI: Fn(usize, &ExecutorConfig) -> I + Send + Sync,
        I: IdleHooks,
        FH: Fn(usize) -> H + Send + Sync,
        H: TraceHooks<T>,
        P: HandlesPanics<S>,
        B: FnOnce(&ExecutorHandle<T>) -> V,
    {
        let spec = self.spec(scratch_init, runner, |scratch| scratch);
        thread::scope(|threads| {
            let started = start(spec, |thread, work| {
                thread.spawn_scoped(threads, move || work.run())
            })?;
            run_scope(started, body)
        })
    }

    fn spec<S, K, A, R>(
        self,
        scratch_init: A,
        runner: R,
        keep: fn(S) -> K,
    ) -> WorkerSpec<S, K, A, R, FI, FH>
    where
        P: HandlesPanics<S>,
    {
        WorkerSpec {
            settings: self.settings,
            scratch_init,
            runner,
            idle_hooks: self.idle_hooks,
            trace_hooks: self.trace_hooks,
            on_panic: self.on_panic.into_handler(),
            keep,
        }
    }
}

impl<T, FI, FH, P> fmt::Debug for ExecutorBuilder<T, FI, FH, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorBuilder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
