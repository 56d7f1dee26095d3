//! Sets up an executor: what plain data ([`ExecutorConfig`]) cannot hold, such as names and hooks.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use executor_core::{ExecutorConfig, IdleHooks, NextTask, NoopTrace, TieredIdle, TraceHooks};

use crate::error::BuildError;
use crate::executor::Executor;
use crate::panic_handler::{DropPayload, HandleWith, HandlesPanics};
use crate::settings::Settings;
use crate::start::{Started, start};
use crate::worker::{WorkerCtx, WorkerSpec};

/// Makes a worker's default idle hooks.
pub type DefaultIdle = fn(usize, &ExecutorConfig) -> TieredIdle;

/// Makes a worker's default trace hooks.
pub type DefaultTrace = fn(usize) -> NoopTrace;

/// Builds an [`Executor`] with more than plain settings.
///
/// ```
/// use executor_threaded::{Executor, ExecutorConfig};
///
/// let executor = Executor::<&'static str>::builder()
///     .config(ExecutorConfig::new(2))
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

impl<T: Send + 'static> Executor<T> {
    /// Starts an executor; returns when every worker has its scratch value.
    ///
    /// `scratch_init` makes each worker's scratch value, on the worker's own thread, where it is
    /// also dropped. Threads inherit the affinity mask of the calling thread.
    ///
    /// `runner` runs all tasks. It returns nothing, or an `Option` with the task that runs next; see
    /// [`NextTask`].
    ///
    /// ```
    /// use executor_threaded::{Executor, ExecutorConfig};
    ///
    /// let tree = Executor::<u32>::new(ExecutorConfig::default(), |_worker| (), |depth, cx| {
    ///     let child = depth.checked_sub(1)?;
    ///     cx.spawn_local(child);
    ///     Some(child)
    /// })?;
    /// tree.spawn_external(10)?;
    /// assert_eq!(tree.join().total.executed(), (1 << 11) - 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`BuildError`]; no thread is left running.
    pub fn new<S, A, R, N>(config: ExecutorConfig, scratch_init: A, runner: R) -> Result<Self, BuildError>
    where
        S: 'static,
        A: Fn(usize) -> S + Send + Sync + 'static,
        R: Fn(T, &mut WorkerCtx<T, S>) -> N + Send + Sync + 'static,
        N: NextTask<T>,
    {
        Self::builder().config(config).build(scratch_init, runner)
    }
}

impl<T> Executor<T> {
    /// A builder, for what plain settings cannot hold.
    #[must_use]
    pub fn builder() -> ExecutorBuilder<T> {
        ExecutorBuilder::new()
    }
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
    /// The plain settings. The default is [`for_host`](crate::for_host).
    #[must_use]
    pub fn config(mut self, config: ExecutorConfig) -> Self {
        self.settings.config = config;
        self.settings.host_error = None;
        self
    }

    /// Threads are named `{prefix}-{worker}`. Default `windlass`.
    #[must_use]
    pub fn thread_name(mut self, prefix: impl Into<String>) -> Self {
        self.settings.thread_name = prefix.into();
        self
    }

    /// Size of each thread's stack in bytes. The default is the standard library's.
    ///
    /// Room for large scratch values and private tasks is added.
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// Keeps the workers to these cores, by the operating system's numbers. Default: those of the
    /// calling thread.
    ///
    /// With [`Pin::Always`](crate::Pin::Always) each worker has a core of its own; with
    /// [`Pin::Auto`](crate::Pin::Auto), too, if enough of them are free; otherwise every worker may
    /// run on all of them.
    ///
    /// A core that the calling thread may not use is [`BuildError::Cores`]. Outside of Linux, more
    /// than one core for a worker is [`BuildError::Pin`].
    ///
    /// ```
    /// use executor_threaded::affinity::CoreAssigner;
    /// use executor_threaded::Executor;
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

    /// Called on each worker's thread, with the worker's number, before its scratch value is made.
    #[must_use]
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_start = Some(Arc::new(hook));
        self
    }

    /// Called on each worker's thread after its last task, before its scratch value is dropped.
    #[must_use]
    pub fn on_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_stop = Some(Arc::new(hook));
        self
    }

    /// Decides what each worker does after a failed search. `make` is called on the worker's
    /// thread, so the hooks need not be `Send`. The default is [`TieredIdle`].
    ///
    /// ```
    /// use executor_threaded::Executor;
    /// use executor_threaded::hooks::ParkAtOnce;
    ///
    /// // An idle worker leaves its core to others at once.
    /// let executor = Executor::<u32>::builder()
    ///     .idle_hooks(|_worker, config| ParkAtOnce::of(config))
    ///     .build(|_worker| (), |_task, _cx| {})?;
    /// executor.spawn_external(7)?;
    /// assert_eq!(executor.join().total.executed(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Receives the events of each worker. `make` is called on the worker's thread.
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

    /// Handles the panic of a task under [`OnPanic::Isolate`](crate::OnPanic::Isolate), on the
    /// worker's thread, with the worker's number, the payload and the scratch value. The default is
    /// an event of `tracing` at level ERROR.
    ///
    /// ```
    /// use executor_threaded::{Executor, ExecutorConfig, OnPanic};
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let executor = Executor::<u32>::builder()
    ///     .config(ExecutorConfig::default().on_panic(OnPanic::Isolate))
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

    /// Starts the workers, as [`Executor::new`] does.
    ///
    /// # Errors
    ///
    /// See [`BuildError`]; no thread is left running.
    pub fn build<S, A, R, N, I, H>(self, scratch_init: A, runner: R) -> Result<Executor<T>, BuildError>
    where
        T: Send + 'static,
        S: 'static,
        A: Fn(usize) -> S + Send + Sync + 'static,
        R: Fn(T, &mut WorkerCtx<T, S>) -> N + Send + Sync + 'static,
        N: NextTask<T>,
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
        // On failure, its drop joins the threads.
        let executor = Executor::new_started(shared, threads);
        match failure {
            None => Ok(executor),
            Some(error) => {
                drop(executor);
                Err(error)
            }
        }
    }

    pub(crate) fn spec<S, K, A, R>(
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
