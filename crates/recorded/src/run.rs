//! A run of an executor whose workers and producers each keep a log.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use executor_core::ports::{Native, NativeWord};
use executor_core::{NextTask, WorkerMetricsLocal, panic_message};
use executor_threaded::BuildError;
use sim::WordName;

use crate::handle::RecordedHandle;
use crate::record::Record;
use crate::recording::{Memory, Recording, Run, SharedWords};
use crate::word::Versioned;
use crate::worker::{self, RecordedCtx, WorkerOutput};

/// A recorded run and its results.
#[derive(Debug)]
#[non_exhaustive]
pub struct RecordedRun<S, V> {
    /// Each worker's scratch value, by the worker's number.
    pub scratches: Vec<S>,
    /// The body's result.
    pub value: V,
    /// What was written down.
    pub record: Record,
    /// What the workers counted, added up.
    pub metrics: WorkerMetricsLocal,
    /// The text of the first panic, of a task or of the policy.
    pub panic: Option<String>,
}

/// Runs and records `body` with an executor that ends before `record` returns.
///
/// `body` is called on the calling thread. Its handle, and each clone of it, is a party of its own.
///
/// # Errors
///
/// If the configuration is not valid or a thread cannot be started; `body` is not called then.
///
/// # Panics
///
/// With the panic of `body`, or if a clone of the handle outlives `body`.
pub fn record<T, S, A, R, N, B, V>(
    recording: &Recording,
    scratch_init: A,
    runner: R,
    body: B,
) -> Result<RecordedRun<S, V>, BuildError>
where
    T: Send,
    S: Send,
    A: Fn(usize) -> S + Sync,
    R: Fn(T, &mut RecordedCtx<T, S>) -> N + Sync,
    N: NextTask<T>,
    B: FnOnce(&RecordedHandle<'_, T>) -> V,
{
    let mut recording = recording.clone();
    recording.config.cores = recording.config.cores.or(Some(num_cpus::get()));
    recording.config.validate()?;
    let (workers, entries) = (recording.config.workers, recording.entries);
    let mut made = 0;
    let (shared, slots) = SharedWords::of_words(recording.config.clone(), Versioned(Native), |value| {
        made += 1;
        Memory::word(WordName::of_scheduler(made - 1, workers), value, NativeWord::new)
    });
    let run = Run {
        shared,
        recording,
        logs: Mutex::default(),
        parties: AtomicUsize::new(workers),
    };
    let (scratch_init, runner) = (&scratch_init, &runner);
    thread::scope(|threads| {
        let (ready, told) = mpsc::channel();
        let mut started = Vec::with_capacity(workers);
        let mut failure = None;
        for (worker, slot) in slots.into_iter().enumerate() {
            let ready = ready.clone();
            let work = move || worker::work(worker, slot, entries, ready, scratch_init, runner);
            let thread = thread::Builder::new().name(format!("recorded-{worker}"));
            match thread.spawn_scoped(threads, work) {
                Ok(thread) => started.push(thread),
                Err(source) => {
                    failure = Some(BuildError::Thread { worker, source });
                    break;
                }
            }
        }
        drop(ready);
        // Until every worker is ready or has ended.
        told.iter().take(started.len()).for_each(drop);
        let handle = RecordedHandle::new(&run);
        // Unwind safety: no code here sees what the body has left half changed.
        let value = failure
            .is_none()
            .then(|| catch_unwind(AssertUnwindSafe(|| body(&handle))));
        match &value {
            Some(Ok(_)) => handle.close(),
            Some(Err(_)) | None => handle.shutdown(),
        }
        if !run
            .shared
            .join_latch
            .wait_for(started.len(), run.recording.patience)
        {
            handle.give_up();
        }
        let output: Vec<_> = started
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|payload| resume_unwind(payload)))
            .collect();
        handle.look_for_the_last_time();
        drop(handle);
        match (failure, value) {
            (None, Some(Ok(value))) => Ok(end(run, output, value)),
            (None, Some(Err(payload))) => resume_unwind(payload),
            (failure, _) => Err(failure.expect("without it the body was called")),
        }
    })
}

fn end<T, S, V>(run: Run<T>, outputs: Vec<WorkerOutput<S>>, value: V) -> RecordedRun<S, V> {
    let Run {
        shared,
        recording,
        logs,
        parties,
    } = run;
    let mut logs = logs.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (mut scratches, mut returned) = (Vec::new(), Vec::new());
    let mut metrics = WorkerMetricsLocal::default();
    for output in outputs {
        logs.push(output.log);
        scratches.push(output.scratch);
        returned.extend(output.returned);
        metrics.merge(&output.metrics);
    }
    assert_eq!(
        logs.len(),
        parties.into_inner(),
        "a clone of the handle has outlived the run, and its log is missing"
    );
    RecordedRun {
        scratches,
        value,
        record: Record::new(recording.config, logs, returned),
        metrics,
        panic: shared.take_panic().map(|payload| panic_message(&*payload)),
    }
}
