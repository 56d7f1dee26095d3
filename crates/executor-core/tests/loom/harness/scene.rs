//! A whole executor on loom: words, parkers, and queues that publish by a plain store.
//!
//! A queue behind a mutex, or published by a read-modify-write, would hide a missing fence. So a
//! queue is a row of cells, one for each task, and a push is one `Release` store. Only the taker
//! exchanges.

use std::any::Any;
use std::cell::RefCell;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::time::Duration;

use executor_core::ports::{
    Clock, Entropy, Faults, Inject, LocalQueue, Parking, ProducerPorts, Run, Steal, Stealing, Unpark, Waiting,
};
use executor_core::sleep::{Search, Slept};
use executor_core::{
    ExecTraceEvent, ExecutorConfig, NextTask, NoopTrace, Park, Scheduler, TieredIdle, TraceHooks,
    WorkerCtxLike, WorkerExit, WorkerMetricsLocal, WorkerState, WorkerStepResult, run_worker, worker_step,
};
use loom::sync::atomic::AtomicUsize;
use loom::sync::{Arc, Condvar, Mutex, Notify};

use super::memory::LoomMemory;

pub(crate) type Task = usize;

const QUEUED: usize = 1;
const TAKEN: usize = 2;

pub(crate) struct Row(Vec<AtomicUsize>);

impl Row {
    pub(crate) fn new(tasks: usize) -> Self {
        Self((0..tasks).map(|_| AtomicUsize::new(0)).collect())
    }

    pub(crate) fn push(&self, task: Task) {
        self.0[task].store(QUEUED, Ordering::Release);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|cell| cell.load(Ordering::Relaxed) != QUEUED)
    }

    pub(crate) fn take(&self) -> Option<Task> {
        self.0.iter().position(|cell| {
            cell.load(Ordering::Relaxed) == QUEUED
                && cell
                    .compare_exchange(QUEUED, TAKEN, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
        })
    }
}

#[derive(Clone)]
pub(crate) struct Scene(Arc<Shared>);

impl Deref for Scene {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

pub(crate) struct Shared {
    pub(crate) scheduler: Scheduler<AtomicUsize>,
    pub(crate) injector: Row,
    pub(crate) locals: Vec<Row>,
    parkers: Vec<Notify>,
    signals: Mutex<u64>,
    signalled: Condvar,
    ran: Vec<AtomicUsize>,
    back: Vec<AtomicUsize>,
}

impl Scene {
    pub(crate) fn new(workers: usize, tasks: usize, credit_block: usize) -> Self {
        Self::of(Self::config(workers, credit_block), tasks)
    }

    /// Tasks count as short from the first spawn, and one operation justifies a wake.
    pub(crate) fn keeping(workers: usize, tasks: usize, credit_block: usize) -> Self {
        let config = Self::config(workers, credit_block).tune(|tuning| {
            tuning.fairness_interval = 1;
            tuning.private_tasks = tasks;
            tuning.wake_threshold = 1;
        });
        Self::of(config, tasks)
    }

    fn config(workers: usize, credit_block: usize) -> ExecutorConfig {
        ExecutorConfig::new(workers).tune(|tuning| {
            tuning.steal_tries = 1;
            tuning.spin_iters = 0;
            tuning.credit_block = credit_block;
            tuning.private_tasks = 0;
        })
    }

    fn of(config: ExecutorConfig, tasks: usize) -> Self {
        let workers = config.workers;
        let none = || (0..tasks).map(|_| AtomicUsize::new(0)).collect();
        Self(Arc::new(Shared {
            scheduler: Scheduler::new(config, AtomicUsize::new),
            injector: Row::new(tasks),
            locals: (0..workers).map(|_| Row::new(tasks)).collect(),
            parkers: (0..workers).map(|_| Notify::new()).collect(),
            signals: Mutex::new(0),
            signalled: Condvar::new(),
            ran: none(),
            back: none(),
        }))
    }

    pub(crate) fn outside(&self) -> Party {
        Party {
            scene: self.clone(),
            worker: usize::MAX,
        }
    }

    pub(crate) fn outside_as(&self, worker: usize) -> Party {
        Party {
            scene: self.clone(),
            worker,
        }
    }

    pub(crate) fn work<N: NextTask<Task>>(
        &self,
        worker: usize,
        runner: impl Fn(Task, &mut LoomWorker) -> N,
    ) -> (Vec<Task>, WorkerExit) {
        let mut cx = self.worker(worker);
        let runner = self.counted(runner);
        let mut trace = HandBacks(self.clone());
        let exit = run_worker(&mut cx, &runner, &mut TieredIdle::new(0, None), &mut trace);
        (cx.state.take_returned(), exit)
    }

    pub(crate) fn worker(&self, worker: usize) -> LoomWorker {
        LoomWorker {
            state: WorkerState::new(worker, self.outside_as(worker)),
            metrics: WorkerMetricsLocal::default(),
        }
    }

    pub(crate) fn step(&self, cx: &mut LoomWorker, runner: impl Fn(Task, &mut LoomWorker)) {
        let runner = self.counted(runner);
        let result = worker_step(cx, &runner, &mut TieredIdle::new(0, None), &mut NoopTrace);
        assert!(matches!(result, WorkerStepResult::RanTask { .. }), "{result:?}");
    }

    pub(crate) fn take_one(&self, row: &Row, me: usize, mut searching: bool) -> Task {
        let ports = self.outside_as(me);
        let sleep = self.scheduler.sleep();
        let found = |was| sleep.found_work(&ports, was, false, || !row.is_empty());
        loop {
            if let Some(task) = row.take() {
                found(if searching { Search::Yes } else { Search::No });
                return task;
            }
            match sleep.sleep(&ports, me, searching, Park::default(), || row.take()) {
                Slept::Found(task) => {
                    found(Search::LastLook);
                    return task;
                }
                Slept::FoundAndWoken(task) => {
                    found(Search::Yes);
                    return task;
                }
                Slept::Woken => searching = true,
                Slept::Over => panic!("nobody ended this scene"),
            }
        }
    }

    fn counted<N>(&self, runner: impl Fn(Task, &mut LoomWorker) -> N) -> impl Fn(Task, &mut LoomWorker) -> N {
        let scene = self.clone();
        move |task, cx| {
            scene.note_run(task);
            runner(task, cx)
        }
    }

    pub(crate) fn note_run(&self, task: Task) {
        self.ran[task].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn runs(&self, task: Task) -> usize {
        self.ran[task].load(Ordering::Relaxed)
    }

    pub(crate) fn hand_backs(&self, task: Task) -> usize {
        self.back[task].load(Ordering::Relaxed)
    }

    pub(crate) fn signals(&self) -> u64 {
        *self.signals.lock().unwrap()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.scheduler.sleep().peek(&LoomMemory).is_done()
    }
}

struct HandBacks(Scene);

impl TraceHooks<Task> for HandBacks {
    type Tag = Task;

    fn tag(&mut self, task: &Task) -> Task {
        *task
    }

    fn event(&mut self, event: ExecTraceEvent<Task>) {
        if let ExecTraceEvent::Returned { tag } = event {
            self.0.back[tag].fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(crate) struct Party {
    scene: Scene,
    worker: usize,
}

pub(crate) struct LoomWorker {
    state: WorkerState<Task, Party>,
    metrics: WorkerMetricsLocal,
}

impl WorkerCtxLike<Task, ()> for LoomWorker {
    type Ports = Party;

    fn state(&mut self) -> &mut WorkerState<Task, Party> {
        &mut self.state
    }

    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.metrics
    }
}

executor_core::delegate_memory!(impl[] Memory<AtomicUsize> for Party, |_party| LoomMemory);

impl Inject<Task> for Party {
    /// A plain store and a fence stand for a sequentially consistent operation, which loom does not
    /// know.
    fn inject(&self, task: Task) {
        self.scene.injector.push(task);
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    /// One by one, since a row has a cell for each task.
    fn inject_batch(&self, batch: Vec<Task>) {
        batch.into_iter().for_each(|task| self.inject(task));
    }
}

impl ProducerPorts<Task> for Party {
    fn scheduler(&self) -> &Scheduler<AtomicUsize> {
        &self.scene.scheduler
    }
}

impl LocalQueue<Task> for Party {
    fn push(&self, task: Task) {
        self.scene.locals[self.worker].push(task);
    }

    fn pop(&self) -> Option<Task> {
        self.scene.locals[self.worker].take()
    }

    fn is_empty(&self) -> bool {
        self.scene.locals[self.worker].is_empty()
    }
}

impl Stealing<Task> for Party {
    fn steal_injected(&self, _most: usize, run: &mut Run<Task>) -> Steal<()> {
        let taken = self.scene.injector.take().map(|task| run.push(task));
        taken.map_or(Steal::Empty, Steal::Task)
    }

    fn injector_is_empty(&self) -> bool {
        self.scene.injector.is_empty()
    }

    fn victim_is_empty(&self, victim: usize) -> bool {
        self.scene.locals[victim].is_empty()
    }

    fn steal_from(&self, victim: usize) -> Steal<Task> {
        self.scene.locals[victim].take().map_or(Steal::Empty, Steal::Task)
    }
}

impl Unpark for Party {
    fn unpark(&self, worker: usize) {
        self.scene.parkers[worker].notify();
    }

    fn signal_waiters(&self) {
        *self.scene.signals.lock().unwrap() += 1;
        self.scene.signalled.notify_all();
    }
}

impl Parking for Party {
    fn park(&self, _timeout: Option<Duration>) {
        self.scene.parkers[self.worker].wait();
    }

    fn spin(&self, _times: u32) {
        loom::thread::yield_now();
    }

    fn yield_now(&self) {
        loom::thread::yield_now();
    }
}

/// Time stands still, so tasks count as short.
impl Clock for Party {
    fn now_ns(&self) -> u64 {
        0
    }
}

impl Waiting for Party {
    fn ticket(&self) -> u64 {
        *self.scene.signals.lock().unwrap()
    }

    fn wait_past(&self, ticket: u64) {
        let mut signals = self.scene.signals.lock().unwrap();
        while *signals <= ticket {
            signals = self.scene.signalled.wait(signals).unwrap();
        }
    }
}

thread_local! {
    static PANICS: RefCell<Vec<Box<dyn Any + Send>>> = const { RefCell::new(Vec::new()) };
}

impl Entropy for Party {
    fn below(&self, _bound: usize) -> usize {
        0
    }
}

impl Faults for Party {
    fn record_panic(&self, payload: Box<dyn Any + Send>) {
        // Panics of loom itself go on; only planned panics are a task's.
        if payload.is::<PlannedPanic>() {
            PANICS.with_borrow_mut(|panics| panics.push(payload));
        } else {
            std::panic::resume_unwind(payload);
        }
    }
}

pub(crate) struct PlannedPanic;

impl PlannedPanic {
    pub(crate) fn throw() -> ! {
        std::panic::resume_unwind(Box::new(Self))
    }
}
