//! The policy's ports as plain data for one thread: a test makes the workers' steps and sets the
//! clock. A budget of operations turns an endless loop into a panic.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use executor_core::ports::{Clock, Exclusive, Fetch, Fifo, Memory, OrderedSet, Table};
use pipeline_exec::policy::{
    self, Admitted, InnerEvent, JobBody, JobEnd, JobSpec, JobState, Ledger, LookEnd, PipelineConfig,
    PipelineEvent, PipelinePorts, PipelineShared, Refused, Terms, grow,
};
use pipeline_exec::{
    Class, JobId, JobStatus, Role, Stage, StepCx, StepError,
    open_job::Task,
    policy::{JobBoard, JobHandle},
};

type Set = RefCell<BTreeSet<JobHandle>>;
type Queue = RefCell<VecDeque<JobHandle>>;
type Body = JobBody<Cell<usize>, RefCell<Ledger>>;
type Places = RefCell<Vec<Option<Arc<Body>>>>;

const OPERATIONS_MAX: u32 = 1_000_000;

pub(crate) struct Plain {
    shared: PipelineShared<Cell<usize>, Set, Queue, Places>,
    clock: RefCell<Arc<AtomicU64>>,
    pub(crate) handed_over: Cell<usize>,
    pub(crate) events: RefCell<Vec<String>>,
    pub(crate) started: RefCell<Vec<(String, usize, usize)>>,
    names: RefCell<BTreeMap<usize, String>>,
    pub(crate) workers_leave: Cell<bool>,
    pub(crate) roles: RefCell<Vec<Role>>,
    pub(crate) widths: RefCell<Vec<usize>>,
    pub(crate) given_back: Cell<usize>,
    pub(crate) ran: Cell<usize>,
    /// Acts of other parties, once.
    pub(crate) after_change: RefCell<Option<Meanwhile>>,
    pub(crate) spares_woken: RefCell<Vec<usize>>,
    pub(crate) after_entering: RefCell<Option<Meanwhile>>,
    pub(crate) waking_takes: Cell<Duration>,
    operations: Cell<u32>,
}

thread_local! {
    /// A stage cannot hold it, because it is not `Send`.
    static UNDER_TEST: RefCell<Weak<Plain>> = RefCell::default();
}

pub(crate) struct Does(pub(crate) usize, pub(crate) fn(&Plain, usize));

impl Does {
    pub(crate) fn run_by_hand(&self, slot: usize) {
        let plain = UNDER_TEST.with_borrow(Weak::upgrade);
        self.1(&plain.expect("an executor is under test"), slot);
    }
}

impl Stage for Does {
    fn slots(&self) -> usize {
        self.0
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.run_by_hand(slot);
        Ok(())
    }
}

pub(crate) fn spec(name: &str, stages: Vec<Arc<dyn Stage>>) -> JobSpec {
    JobSpec::new(name.to_owned(), JobId::new(0), stages.into())
}

pub(crate) fn of_class(class: Class) -> Option<Box<Terms>> {
    let terms = Terms {
        class,
        ..Terms::default()
    };
    terms.boxed()
}

type Meanwhile = Box<dyn FnOnce(&Plain)>;

type PlainRefused = Refused<Cell<usize>, RefCell<Ledger>>;

pub(crate) struct PlainJob {
    pub(crate) state: Arc<JobState<Cell<usize>, RefCell<Ledger>>>,
    pub(crate) job: JobHandle,
}

impl Plain {
    /// The quantum is zero: each visit is one slot.
    pub(crate) fn new(main: usize, reserve: usize) -> Self {
        Self::with_quantum(main, reserve, Duration::ZERO)
    }

    pub(crate) fn with_quantum(main: usize, reserve: usize, quantum: Duration) -> Self {
        let config = PipelineConfig {
            main,
            reserve,
            quantum,
            capacity: 16,
        };
        let places = RefCell::new(vec![None; 16]);
        Self {
            shared: PipelineShared::new(config, JobBoard::default(), places, Cell::new),
            clock: RefCell::default(),
            handed_over: Cell::new(0),
            events: RefCell::default(),
            started: RefCell::default(),
            names: RefCell::default(),
            workers_leave: Cell::new(false),
            roles: RefCell::default(),
            widths: RefCell::default(),
            given_back: Cell::new(0),
            ran: Cell::new(0),
            after_change: RefCell::default(),
            spares_woken: RefCell::default(),
            after_entering: RefCell::default(),
            waking_takes: Cell::default(),
            operations: Cell::new(0),
        }
    }

    pub(crate) fn with_spares(mut self, spares: usize) -> Self {
        self.shared = self.shared.with_spares(spares, Cell::new);
        self
    }

    pub(crate) fn run_spare(&self, spare: usize) {
        policy::stand_in::run_spare(self, spare, |until_ns| match until_ns {
            None => self.shared.spare_is_awake(self, spare),
            Some(until_ns) => {
                self.clock.borrow().fetch_max(until_ns, Ordering::Relaxed);
                true
            }
        });
    }

    pub(crate) fn submit(
        &self,
        name: &str,
        cost: impl Into<Option<u64>>,
        class: Class,
        stages: Vec<Arc<dyn Stage>>,
    ) -> PlainJob {
        let job = self.submit_spec(JobSpec {
            cost: cost.into(),
            terms: of_class(class),
            ..spec(name, stages)
        });
        job.expect("there is room")
    }

    pub(crate) fn open(&self, name: &str, class: Class) -> PlainJob {
        let job = self.submit_spec(JobSpec {
            terms: of_class(class),
            ..JobSpec::of_tasks(name.to_owned(), JobId::new(0))
        });
        job.expect("there is room")
    }

    pub(crate) fn spawn(&self, job: &PlainJob, task: Box<dyn Task>) -> usize {
        let spawned = grow::spawn(self, &job.state, job.job, task, |_number| Waker::noop().clone());
        spawned.map_err(|_| "handed back").expect("the job takes tasks")
    }

    pub(crate) fn wake(&self, job: &PlainJob, task: usize) {
        grow::wake(self, &job.state, job.job, task);
    }

    pub(crate) fn submit_spec(&self, spec: JobSpec) -> Result<PlainJob, Box<PlainRefused>> {
        let body = JobBody::new(spec, 4, RefCell::new(Ledger::default()), Cell::new);
        let Admitted { state, job } = policy::submit(self, body).map_err(Box::new)?;
        Ok(PlainJob { state, job })
    }

    pub(crate) fn under_test(self) -> Rc<Self> {
        let plain = Rc::new(self);
        UNDER_TEST.set(Rc::downgrade(&plain));
        plain
    }

    pub(crate) fn look(&self, worker: usize) -> LookEnd {
        policy::look(self, worker)
    }

    pub(crate) fn looks_out(&self) -> usize {
        self.shared.looks().out(self)
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock
            .borrow()
            .fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns())
    }

    pub(crate) fn status(&self, job: &PlainJob) -> JobStatus {
        job.state.ledger().borrow().status()
    }

    pub(crate) fn cancel_all(&self) {
        for index in 0..self.used(self.shared.jobs()) {
            if let Some(body) = self.get(self.shared.jobs(), index) {
                let job = JobHandle {
                    rank: body.state().cost(),
                    seq: body.state().seq(),
                    index,
                };
                policy::cancel(self, body.state(), job);
            }
        }
    }

    pub(crate) fn board(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut below = None;
        while let Some(job) = self.shared.board().heaviest(self, below) {
            names.push(self.name(job));
            below = Some(job);
        }
        names
    }

    pub(crate) fn served(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut below = None;
        while let Some(job) = self.shared.board().least_served(self, below) {
            names.push(self.name(job));
            below = Some(job);
        }
        names
    }

    pub(crate) fn singles(&self) -> Vec<String> {
        let queue = self.shared.board().singles_queue().borrow();
        queue.iter().map(|job| self.name(*job)).collect()
    }

    pub(crate) fn main_runs_one(&self, worker: usize) -> bool {
        pipeline_exec::policy::run_main_worker(self, worker, 0)
    }

    pub(crate) fn reserve_runs_one(&self, worker: usize) -> bool {
        pipeline_exec::policy::run_reserve_worker(self, worker, 0)
    }

    pub(crate) fn follow(&self, clock: &Arc<AtomicU64>) {
        self.clock.replace(clock.clone());
    }

    pub(crate) fn take_events(&self) -> Vec<String> {
        self.events.take()
    }

    fn spend(&self, what: &str) {
        let operations = self.operations.get() + 1;
        self.operations.set(operations);
        // A second panic would abort and hide the first.
        if operations > OPERATIONS_MAX && !std::thread::panicking() {
            let last = self.events.borrow().last().cloned();
            panic!(
                "the jobs do not come to an end: after {OPERATIONS_MAX} operations the policy still {what}; \
                 the last event is {last:?}"
            );
        }
    }

    fn name(&self, job: JobHandle) -> String {
        let body = self
            .get(self.shared.jobs(), job.index)
            .expect("a job on the board has a body");
        body.spec().table_name.into_owned()
    }
}

impl Memory for Plain {
    type Word = Cell<usize>;

    fn load(&self, word: &Cell<usize>, _order: Ordering) -> usize {
        self.spend("reads a word");
        word.get()
    }

    fn store(&self, word: &Cell<usize>, value: usize, _order: Ordering) {
        self.spend("writes a word");
        word.set(value);
    }

    fn fetch(&self, word: &Cell<usize>, fetch: Fetch, _order: Ordering) -> usize {
        self.spend("changes a word");
        word.replace(fetch.apply(word.get()))
    }

    fn compare_exchange(
        &self,
        word: &Cell<usize>,
        current: usize,
        new: usize,
        _order: Ordering,
    ) -> Result<usize, usize> {
        self.spend("exchanges a word");
        if word.get() == current {
            Ok(word.replace(new))
        } else {
            Err(word.get())
        }
    }

    fn fence(&self, _order: Ordering) {}
}

impl Clock for Plain {
    fn now_ns(&self) -> u64 {
        self.clock.borrow().load(Ordering::Relaxed)
    }
}

impl OrderedSet<JobHandle> for Plain {
    type Set = Set;

    fn insert(&self, set: &Set, key: JobHandle) -> bool {
        set.borrow_mut().insert(key)
    }

    fn remove(&self, set: &Set, key: &JobHandle) -> bool {
        set.borrow_mut().remove(key)
    }

    fn last(&self, set: &Set, below: Option<&JobHandle>) -> Option<JobHandle> {
        self.spend("looks at the board");
        match below {
            Some(below) => set.borrow().range(..*below).next_back().copied(),
            None => set.borrow().last().copied(),
        }
    }
}

impl Fifo<JobHandle> for Plain {
    type Queue = Queue;

    fn push(&self, queue: &Queue, value: JobHandle) {
        queue.borrow_mut().push_back(value);
    }

    fn pop(&self, queue: &Queue) -> Option<JobHandle> {
        self.spend("takes singles");
        queue.borrow_mut().pop_front()
    }

    fn len(&self, queue: &Queue) -> usize {
        queue.borrow().len()
    }
}

impl Table<Arc<Body>> for Plain {
    type Places = Places;

    fn put(&self, table: &Places, value: Arc<Body>) -> Result<usize, Arc<Body>> {
        let mut places = table.borrow_mut();
        match places.iter().position(Option::is_none) {
            Some(index) => {
                places[index] = Some(value);
                Ok(index)
            }
            None => Err(value),
        }
    }

    fn get(&self, table: &Places, index: usize) -> Option<Arc<Body>> {
        table.borrow().get(index)?.clone()
    }

    fn used(&self, table: &Places) -> usize {
        table.borrow().len()
    }

    fn clear(&self, table: &Places, index: usize) -> Option<Arc<Body>> {
        table.borrow_mut().get_mut(index)?.take()
    }
}

impl Exclusive<Ledger> for Plain {
    type Place = RefCell<Ledger>;

    fn change<R>(&self, place: &RefCell<Ledger>, change: impl FnOnce(&mut Ledger) -> R) -> R {
        let changed = change(&mut place.borrow_mut());
        let meanwhile = self.after_change.take();
        if let Some(meanwhile) = meanwhile {
            meanwhile(self);
        }
        changed
    }
}

impl PipelinePorts for Plain {
    fn shared(&self) -> &PipelineShared<Cell<usize>, Set, Queue, Places> {
        &self.shared
    }

    fn word(&self, value: usize) -> Cell<usize> {
        Cell::new(value)
    }

    fn place(&self) -> RefCell<Ledger> {
        RefCell::default()
    }

    fn park_with(&self, _wait: impl FnOnce(&Waker, &mut dyn FnMut())) {
        unreachable!("nobody waits here: there is one thread");
    }

    fn nest(
        &self,
        outer: (&Arc<JobState<Cell<usize>, RefCell<Ledger>>>, JobHandle),
        cx: &StepCx<'_>,
        spec: JobSpec,
    ) -> JobEnd {
        policy::nest_in(self, outer, cx, spec)
    }

    fn hand_over(&self, looks: usize) -> bool {
        self.handed_over.set(self.handed_over.get() + looks);
        self.pass(self.waking_takes.get());
        !self.workers_leave.get()
    }

    fn wake_spare(&self, spare: usize) {
        self.spares_woken.borrow_mut().push(spare);
    }

    fn all_ended(&self) {
        self.events.borrow_mut().push("all ended".to_owned());
    }

    fn observe(&self, event: PipelineEvent<'_>) {
        let text = match event {
            PipelineEvent::Submitted { job } => {
                self.names.borrow_mut().insert(job.seq, self.name(job));
                return;
            }
            PipelineEvent::Entered { .. } => {
                let meanwhile = self.after_entering.take();
                return meanwhile.into_iter().for_each(|meanwhile| meanwhile(self));
            }
            PipelineEvent::Claimed {
                job,
                first,
                slots,
                worker,
                role,
                ..
            } => {
                self.widths.borrow_mut().push(slots);
                self.roles.borrow_mut().push(role);
                format!("worker {worker} claims {}.{first}", self.name(job))
            }
            PipelineEvent::StageStarted { job, stage, slots } => {
                self.started.borrow_mut().push((self.name(job), stage, slots));
                return;
            }
            PipelineEvent::Inner(InnerEvent::GivenBack { slots, .. }) => {
                self.given_back.set(self.given_back.get() + slots);
                return;
            }
            PipelineEvent::SlotRan { .. } => {
                self.ran.set(self.ran.get() + 1);
                return;
            }
            PipelineEvent::StageOver { job, stage } => format!("{} stage {stage} over", self.name(job)),
            PipelineEvent::Ended { job, error: None, .. } => {
                format!("{} completed", self.names.borrow()[&job.seq])
            }
            PipelineEvent::Ended {
                job,
                error: Some(error),
                ..
            } => format!("{}: {error}", self.names.borrow()[&job.seq]),
            _ => return,
        };
        self.events.borrow_mut().push(text);
    }
}
