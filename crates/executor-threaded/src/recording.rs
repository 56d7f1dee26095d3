//! A run that is written down, so that it can be checked afterwards: is it one that the policy allows?
//!
//! [`record`] is a [`scope`](crate::scope()) whose workers and producers each keep a log. Policy, queues, parkers and injector are those
//! of every executor; only the words count their changes, and tasks carry a number. None of that is in an
//! [`Executor`](crate::Executor), recorded or not is a matter of which of the two is called.
//!
//! ```
//! use executor_threaded::recording::{Recording, record};
//! use executor_threaded::{ExecutorConfig, TaskCtx};
//!
//! fn tree<C: TaskCtx<u32, u64>>(depth: u32, cx: &mut C) {
//!     if depth == 0 {
//!         *cx.scratch() += 1;
//!     } else {
//!         cx.spawn_local(depth - 1);
//!         cx.spawn_local(depth - 1);
//!     }
//! }
//!
//! let config = ExecutorConfig { workers: 2, ..ExecutorConfig::default() };
//! let run = record(&Recording::new(config), |_| 0, |task, cx| tree(task, cx), |handle| {
//!     handle.spawn(10).expect("nobody has closed it");
//!     handle.wait_idle();
//! })?;
//! assert_eq!(run.scratches.iter().sum::<u64>(), 1 << 10);
//! assert_eq!((run.record.parties(), run.record.tasks(2)), (3, 1));
//! # Ok::<(), executor_threaded::BuildError>(())
//! ```
//!
//! What a record says, and why its events have an order without a clock: [`executor_core::record`]. Who checks it: the crate
//! `sim`, with the oracles of the simulator.

mod handle;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use executor_core::ports::{Native, NativeWord};
use executor_core::record::{Log, Numbered, Record, Versioned, WordName};
use executor_core::{ExecutorConfig, WorkerMetricsLocal};

use crate::error::{BuildError, panic_message};
use crate::ports::{Shared, ThreadPorts};

pub use handle::RecordedHandle;
pub use worker::RecordedCtx;

/// Access to words that count their changes.
type Memory = Versioned<Native>;

/// What the parties of a recorded run share.
type SharedWords<T> = Shared<Numbered<T>, Memory>;

/// A worker's ports, not yet recorded.
type WorkerSlot<T> = ThreadPorts<Numbered<T>, Memory>;

/// How to record. Open to struct update syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The executor's settings. Threads are not pinned.
    pub config: ExecutorConfig,
    /// Entries of eight bytes for which each party has memory before it begins. A log grows, but not for nothing. Default 4,096.
    pub entries: usize,
    /// How long to wait for an end. A run with a planted bug may have none; then it is ended by force, and the record says so.
    /// Default 10 s.
    pub patience: Duration,
}

impl Recording {
    /// Records an executor of `config`.
    #[must_use]
    pub fn new(config: ExecutorConfig) -> Self {
        Self {
            config,
            entries: 4_096,
            patience: Duration::from_secs(10),
        }
    }
}

/// A run that was recorded.
#[derive(Debug)]
#[non_exhaustive]
pub struct RecordedRun<S, V> {
    /// Each worker's scratch value, by the worker's number.
    pub scratches: Vec<S>,
    /// What the body returned.
    pub value: V,
    /// What was written down.
    pub record: Record,
    /// What the workers counted, added up.
    pub metrics: WorkerMetricsLocal,
    /// What the first panic said, of a task or of the policy.
    pub panic: Option<String>,
}

/// What outlives the workers of a run.
struct Run<T> {
    shared: Arc<SharedWords<T>>,
    recording: Recording,
    /// Logs of parties outside that have handed them over.
    logs: Mutex<Vec<Log>>,
    parties: AtomicUsize,
}

/// Runs `body` with an executor of which everything is written down, until `body` has returned and everything that was accepted has
/// run or was handed back.
///
/// `body` is called on the calling thread. Its handle, and each clone of it, is a party of its own.
///
/// # Errors
///
/// When the configuration is not valid or a thread cannot be started; `body` is not called then.
///
/// # Panics
///
/// With the panic of `body`. When a clone of the handle is still somewhere after `body`, since its log is missing.
pub fn record<T, S, A, R, B, V>(
    recording: &Recording,
    scratch_init: A,
    runner: R,
    body: B,
) -> Result<RecordedRun<S, V>, BuildError>
where
    T: Send,
    S: Send,
    A: Fn(usize) -> S + Sync,
    R: Fn(T, &mut RecordedCtx<T, S>) + Sync,
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
        // Until everybody is ready, or has ended before it was.
        told.iter().take(started.len()).for_each(drop);
        let handle = RecordedHandle::new(&run);
        // Unwind safety: what the body has left half changed is seen by nobody here, and the panic goes on.
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
            (None, Some(Ok(value))) => Ok(run.end(output, value)),
            (None, Some(Err(payload))) => resume_unwind(payload),
            (failure, _) => Err(failure.expect("without it the body was called")),
        }
    })
}

impl<T> Run<T> {
    /// A log for one more party outside.
    fn log(&self) -> Log {
        // Ordering: Relaxed. A number that nobody else gets.
        let party = self.parties.fetch_add(1, Ordering::Relaxed);
        Log::new(party, self.recording.entries)
    }

    fn hand_over(&self, log: Log) {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).push(log);
    }

    fn end<S, V>(self, output: Vec<worker::WorkerOutput<S>>, value: V) -> RecordedRun<S, V> {
        let Self {
            shared,
            recording,
            logs,
            parties,
        } = self;
        let mut logs = logs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (mut scratches, mut returned) = (Vec::new(), Vec::new());
        let mut metrics = WorkerMetricsLocal::default();
        for output in output {
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
}
