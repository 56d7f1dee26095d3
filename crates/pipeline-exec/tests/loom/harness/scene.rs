//! A whole pipeline executor on loom, without its threads.
//!
//! The collections publish as little as they can, so that a missing fence shows. An insert on the
//! board is one `Release` store. The table and the ledgers are plain data that loom does not see,
//! except in scenes about their order.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Wake, Waker};
use std::time::Duration;

use executor_core::ports::{Clock, Exclusive, Fifo, OrderedSet, Table};
use loom::sync::atomic::AtomicUsize;
use loom::sync::{Condvar, Mutex, Notify};
use pipeline_exec::policy::{
    self, InnerEvent, JobBody, JobEnd, JobSpec, JobState, Ledger, LookEnd, PipelineConfig, PipelineEvent,
    PipelinePorts, PipelineShared, Refused, Terms,
};
use pipeline_exec::{
    Class, JobId, JobStatus, Stage, StepCx,
    policy::{JobBoard, JobHandle},
};

use super::memory::LoomMemory;

/// The board: a cell for each key that a job may have in a model.
#[derive(Default)]
pub(crate) struct Row {
    cells: Vec<AtomicUsize>,
    keys: RefCell<Vec<Option<JobHandle>>>,
}

const KEYS: usize = 6;

impl Row {
    fn new(jobs: usize) -> Self {
        Self {
            cells: (0..jobs * KEYS).map(|_| AtomicUsize::new(0)).collect(),
            keys: RefCell::new(vec![None; jobs * KEYS]),
        }
    }

    fn place(&self, key: JobHandle) -> usize {
        let keys = self.keys.borrow();
        let mut places = key.seq * KEYS..(key.seq + 1) * KEYS;
        let found = places.clone().find(|&place| keys[place] == Some(key));
        found
            .or_else(|| places.find(|&place| keys[place].is_none()))
            .expect("no job of a model has so many keys")
    }
}

pub(crate) struct Place {
    ledger: RefCell<Ledger>,
    order: Option<Mutex<()>>,
}

impl Place {
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Ledger) -> R) -> R {
        let _held = self.order.as_ref().map(|order| order.lock().unwrap());
        change(&mut self.ledger.borrow_mut())
    }
}

/// The queue of singles: a cell for each job, which enters it at most once.
pub(crate) struct Line {
    cells: Vec<AtomicUsize>,
    handles: RefCell<Vec<Option<JobHandle>>>,
}

impl Line {
    fn new(jobs: usize) -> Self {
        Self {
            cells: (0..jobs).map(|_| AtomicUsize::new(0)).collect(),
            handles: RefCell::new(vec![None; jobs]),
        }
    }
}

pub(crate) struct Places {
    bodies: RefCell<Vec<Option<Arc<Body>>>>,
    cells: Option<Vec<AtomicUsize>>,
}

impl Places {
    fn cell(&self, index: usize) -> Option<&AtomicUsize> {
        self.cells.as_ref().map(|cells| &cells[index])
    }
}

pub(crate) type Body = JobBody<AtomicUsize, Place>;
pub(crate) type State = JobState<AtomicUsize, Place>;

#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) ledgers: bool,
    pub(crate) table: bool,
}

loom::thread_local! {
    /// Nanoseconds.
    static CLOCK: Cell<u64> = Cell::new(0);
}

pub(crate) fn pass(ns: u64) {
    CLOCK.with(|clock| clock.set(clock.get() + ns));
}

pub(crate) struct Sleeper(pub(crate) Notify);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

pub(crate) struct Scene {
    shared: PipelineShared<AtomicUsize, Row, Line, Places>,
    jobs: usize,
    seen: Seen,
    given_back: Cell<usize>,
    news: Mutex<News>,
    told: Condvar,
}

struct News {
    looks: usize,
    ended: usize,
    woken: Vec<usize>,
    happened: bool,
}

impl Scene {
    pub(crate) fn new(workers: usize, jobs: usize) -> Rc<Self> {
        Self::seen(workers, jobs, Seen::default())
    }

    pub(crate) fn seen(workers: usize, jobs: usize, seen: Seen) -> Rc<Self> {
        Self::build(workers, jobs, seen, Duration::ZERO)
    }

    pub(crate) fn with_young(workers: usize, jobs: usize) -> Rc<Self> {
        Self::build(workers, jobs, Seen::default(), Duration::from_secs(1))
    }

    pub(crate) fn with_spares(workers: usize, jobs: usize, spares: usize) -> Rc<Self> {
        let scene = Rc::into_inner(Self::with_young(workers, jobs)).expect("it is nobody else's");
        let shared = scene.shared.with_spares(spares, AtomicUsize::new);
        Rc::new(Self { shared, ..scene })
    }

    fn build(workers: usize, jobs: usize, seen: Seen, quantum: Duration) -> Rc<Self> {
        let config = PipelineConfig {
            main: workers,
            reserve: 0,
            quantum,
            capacity: jobs,
        };
        let board = JobBoard::new(Row::new(jobs), Row::new(jobs), Row::new(jobs), Line::new(jobs));
        let places = Places {
            bodies: RefCell::new(vec![None; jobs]),
            cells: seen
                .table
                .then(|| (0..jobs).map(|_| AtomicUsize::new(0)).collect()),
        };
        Rc::new(Self {
            shared: PipelineShared::new(config, board, places, AtomicUsize::new),
            jobs,
            seen,
            given_back: Cell::new(0),
            news: Mutex::new(News {
                looks: 0,
                ended: 0,
                woken: Vec::new(),
                happened: false,
            }),
            told: Condvar::new(),
        })
    }

    pub(crate) fn submit(&self, stages: Vec<Arc<dyn Stage>>) -> Option<(Arc<State>, JobHandle)> {
        self.submit_narrow(stages, usize::MAX)
    }

    pub(crate) fn submit_single(&self, stage: Arc<dyn Stage>) -> Option<(Arc<State>, JobHandle)> {
        self.submit_spec(vec![stage], 0, Terms::default())
    }

    pub(crate) fn submit_old(&self, stages: Vec<Arc<dyn Stage>>) -> Option<(Arc<State>, JobHandle)> {
        let terms = Terms {
            class: Class::Batch,
            ..Terms::default()
        };
        self.submit_spec(stages, 2, terms)
    }

    pub(crate) fn submit_narrow(
        &self,
        stages: Vec<Arc<dyn Stage>>,
        workers_max: usize,
    ) -> Option<(Arc<State>, JobHandle)> {
        let terms = Terms {
            workers_max,
            ..Terms::default()
        };
        self.submit_spec(stages, 2, terms)
    }

    fn submit_spec(
        &self,
        stages: Vec<Arc<dyn Stage>>,
        cost: u64,
        terms: Terms,
    ) -> Option<(Arc<State>, JobHandle)> {
        self.submit_as(JobSpec {
            cost: Some(cost),
            terms: terms.boxed(),
            ..JobSpec::new("", JobId::new(0), stages.into())
        })
    }

    pub(crate) fn open(&self) -> Option<(Arc<State>, JobHandle)> {
        self.submit_as(JobSpec::of_tasks("", JobId::new(0)))
    }

    fn submit_as(&self, spec: JobSpec) -> Option<(Arc<State>, JobHandle)> {
        let body = JobBody::new(spec, self.shared.config().main, self.place(), AtomicUsize::new);
        match policy::submit(self, body) {
            Ok(admitted) => Some((admitted.state, admitted.job)),
            Err(Refused::Full(_)) => panic!("the scene has room for its jobs"),
            Err(Refused::Closed(_) | Refused::Stopped(_)) => None,
        }
    }

    pub(crate) fn work(&self, worker: usize) {
        while self.next_look() {
            while policy::look(self, worker) == LookEnd::Again {}
        }
    }

    pub(crate) fn work_once(&self, worker: usize) {
        assert!(self.next_look(), "no look was handed over");
        policy::look(self, worker);
    }

    pub(crate) fn stand_in(&self, spare: usize) {
        policy::stand_in::run_spare(self, spare, |until_ns| match until_ns {
            None => self.is_woken(spare),
            Some(until_ns) => {
                CLOCK.with(|clock| clock.set(clock.get().max(until_ns)));
                loom::thread::yield_now();
                self.news.lock().unwrap().ended < self.jobs
            }
        });
    }

    fn is_woken(&self, spare: usize) -> bool {
        let mut news = self.news.lock().unwrap();
        loop {
            if news.ended == self.jobs {
                return false;
            }
            if let Some(place) = news.woken.iter().position(|woken| *woken == spare) {
                news.woken.remove(place);
                return true;
            }
            news = self.told.wait(news).unwrap();
        }
    }

    pub(crate) fn pass(&self, ns: u64) {
        pass(ns);
    }

    pub(crate) fn happens(&self) {
        self.news.lock().unwrap().happened = true;
        self.told.notify_all();
    }

    pub(crate) fn wait_happened(&self) {
        let mut news = self.news.lock().unwrap();
        while !news.happened {
            news = self.told.wait(news).unwrap();
        }
    }

    pub(crate) fn wait_ended(&self, jobs: usize) {
        let mut news = self.news.lock().unwrap();
        while news.ended < jobs {
            news = self.told.wait(news).unwrap();
        }
    }

    fn next_look(&self) -> bool {
        let mut news = self.news.lock().unwrap();
        loop {
            if news.looks > 0 {
                news.looks -= 1;
                return true;
            }
            if news.ended == self.jobs {
                return false;
            }
            news = self.told.wait(news).unwrap();
        }
    }

    pub(crate) fn assert_over(&self, jobs: &[Arc<State>]) {
        assert!(
            self.shared.board().heaviest(self, None).is_none(),
            "a job was left on the board"
        );
        assert!(
            self.shared.board().least_served(self, None).is_none(),
            "a job was left on the board"
        );
        assert!(
            self.shared.jobs().bodies.borrow().iter().all(Option::is_none),
            "a body was left in the table"
        );
        assert_eq!(self.shared.admission().in_flight(self), 0);
        for state in jobs {
            assert!(
                matches!(self.status(state), JobStatus::Completed | JobStatus::Ended(_)),
                "a ticket did not fire"
            );
            let (done, total) = state.claims().progress(self);
            assert_eq!(done, total, "a slot was not accounted for");
        }
    }

    pub(crate) fn given_back(&self) -> usize {
        self.given_back.get()
    }

    pub(crate) fn status(&self, state: &State) -> JobStatus {
        state.ledger().change(|ledger| ledger.status())
    }
}

executor_core::delegate_memory!(impl[] Memory<AtomicUsize> for Scene, |_scene| LoomMemory);

impl Clock for Scene {
    fn now_ns(&self) -> u64 {
        CLOCK.with(Cell::get)
    }
}

impl OrderedSet<JobHandle> for Scene {
    type Set = Row;

    fn insert(&self, set: &Row, key: JobHandle) -> bool {
        let place = set.place(key);
        set.keys.borrow_mut()[place] = Some(key);
        let new = set.cells[place].load(Ordering::Relaxed) == 0;
        set.cells[place].store(1, Ordering::Release);
        new
    }

    fn remove(&self, set: &Row, key: &JobHandle) -> bool {
        set.cells[set.place(*key)]
            .compare_exchange(1, 0, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    fn last(&self, set: &Row, below: Option<&JobHandle>) -> Option<JobHandle> {
        // Each job's next cell is read as well: a key may be just coming.
        let next =
            |seq: usize| (seq * KEYS..(seq + 1) * KEYS).find(|&place| set.keys.borrow()[place].is_none());
        for place in (0..self.jobs).filter_map(next) {
            set.cells[place].load(Ordering::Acquire);
        }
        // The walk goes from key to key, so it finds a key that is inserted behind its place.
        let mut below = below.copied();
        loop {
            let next = {
                let keys = set.keys.borrow();
                let behind = keys
                    .iter()
                    .flatten()
                    .filter(|&&key| below.is_none_or(|below| key < below));
                *behind.max()?
            };
            if set.cells[set.place(next)].load(Ordering::Acquire) == 1 {
                return Some(next);
            }
            below = Some(next);
        }
    }
}

impl Fifo<JobHandle> for Scene {
    type Queue = Line;

    fn push(&self, queue: &Line, value: JobHandle) {
        queue.handles.borrow_mut()[value.seq] = Some(value);
        queue.cells[value.seq].store(1, Ordering::Release);
    }

    fn pop(&self, queue: &Line) -> Option<JobHandle> {
        // The load may see an old value.
        let taken = (queue.cells.iter()).position(|cell| {
            cell.load(Ordering::Acquire) == 1
                && cell
                    .compare_exchange(1, 0, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
        })?;
        queue.handles.borrow()[taken]
    }

    fn len(&self, queue: &Line) -> usize {
        let cells = queue.cells.iter();
        cells.map(|cell| cell.load(Ordering::Acquire)).sum()
    }
}

impl Table<Arc<Body>> for Scene {
    type Places = Places;

    fn put(&self, table: &Places, value: Arc<Body>) -> Result<usize, Arc<Body>> {
        let index = value.state().seq();
        table.bodies.borrow_mut()[index] = Some(value);
        if let Some(cell) = table.cell(index) {
            cell.store(1, Ordering::Release);
        }
        Ok(index)
    }

    fn get(&self, table: &Places, index: usize) -> Option<Arc<Body>> {
        match table.cell(index) {
            Some(cell) if cell.load(Ordering::Acquire) == 0 => None,
            _ => table.bodies.borrow()[index].clone(),
        }
    }

    fn used(&self, table: &Places) -> usize {
        table.bodies.borrow().len()
    }

    fn clear(&self, table: &Places, index: usize) -> Option<Arc<Body>> {
        if let Some(cell) = table.cell(index) {
            cell.swap(0, Ordering::AcqRel);
        }
        table.bodies.borrow_mut()[index].take()
    }
}

impl Exclusive<Ledger> for Scene {
    type Place = Place;

    fn change<R>(&self, place: &Place, change: impl FnOnce(&mut Ledger) -> R) -> R {
        place.change(change)
    }
}

impl PipelinePorts for Scene {
    fn shared(&self) -> &PipelineShared<AtomicUsize, Row, Line, Places> {
        &self.shared
    }

    fn word(&self, value: usize) -> AtomicUsize {
        AtomicUsize::new(value)
    }

    fn place(&self) -> Place {
        Place {
            ledger: RefCell::default(),
            order: self.seen.ledgers.then(|| Mutex::new(())),
        }
    }

    fn park_with(&self, wait: impl FnOnce(&Waker, &mut dyn FnMut())) {
        let sleeper = Arc::new(Sleeper(Notify::new()));
        wait(&Waker::from(sleeper.clone()), &mut || sleeper.0.wait());
    }

    fn nest(&self, outer: (&Arc<State>, JobHandle), cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
        policy::nest_in(self, outer, cx, spec)
    }

    fn hand_over(&self, looks: usize) -> bool {
        self.news.lock().unwrap().looks += looks;
        self.told.notify_all();
        true
    }

    fn wake_spare(&self, spare: usize) {
        self.news.lock().unwrap().woken.push(spare);
        self.told.notify_all();
    }

    fn all_ended(&self) {}

    fn observe(&self, event: PipelineEvent<'_>) {
        match event {
            PipelineEvent::Ended { .. } => {
                self.news.lock().unwrap().ended += 1;
                self.told.notify_all();
            }
            PipelineEvent::Inner(InnerEvent::GivenBack { .. }) => {
                self.given_back.set(self.given_back.get() + 1)
            }
            _ => {}
        }
    }
}
