//! What all parties of an executor on threads share.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crossbeam::queue::SegQueue;
use executor_core::ports::NativeWord;
use executor_threaded::{ExecutorHandle, lock};

use super::job_table::JobTable;
use super::key_set::KeySet;
use super::room::Room;
use super::spares::Spares;
use crate::metrics::Meter;
use crate::policy::{JobBoard, JobBody, JobHandle, JobState, Ledger, PipelineConfig, PipelineShared};
use crate::trace::{PipelineTrace, Recorder};

/// The task that looks at the board.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipelineTask;

pub(super) type NativePlace = Mutex<Ledger>;
pub(crate) type NativeBody = JobBody<NativeWord, NativePlace>;
pub(crate) type NativeState = JobState<NativeWord, NativePlace>;

pub(super) type Shared = PipelineShared<NativeWord, KeySet, SegQueue<JobHandle>, JobTable<Arc<NativeBody>>>;

pub(crate) struct Hub {
    pub(super) shared: Shared,
    pub(super) workers: OnceLock<ExecutorHandle<PipelineTask>>,
    pub(super) epoch: Instant,
    pub(super) ended: Mutex<bool>,
    pub(super) ended_told: Condvar,
    pub(crate) room: Arc<Room>,
    pub(crate) spares: Spares,
    pub(super) meter: Meter,
    pub(super) recorder: Option<Arc<Recorder>>,
}

impl Hub {
    pub(crate) fn new(config: PipelineConfig, spares: usize) -> Self {
        let board = JobBoard::new(
            KeySet::default(),
            KeySet::default(),
            KeySet::default(),
            SegQueue::new(),
        );
        let jobs = JobTable::new(config.capacity);
        let meter = Meter::new(config.main + config.reserve);
        Self {
            shared: PipelineShared::new(config, board, jobs, NativeWord::new)
                .with_spares(spares, NativeWord::new),
            workers: OnceLock::new(),
            epoch: Instant::now(),
            ended: Mutex::new(false),
            ended_told: Condvar::new(),
            room: Arc::default(),
            spares: Spares::default(),
            meter,
            recorder: None,
        }
    }

    pub(crate) fn record_for(&mut self, trace: &PipelineTrace, workers: impl IntoIterator<Item = String>) {
        self.recorder = Some(trace.recorder(self.epoch, workers));
    }

    pub(crate) fn set_workers(&self, workers: ExecutorHandle<PipelineTask>) {
        let first = self.workers.set(workers).is_ok();
        debug_assert!(first, "an executor is built once");
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "for the owner's thread, never on a worker"
    )]
    pub(crate) fn wait_ended(&self) {
        let ended = lock(&self.ended);
        let ended = self.ended_told.wait_while(ended, |ended| !*ended);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "for the owner's thread, never on a worker"
    )]
    pub(crate) fn wait_ended_for(&self, timeout: Duration) -> bool {
        let ended = lock(&self.ended);
        let waited = self
            .ended_told
            .wait_timeout_while(ended, timeout, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn as_worker<R>(self: &Arc<Self>, worker: usize, work: impl FnOnce() -> R) -> R {
        // A worker's thread never works for another executor, so the mark stays.
        WORKS_FOR.set((Arc::as_ptr(self).addr(), worker));
        work()
    }

    /// A helper's steps may not block either.
    pub(crate) fn as_lent<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        struct Until;

        impl Drop for Until {
            fn drop(&mut self) {
                LENT_TO.with(|hubs| {
                    let mut hubs = hubs.borrow_mut();
                    hubs.pop();
                    if hubs.is_empty() {
                        // A thread's end does not drop the vector, so its memory is freed here.
                        *hubs = Vec::new();
                    }
                });
            }
        }

        LENT_TO.with(|hubs| hubs.borrow_mut().push(Arc::as_ptr(self).addr()));
        let _until = Until;
        work()
    }

    pub(crate) fn own_worker(&self) -> Option<usize> {
        let (hub, worker) = WORKS_FOR.get();
        (hub == std::ptr::from_ref(self).addr()).then_some(worker)
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn assert_not_on_own_worker(&self, method: &str) {
        let own = std::ptr::from_ref(self).addr();
        assert!(
            self.own_worker().is_none() && !LENT_TO.with(|hubs| hubs.borrow().contains(&own)),
            "`{method}` was called in a step of the same executor, which may wait for itself; call it from another thread, \
             or await the ticket from async code"
        );
    }
}

thread_local! {
    /// The hub's address and the worker's number; 0 on a thread that is no worker.
    static WORKS_FOR: Cell<(usize, usize)> = const { Cell::new((0, 0)) };

    /// Addresses of hubs whose jobs this thread helps, the current one last. It is never dropped,
    /// because another thread-local may wait for a job while the thread ends.
    static LENT_TO: ManuallyDrop<RefCell<Vec<usize>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Returns whether this thread works for a pipeline executor now, as a worker or helper. Such a
/// thread must wait only for its own work; a blocking function can refuse here.
///
/// ```
/// use pipeline_exec::{Job, PipelineExecutor, on_worker_thread};
///
/// assert!(!on_worker_thread());
/// let asks = Job::builder("asks").output(|_cx| Ok(on_worker_thread())).build();
/// assert!(PipelineExecutor::new(1)?.submit(asks)?.wait()?.output);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn on_worker_thread() -> bool {
    WORKS_FOR.get().0 != 0 || LENT_TO.with(|hubs| !hubs.borrow().is_empty())
}
