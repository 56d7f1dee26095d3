//! The policy's ports on threads: the machine's atomics, crossbeam's skip list and queue, mutexes, and the monotonic clock.
//!
//! Nothing here decides anything. Each method is the operation that its port names.

mod job_table;
mod key_set;
mod record;
mod room;
mod spares;
mod tell;
mod unpark;

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::queue::SegQueue;
use executor_core::ports::{Clock, Exclusive, Fifo, Native, NativeWord, OrderedSet, Table};
use executor_threaded::ExecutorHandle;

use crate::metrics::Meter;
use crate::policy::{
    JobBoard, JobBody, JobHandle, JobState, Ledger, PipelineConfig, PipelineEvent, PipelinePorts,
    PipelineShared, guard,
};
use crate::spans;
use crate::trace::{PipelineTrace, Recorder};
use job_table::JobTable;
use key_set::KeySet;
pub(crate) use room::{Room, Waiter};
pub(crate) use spares::Spares;
pub(crate) use unpark::unparker;

/// The executor's task: look at the board.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipelineTask;

pub(crate) type NativePlace = Mutex<Ledger>;
pub(crate) type NativeBody = JobBody<NativeWord, NativePlace>;
pub(crate) type NativeState = JobState<NativeWord, NativePlace>;

type Shared = PipelineShared<NativeWord, KeySet, SegQueue<JobHandle>, JobTable<Arc<NativeBody>>>;

/// What all parties of a pipeline executor on threads share; through a reference it is each party's ports as well.
pub(crate) struct Hub {
    shared: Shared,
    /// The executor below; set once its threads run.
    workers: OnceLock<ExecutorHandle<PipelineTask>>,
    epoch: Instant,
    ended: Mutex<bool>,
    ended_told: Condvar,
    pub(crate) room: Room,
    pub(crate) spares: Spares,
    meter: Meter,
    recorder: Option<Arc<Recorder>>,
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
            room: Room::default(),
            spares: Spares::default(),
            meter,
            recorder: None,
        }
    }

    /// Records what happens for `trace`, with lanes for workers of these names.
    pub(crate) fn record_for(&mut self, trace: &PipelineTrace, workers: impl IntoIterator<Item = String>) {
        self.recorder = Some(trace.recorder(self.epoch, workers));
    }

    /// The threads run; called once, before any job is submitted.
    pub(crate) fn set_workers(&self, workers: ExecutorHandle<PipelineTask>) {
        let first = self.workers.set(workers).is_ok();
        debug_assert!(first, "an executor is built once");
    }

    /// Blocks until the last job has ended after the gate was closed.
    #[expect(
        clippy::disallowed_methods,
        reason = "for the owner's thread, never on a worker"
    )]
    pub(crate) fn wait_ended(&self) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = self.ended_told.wait_while(ended, |ended| !*ended);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }

    /// The same, for at most so long. `false` if a job has not ended by then.
    #[expect(
        clippy::disallowed_methods,
        reason = "for the owner's thread, never on a worker"
    )]
    pub(crate) fn wait_ended_for(&self, timeout: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .ended_told
            .wait_timeout_while(ended, timeout, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Runs `work` as this executor's worker `worker`.
    pub(crate) fn as_worker<R>(self: &Arc<Self>, worker: usize, work: impl FnOnce() -> R) -> R {
        // Its threads work for nobody else, as long as they live.
        WORKS_FOR.set((Arc::as_ptr(self).addr(), worker));
        work()
    }

    /// Runs `work`, in which this thread is lent to a job: its steps may wait no more than a worker's.
    pub(crate) fn as_lent<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        struct Until;

        impl Drop for Until {
            fn drop(&mut self) {
                LENT_TO.with(|hubs| {
                    let mut hubs = hubs.borrow_mut();
                    hubs.pop();
                    if hubs.is_empty() {
                        // Nobody drops it when the thread ends.
                        *hubs = Vec::new();
                    }
                });
            }
        }

        LENT_TO.with(|hubs| hubs.borrow_mut().push(Arc::as_ptr(self).addr()));
        let _until = Until;
        work()
    }

    /// The worker of this executor whose thread this is.
    pub(crate) fn own_worker(&self) -> Option<usize> {
        let (hub, worker) = WORKS_FOR.get();
        (hub == std::ptr::from_ref(self).addr()).then_some(worker)
    }

    /// Where it counts.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// A step that waits for its own executor may wait for itself; rather than hang, say so.
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
    /// Address of the hub for which this thread runs looks, or 0, and as which worker.
    static WORKS_FOR: Cell<(usize, usize)> = const { Cell::new((0, 0)) };

    /// Addresses of the hubs to whose jobs this thread is lent, the last one for the time being. It has nothing to drop, so that it can still be asked
    /// while the thread ends: what other crates keep for a thread may wait for a job when it is dropped.
    static LENT_TO: ManuallyDrop<RefCell<Vec<usize>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Whether this thread works for a pipeline executor at the moment, of whatever kind: it is one of its workers, or is lent to one of its jobs. Such a
/// thread must not wait for anything but its own work, or others wait for it; whoever offers something that blocks
/// can refuse here.
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

executor_core::delegate_memory!(impl[] Memory<NativeWord> for Hub, |_hub| Native);

impl Clock for Hub {
    #[inline]
    fn now_ns(&self) -> u64 {
        // Enough for 584 years.
        self.epoch.elapsed().as_nanos() as u64
    }
}

impl OrderedSet<JobHandle> for Hub {
    type Set = KeySet;

    fn insert(&self, set: &Self::Set, key: JobHandle) -> bool {
        set.insert(key)
    }

    fn remove(&self, set: &Self::Set, key: &JobHandle) -> bool {
        set.remove(key)
    }

    #[inline]
    fn last(&self, set: &Self::Set, below: Option<&JobHandle>) -> Option<JobHandle> {
        set.last(below)
    }
}

impl Fifo<JobHandle> for Hub {
    type Queue = SegQueue<JobHandle>;

    #[inline]
    fn push(&self, queue: &Self::Queue, value: JobHandle) {
        queue.push(value);
    }

    #[inline]
    fn pop(&self, queue: &Self::Queue) -> Option<JobHandle> {
        queue.pop()
    }

    #[inline]
    fn len(&self, queue: &Self::Queue) -> usize {
        queue.len()
    }
}

impl Table<Arc<NativeBody>> for Hub {
    type Places = JobTable<Arc<NativeBody>>;

    fn put(&self, table: &Self::Places, value: Arc<NativeBody>) -> Result<usize, Arc<NativeBody>> {
        table.put(value)
    }

    fn get(&self, table: &Self::Places, index: usize) -> Option<Arc<NativeBody>> {
        table.get(index)
    }

    fn used(&self, table: &Self::Places) -> usize {
        table.used()
    }

    fn clear(&self, table: &Self::Places, index: usize) -> Option<Arc<NativeBody>> {
        table.clear(index)
    }
}

impl Exclusive<Ledger> for Hub {
    type Place = NativePlace;

    fn change<R>(&self, place: &NativePlace, change: impl FnOnce(&mut Ledger) -> R) -> R {
        change(&mut place.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PipelinePorts for Hub {
    fn shared(&self) -> &Shared {
        &self.shared
    }

    #[inline]
    fn word(&self, value: usize) -> NativeWord {
        NativeWord::new(value)
    }

    fn place(&self) -> NativePlace {
        Mutex::default()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a lent thread sleeps while others run its job's last slots"
    )]
    fn park_with(&self, wait: impl FnOnce(&Waker, &mut dyn FnMut())) {
        wait(&unparker(), &mut thread::park);
    }

    fn hand_over(&self, looks: usize) -> bool {
        let Some(workers) = self.workers.get() else {
            return false;
        };
        match looks {
            1 => workers.spawn(PipelineTask).is_ok(),
            looks => workers.spawn_batch(vec![PipelineTask; looks]).is_ok(),
        }
    }

    fn wake_spare(&self, spare: usize) {
        self.spares.wake(spare);
    }

    fn all_ended(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended_told.notify_all();
    }

    fn place_freed(&self) {
        self.room.tell();
    }

    // Always: where an event is made its kind is known, and of what follows only that kind's part is left.
    #[inline(always)]
    fn observe(&self, event: PipelineEvent<'_>) {
        match event {
            PipelineEvent::SlotRan { worker, role, .. } => self.meter.slot_ran(worker, role),
            PipelineEvent::Claimed { .. } => {}
            PipelineEvent::Entered {
                worker, role, at_ns, ..
            } => self.meter.entered(worker, role, at_ns),
            PipelineEvent::Left {
                worker,
                role,
                since_ns,
                at_ns,
                claims,
                ..
            } => self.meter.left(worker, role, since_ns, at_ns, claims),
            PipelineEvent::Started {
                class,
                worker,
                wait_ns,
                ..
            } => self.meter.waited(worker, class, wait_ns),
            PipelineEvent::Ended {
                class,
                error,
                wait_ns,
                run_ns,
                ..
            } => {
                let error = error.map(|error| error.kind);
                self.meter.ended(self.own_worker(), class, error, wait_ns, run_ns);
            }
            PipelineEvent::Submitted { .. }
            | PipelineEvent::StageStarted { .. }
            | PipelineEvent::StageOver { .. }
            | PipelineEvent::Settles { .. }
            | PipelineEvent::Stops
            | PipelineEvent::GivenBack { .. }
            | PipelineEvent::GivenUp { .. }
            | PipelineEvent::Nests { .. }
            | PipelineEvent::NestAnswered { .. }
            | PipelineEvent::NestOver { .. }
            | PipelineEvent::TaskSpawned { .. }
            | PipelineEvent::TaskWoken { .. }
            | PipelineEvent::TaskCancelled { .. }
            | PipelineEvent::Takes { .. }
            | PipelineEvent::TurnOver { .. }
            | PipelineEvent::TaskOver { .. }
            | PipelineEvent::Failed { .. } => {}
        }
        if tell::is_told(&event) && spans::are_possible() {
            guard::quietly(|| self.tell(&event));
        }
        if !matches!(event, PipelineEvent::SlotRan { .. })
            && let Some(recorder) = &self.recorder
        {
            self.record(recorder, &event);
        }
    }
}
