//! A worker's thread, from its first line to its last.
//!
//! ```text
//!   pin ─► start hook ─► scratch ─► report ─► core's run loop ─► stop hook ─► drop scratch ─► departed
//!    └───────┴── failed ──┴───────────┘
//! ```

mod context;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use executor_core::ports::Faults;
use executor_core::{
    ExecutorConfig, IdleHooks, NextTask, Pin, TimeHistogram, TraceHooks, WorkerMetricsLocal, panic_message,
    run_worker,
};

pub use context::{Spawner, WorkerCtx};

use crate::affinity::Place;
use crate::error::BuildError;
use crate::panic_handler::PanicHandler;
use crate::ports::ThreadPorts;
use crate::settings::{Settings, WorkerHook};
use crate::worker_id::set_current_worker_id;

pub(crate) struct WorkerSpec<S, K, A, R, FI, FH> {
    pub(crate) settings: Settings,
    pub(crate) scratch_init: A,
    pub(crate) runner: R,
    pub(crate) idle_hooks: FI,
    pub(crate) trace_hooks: FH,
    pub(crate) on_panic: PanicHandler<S>,
    pub(crate) keep: fn(S) -> K,
}

pub(crate) struct WorkerSlot<T> {
    pub(crate) worker: usize,
    pub(crate) ports: ThreadPorts<T>,
    pub(crate) place: Place,
}

pub(crate) struct WorkerOutput<T, K> {
    pub(crate) metrics: WorkerMetricsLocal,
    pub(crate) returned: Vec<T>,
    pub(crate) wake_delays: TimeHistogram,
    /// None if it was never made, or after a panic.
    pub(crate) scratch: Option<K>,
}

pub(crate) type Report = (usize, Result<(), BuildError>);

pub(crate) struct WorkerMain<T, S, K, A, R, FI, FH> {
    pub(crate) slot: WorkerSlot<T>,
    pub(crate) spec: Arc<WorkerSpec<S, K, A, R, FI, FH>>,
    pub(crate) reports: Sender<Report>,
}

impl<T, S, K, A, R, FI, FH> WorkerMain<T, S, K, A, R, FI, FH> {
    pub(crate) fn run<N, I, H>(self) -> WorkerOutput<T, K>
    where
        A: Fn(usize) -> S,
        R: Fn(T, &mut WorkerCtx<T, S>) -> N,
        N: NextTask<T>,
        FI: Fn(usize, &ExecutorConfig) -> I,
        I: IdleHooks,
        FH: Fn(usize) -> H,
        H: TraceHooks<T>,
    {
        let Self {
            slot:
                WorkerSlot {
                    worker,
                    mut ports,
                    place,
                },
            spec,
            reports,
        } = self;
        let shared = Arc::clone(ports.shared());
        // Declared first, so it is dropped last.
        let _latch = shared.join_latch.count_down_on_drop();
        let span = tracing::debug_span!("worker", id = worker);
        let _entered = span.enter();
        set_current_worker_id(Some(worker));

        let started = prepare(worker, &place, &spec);
        let (scratch, mut idle, trace) = match started {
            Ok(parts) => parts,
            Err(error) => {
                report(reports, worker, Err(error));
                return WorkerOutput {
                    metrics: WorkerMetricsLocal::default(),
                    returned: Vec::new(),
                    wake_delays: TimeHistogram::default(),
                    scratch: None,
                };
            }
        };
        ports.park_at(place.home());
        #[cfg(feature = "task-events")]
        let trace = crate::task_events::TaskEvents(trace);
        let mut trace = trace;
        let mut cx = WorkerCtx::new(
            worker,
            scratch,
            spec.settings.config.seed,
            Arc::clone(&spec.on_panic),
            ports,
        );
        report(reports, worker, Ok(()));

        let ran = catch_unwind(AssertUnwindSafe(|| {
            run_worker(&mut cx, &spec.runner, &mut idle, &mut trace)
        }));
        if let Err(payload) = ran {
            // A failed assertion of the run loop: the count may never reach zero, so this ends the
            // executor.
            shared.record_panic(payload);
            shared.scheduler().abort(&*shared);
            shared.scheduler().sleep().finish(&*shared);
        }

        let wake_delays = cx.wake_delays();
        let (metrics, returned, scratch) = cx.into_output();
        let stopped = catch_unwind(AssertUnwindSafe(|| call(spec.settings.on_stop.as_ref(), worker)));
        let (scratch, kept) = match catch_unwind(AssertUnwindSafe(|| (spec.keep)(scratch))) {
            Ok(scratch) => (Some(scratch), Ok(())),
            Err(payload) => (None, Err(payload)),
        };
        let endings = [
            stopped,
            kept,
            catch_unwind(AssertUnwindSafe(|| drop((idle, trace)))),
            catch_unwind(AssertUnwindSafe(|| drop(spec))),
        ];
        for payload in endings.into_iter().filter_map(Result::err) {
            shared.record_panic(payload);
        }
        tracing::debug!(
            executed = metrics.executed(),
            returned = metrics.returned,
            "worker stopped"
        );
        WorkerOutput {
            metrics,
            returned,
            wake_delays,
            scratch,
        }
    }
}

fn prepare<T, S, K, A, R, FI, I, FH, H>(
    worker: usize,
    place: &Place,
    spec: &WorkerSpec<S, K, A, R, FI, FH>,
) -> Result<(S, I, H), BuildError>
where
    A: Fn(usize) -> S,
    FI: Fn(usize, &ExecutorConfig) -> I,
    FH: Fn(usize) -> H,
    H: TraceHooks<T>,
{
    if !place.take() {
        let cores = place.cores();
        // `Auto` may do without a core of its own, but not without the cores that were named.
        if spec.settings.config.pin_threads == Pin::Always || spec.settings.cpus.is_some() {
            return Err(BuildError::Pin { worker, cores });
        }
        tracing::warn!(?cores, "the worker could not be pinned and stays where it is put");
    }
    let hook_panicked = |payload: Box<dyn Any + Send>| BuildError::HookPanicked {
        worker,
        message: panic_message(&*payload),
    };
    catch_unwind(AssertUnwindSafe(|| call(spec.settings.on_start.as_ref(), worker)))
        .map_err(hook_panicked)?;
    let scratch = catch_unwind(AssertUnwindSafe(|| (spec.scratch_init)(worker))).map_err(|payload| {
        BuildError::ScratchPanicked {
            worker,
            message: panic_message(&*payload),
        }
    })?;
    let hooks = catch_unwind(AssertUnwindSafe(|| {
        let idle = (spec.idle_hooks)(worker, &spec.settings.config);
        (idle, (spec.trace_hooks)(worker))
    }));
    let (idle, trace) = hooks.map_err(hook_panicked)?;
    tracing::debug!("worker started");
    Ok((scratch, idle, trace))
}

fn call(hook: Option<&WorkerHook>, worker: usize) {
    if let Some(hook) = hook {
        hook(worker);
    }
}

fn report(reports: Sender<Report>, worker: usize, report: Result<(), BuildError>) {
    // The builder listens until all workers have reported; otherwise the report does not matter.
    let _ = reports.send((worker, report));
}
