//! Workers and queues of plain data, so that a test decides where tasks are.
//!
//! A budget of operations turns an endless loop of the policy into a panic.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use executor_core::ports::{
    Clock, Entropy, Faults, Fetch, Inject, LocalQueue, Memory, Native, NativeWord, Parking, ProducerPorts,
    Run, Steal, Stealing, Unpark, Waiting,
};
use executor_core::{
    ExecTraceEvent, ExecutorConfig, NoopTrace, Park, Scheduler, TieredIdle, TraceHooks, WorkerCtxLike,
    WorkerMetricsLocal, WorkerState, WorkerStepResult, worker_step,
};

pub(crate) type Task = u32;

const OPERATIONS_MAX: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Load(Ordering),
    Store(Ordering),
    Change(Ordering),
    Fence(Ordering),
    Push,
    Pop,
    Take,
    ReadClock,
    Pause,
}

pub(crate) type Meanwhile = Box<dyn FnOnce(&Rc<Top>)>;

pub(crate) struct Top {
    pub(crate) scheduler: Scheduler<NativeWord>,
    pub(crate) injector: RefCell<VecDeque<Task>>,
    pub(crate) queues: Vec<RefCell<VecDeque<Task>>>,
    pub(crate) unparked: RefCell<Vec<usize>>,
    pub(crate) stolen_together: Cell<usize>,
    pub(crate) contention: Cell<u32>,
    pub(crate) panics: Cell<u32>,
    pub(crate) wake_delay: Cell<Duration>,
    pub(crate) while_parked: RefCell<VecDeque<Meanwhile>>,
    pub(crate) while_waiting: RefCell<VecDeque<Meanwhile>>,
    pub(crate) signals: Cell<u64>,
    pub(crate) unpark_ns: Cell<u64>,
    pub(crate) spun: RefCell<Vec<u32>>,
    pub(crate) now_ns: Cell<u64>,
    operations: Cell<u32>,
    log: RefCell<Vec<Operation>>,
}

impl Top {
    pub(crate) fn new(config: ExecutorConfig) -> Rc<Self> {
        let queues = (0..config.workers).map(|_| RefCell::default()).collect();
        Rc::new(Self {
            scheduler: Scheduler::new(config, NativeWord::new),
            injector: RefCell::default(),
            queues,
            unparked: RefCell::default(),
            stolen_together: Cell::new(1),
            contention: Cell::new(0),
            panics: Cell::new(0),
            wake_delay: Cell::default(),
            while_parked: RefCell::default(),
            while_waiting: RefCell::default(),
            signals: Cell::new(0),
            unpark_ns: Cell::new(0),
            spun: RefCell::default(),
            now_ns: Cell::new(0),
            operations: Cell::new(0),
            log: RefCell::default(),
        })
    }

    pub(crate) fn of(workers: usize) -> Rc<Self> {
        Self::new(ExecutorConfig::new(workers).tune(|tuning| tuning.spin_iters = 0))
    }

    pub(crate) fn spawn(self: &Rc<Self>, task: Task) {
        self.scheduler
            .spawn_external(&self.ports(usize::MAX), task)
            .expect("the gate is open");
    }

    pub(crate) fn place(self: &Rc<Self>, worker: usize, task: Task) {
        self.scheduler
            .state()
            .increment_count(&Native)
            .expect("the gate is open");
        self.queues[worker].borrow_mut().push_back(task);
    }

    pub(crate) fn place_outside(&self, task: Task) {
        self.scheduler
            .state()
            .increment_count(&Native)
            .expect("the gate is open");
        self.injector.borrow_mut().push_back(task);
    }

    /// Lets `worker` register and fall asleep, which unwinds out of the protocol.
    pub(crate) fn register(self: &Rc<Self>, worker: usize, searching: bool) {
        let ports = self.ports(worker);
        let slept = catch_unwind(AssertUnwindSafe(|| {
            self.scheduler
                .sleep()
                .sleep(&ports, worker, searching, Park::default(), || None::<()>)
        }));
        assert!(slept.is_err_and(|payload| payload.is::<FellAsleep>()));
    }

    pub(crate) fn take_log(&self) -> Vec<Operation> {
        self.log.take()
    }

    pub(crate) fn public(&self, worker: usize) -> Vec<Task> {
        self.queues[worker].borrow().iter().copied().collect()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.scheduler.state().in_flight(&Native)
    }

    pub(crate) fn ports(self: &Rc<Self>, worker: usize) -> Ports {
        Ports {
            top: self.clone(),
            worker,
        }
    }

    pub(crate) fn worker(self: &Rc<Self>, worker: usize) -> Worker {
        Worker {
            state: WorkerState::new(worker, self.ports(worker)),
            scratch: Vec::new(),
            metrics: WorkerMetricsLocal::default(),
            isolated: 0,
            handler_panics: false,
        }
    }
}

/// Unwinds out of a worker that would sleep for good.
#[derive(Debug)]
pub(crate) struct FellAsleep;

#[derive(Debug)]
pub(crate) struct PlannedPanic;

impl PlannedPanic {
    pub(crate) fn throw() -> ! {
        std::panic::resume_unwind(Box::new(Self))
    }
}

/// Hooks that panic at the events that it picks.
pub(crate) struct Fragile(pub(crate) fn(&ExecTraceEvent<()>) -> bool);

impl TraceHooks<Task> for Fragile {
    type Tag = ();

    fn tag(&mut self, _task: &Task) {}

    fn event(&mut self, event: ExecTraceEvent<()>) {
        if (self.0)(&event) {
            PlannedPanic::throw();
        }
    }
}

pub(crate) struct Ports {
    top: Rc<Top>,
    worker: usize,
}

pub(crate) struct Worker {
    pub(crate) state: WorkerState<Task, Ports>,
    pub(crate) scratch: Vec<Task>,
    pub(crate) metrics: WorkerMetricsLocal,
    pub(crate) isolated: u32,
    pub(crate) handler_panics: bool,
}

impl Worker {
    pub(crate) fn step(&mut self) -> WorkerStepResult<()> {
        self.step_with(&|_, _| {})
    }

    pub(crate) fn step_with(&mut self, runner: &dyn Fn(Task, &mut Self)) -> WorkerStepResult<()> {
        self.step_returning(&|task, cx| {
            runner(task, cx);
            None
        })
    }

    pub(crate) fn step_returning(
        &mut self,
        runner: &dyn Fn(Task, &mut Self) -> Option<Task>,
    ) -> WorkerStepResult<()> {
        let noting = |task: Task, cx: &mut Self| {
            cx.scratch.push(task);
            runner(task, cx)
        };
        worker_step(self, &noting, &mut TieredIdle::new(0, None), &mut NoopTrace)
    }
}

impl WorkerCtxLike<Task, Vec<Task>> for Worker {
    type Ports = Ports;

    fn state(&mut self) -> &mut WorkerState<Task, Ports> {
        &mut self.state
    }

    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.metrics
    }

    fn isolate(&mut self, payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        assert!(payload.is::<PlannedPanic>(), "only a task's panic is isolated");
        self.isolated += 1;
        self.scratch.clear();
        if self.handler_panics {
            PlannedPanic::throw();
        }
        Ok(())
    }
}

impl Ports {
    fn spend(&self, operation: Operation, what: &str) {
        self.top.log.borrow_mut().push(operation);
        let operations = self.top.operations.get() + 1;
        self.top.operations.set(operations);
        // A second panic would abort and hide the first.
        if operations > OPERATIONS_MAX && !std::thread::panicking() {
            let in_flight = self.top.in_flight();
            panic!(
                "worker {} does not come to an end: after {OPERATIONS_MAX} operations it still {what}, {in_flight} in flight",
                self.worker
            );
        }
    }
}

impl Memory for Ports {
    type Word = NativeWord;

    fn load(&self, word: &NativeWord, order: Ordering) -> usize {
        self.spend(Operation::Load(order), "reads a word");
        Native.load(word, order)
    }

    fn store(&self, word: &NativeWord, value: usize, order: Ordering) {
        self.spend(Operation::Store(order), "writes a word");
        Native.store(word, value, order);
    }

    fn fetch(&self, word: &NativeWord, fetch: Fetch, order: Ordering) -> usize {
        self.spend(Operation::Change(order), "changes a word");
        Native.fetch(word, fetch, order)
    }

    fn compare_exchange(
        &self,
        word: &NativeWord,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<usize, usize> {
        self.spend(Operation::Change(order), "exchanges a word");
        Native.compare_exchange(word, current, new, order)
    }

    fn fence(&self, order: Ordering) {
        self.spend(Operation::Fence(order), "passes a fence");
        Native.fence(order);
    }
}

impl Inject<Task> for Ports {
    fn inject(&self, task: Task) {
        self.spend(Operation::Push, "hands tasks to the injector");
        self.top.injector.borrow_mut().push_back(task);
    }

    fn inject_batch(&self, batch: Vec<Task>) {
        self.spend(Operation::Push, "hands a batch to the injector");
        self.top.injector.borrow_mut().extend(batch);
    }
}

impl ProducerPorts<Task> for Ports {
    fn scheduler(&self) -> &Scheduler<NativeWord> {
        &self.top.scheduler
    }
}

impl LocalQueue<Task> for Ports {
    fn push(&self, task: Task) {
        self.spend(Operation::Push, "adds to its own queue");
        self.top.queues[self.worker].borrow_mut().push_back(task);
    }

    fn pop(&self) -> Option<Task> {
        self.spend(Operation::Pop, "takes from its own queue");
        self.top.queues[self.worker].borrow_mut().pop_back()
    }

    fn is_empty(&self) -> bool {
        self.top.queues[self.worker].borrow().is_empty()
    }
}

impl Ports {
    fn take(&self, from: &RefCell<VecDeque<Task>>, most: usize, put: impl FnMut(Task)) -> Steal<()> {
        self.spend(Operation::Take, "takes from the injector or a victim");
        if let Some(left) = self.top.contention.get().checked_sub(1) {
            self.top.contention.set(left);
            return Steal::Retry;
        }
        let mut from = from.borrow_mut();
        if from.is_empty() {
            return Steal::Empty;
        }
        let most = most.min(from.len());
        from.drain(..most).for_each(put);
        Steal::Task(())
    }
}

impl Stealing<Task> for Ports {
    fn steal_injected(&self, most: usize, run: &mut Run<Task>) -> Steal<()> {
        self.take(&self.top.injector, most, |task| run.push(task))
    }

    fn injector_is_empty(&self) -> bool {
        self.top.injector.borrow().is_empty()
    }

    fn victim_is_empty(&self, victim: usize) -> bool {
        self.top.queues[victim].borrow().is_empty()
    }

    fn steal_from(&self, victim: usize) -> Steal<Task> {
        assert_ne!(victim, self.worker, "a worker stole from itself");
        let mut taken = VecDeque::new();
        let most = self.top.stolen_together.get();
        match self.take(&self.top.queues[victim], most, |task| taken.push_back(task)) {
            Steal::Task(()) => {
                let first = taken.pop_front().expect("at least one was taken");
                taken.into_iter().for_each(|task| self.push(task));
                Steal::Task(first)
            }
            Steal::Empty => Steal::Empty,
            Steal::Retry => Steal::Retry,
        }
    }
}

impl Unpark for Ports {
    fn unpark(&self, worker: usize) {
        self.top.unparked.borrow_mut().push(worker);
        self.top
            .now_ns
            .set(self.top.now_ns.get() + self.top.unpark_ns.get());
    }

    fn signal_waiters(&self) {
        self.top.signals.set(self.top.signals.get() + 1);
    }
}

impl Waiting for Ports {
    fn ticket(&self) -> u64 {
        self.top.signals.get()
    }

    fn wait_past(&self, ticket: u64) {
        while self.top.signals.get() <= ticket {
            let meanwhile = self.top.while_waiting.borrow_mut().pop_front();
            meanwhile.expect("it waits for ever")(&self.top);
        }
    }
}

impl Parking for Ports {
    fn park(&self, _timeout: Option<Duration>) {
        let meanwhile = self.top.while_parked.borrow_mut().pop_front();
        match meanwhile {
            Some(meanwhile) => meanwhile(&self.top),
            None => std::panic::resume_unwind(Box::new(FellAsleep)),
        }
    }

    fn take_wake_delay(&self) -> Duration {
        self.top.wake_delay.take()
    }

    fn spin(&self, times: u32) {
        self.spend(Operation::Pause, "spins");
        self.top.spun.borrow_mut().push(times);
    }

    fn yield_now(&self) {
        self.spend(Operation::Pause, "yields");
    }
}

impl Clock for Ports {
    fn now_ns(&self) -> u64 {
        self.spend(Operation::ReadClock, "reads the clock");
        self.top.now_ns.get()
    }
}

impl Entropy for Ports {
    fn below(&self, _bound: usize) -> usize {
        0
    }
}

impl Faults for Ports {
    fn record_panic(&self, payload: Box<dyn Any + Send>) {
        // Only planned panics are a task's; others go on to the test.
        assert!(
            !payload.is::<FellAsleep>(),
            "worker {} fell asleep with nobody to wake it",
            self.worker
        );
        if !payload.is::<PlannedPanic>() {
            std::panic::resume_unwind(payload);
        }
        self.top.panics.set(self.top.panics.get() + 1);
    }
}
