//! A pipeline executor in the simulator: pipeline-exec's policy on simulated words, sets and
//! tables.
//!
//! [`Hub`] is shared by all actors; [`PipeEnv`] is one actor's ports to it. A look at the board is
//! a task of the executor, as on threads.

mod claimed;
mod grow;
mod membership;
mod spares;
mod timing;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use executor_core::ports::{
    Clock, Exclusive, Fifo, Memory, OrderedSet, ProducerPorts, Table, Unpark, Waiting,
};
use executor_core::{Rejected, nanos};
use pipeline_exec::policy::{
    self, JobBoard, JobBody, JobEnd, JobSpec, JobState, Ledger, PipelineConfig, PipelineEvent, PipelinePorts,
    PipelineShared,
};
use pipeline_exec::{StepCx, policy::JobHandle};

use crate::coverage::CoveragePoint;
use crate::fault::Fault;
use crate::handle::Handle;
use crate::oracle::{
    AdmissionOracle, JobOracle, LatencyOracle, LendOracle, Moment, Order, Origin, ServiceOracle, ShareOracle,
    StayOracle, TaskTurnOracle, TurnOracle,
};
use crate::ports::{SimFifo, SimPlace, SimPorts, SimSet, SimTable};
use crate::profile::Reached;
use crate::trace::{Object, Op};
use crate::word::{Glass, SimWord, WordName};
use crate::world::World;
use grow::Growing;
use membership::Membership;
pub(crate) use spares::Extras;
use spares::Spares;

pub use claimed::Claimed;
pub(crate) use grow::{Ask, Asks};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Look;

pub(crate) type SimBody = JobBody<SimWord, SimPlace<Ledger>>;
pub(crate) type SimState = JobState<SimWord, SimPlace<Ledger>>;

/// Nanoseconds of a slot, by job, stage and slot.
pub(crate) type SlotNs = Box<dyn Fn(&JobSpec, usize, usize) -> u64>;

type Shared = PipelineShared<SimWord, SimSet<JobHandle>, SimFifo<JobHandle>, SimTable<Arc<SimBody>>>;

/// Numbers of the collections in traces.
pub(crate) const HEAVIEST: u32 = 0;
const SERVED: u32 = 1;
const JOBS: u32 = 2;
const SINGLES: u32 = 3;
const DEADLINES: u32 = 4;
const LEDGERS: u32 = 5;

const SPARE_PLACES: usize = 4;

pub(crate) struct Hub {
    shared: Shared,
    /// Nonzero when the gate is closed and the last job has ended.
    ended: SimWord,
    membership: Membership,
    words: Cell<u32>,
    ledgers: Cell<u32>,
    last_cost: Cell<Option<Option<u64>>>,
    pub(crate) oracle: RefCell<JobOracle>,
    slot_ns: SlotNs,
    claims: Option<Rc<RefCell<Vec<Claimed>>>>,
    /// By the job's number: the position that each stage has reached.
    stages: RefCell<HashMap<usize, Vec<Option<Reached>>>>,
    pub(crate) service: RefCell<ServiceOracle>,
    pub(crate) share: RefCell<ShareOracle>,
    turns: RefCell<TurnOracle>,
    stays: RefCell<StayOracle>,
    pub(crate) latency: RefCell<LatencyOracle>,
    admission: RefCell<AdmissionOracle>,
    lending: RefCell<LendOracle>,
    tasks: RefCell<TaskTurnOracle>,
    growing: Growing,
    spares: Spares,
    /// Actors whose slots wait for nested jobs, and the job once it is accepted.
    nests: RefCell<Vec<(usize, Option<JobHandle>)>>,
    awaiting: RefCell<Vec<(usize, Arc<Fired>)>>,
}

#[derive(Default)]
struct Fired(AtomicBool);

impl Wake for Fired {
    fn wake(self: Arc<Self>) {
        // Ordering: Relaxed. There is one thread.
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Hub {
    pub(crate) fn new(
        config: PipelineConfig,
        slot_ns: SlotNs,
        claims: Option<Rc<RefCell<Vec<Claimed>>>>,
        extras: Extras,
    ) -> Self {
        let mut words = 0;
        let mut word = |value| {
            words += 1;
            SimWord::new(WordName::Other(words), value)
        };
        let ended = word(0);
        let (heaviest, served) = (SimSet::new(HEAVIEST), SimSet::new(SERVED));
        let membership = Membership::of(&heaviest, &served);
        let board = JobBoard::new(heaviest, served, SimSet::new(DEADLINES), SimFifo::new(SINGLES));
        let jobs = SimTable::new(JOBS, config.capacity + SPARE_PLACES);
        let shared: Shared =
            PipelineShared::new(config, board, jobs, &mut word).with_spares(extras.spares, &mut word);
        let workers = config.main + config.reserve;
        let quantum_ns = nanos(config.quantum);
        let (stay_ns, stand_in_ns) = (shared.stay_ns(), shared.stand_in_ns());
        Self {
            shared,
            ended,
            membership,
            words: Cell::new(words),
            ledgers: Cell::new(LEDGERS),
            last_cost: Cell::new(None),
            oracle: RefCell::default(),
            slot_ns,
            claims,
            stages: RefCell::default(),
            service: RefCell::default(),
            share: RefCell::new(ShareOracle::new(workers, quantum_ns)),
            turns: RefCell::new(TurnOracle::new(config)),
            stays: RefCell::new(StayOracle::new(workers, quantum_ns, stay_ns)),
            latency: RefCell::default(),
            admission: RefCell::new(AdmissionOracle::new(config.capacity)),
            lending: RefCell::default(),
            tasks: RefCell::default(),
            growing: Growing::default(),
            spares: Spares::new(extras, workers, quantum_ns, stand_in_ns),
            nests: RefCell::default(),
            awaiting: RefCell::default(),
        }
    }

    pub(crate) fn body(&self, spec: JobSpec) -> SimBody {
        let workers = self.shared.config().main + self.shared.config().reserve;
        JobBody::new(spec, workers, self.place(), |value| self.word(value))
    }

    fn place(&self) -> SimPlace<Ledger> {
        self.ledgers.set(self.ledgers.get() + 1);
        SimPlace::new(self.ledgers.get(), Ledger::default())
    }

    fn word(&self, value: usize) -> SimWord {
        self.words.set(self.words.get() + 1);
        SimWord::new(WordName::Other(self.words.get()), value)
    }

    /// `spec`, with the cost of the job submitted before if a tie strikes.
    pub(crate) fn tied(&self, handle: &Handle<'_>, spec: &JobSpec) -> JobSpec {
        let tied = self
            .last_cost
            .get()
            .filter(|_| handle.with(|world| world.strikes(Fault::Tie)));
        let cost = tied.unwrap_or(spec.cost);
        self.last_cost.set(Some(cost));
        JobSpec { cost, ..spec.clone() }
    }

    /// The body of `job` unless it has ended, without a step.
    pub(crate) fn peek(&self, job: JobHandle) -> Option<Arc<SimBody>> {
        let body = self.shared.jobs().peek(job.index)?;
        (body.state().seq() == job.seq).then_some(body)
    }

    pub(crate) fn is_closed(&self, job: JobHandle) -> bool {
        self.peek(job)
            .is_none_or(|body| body.state().claims().is_closed(&Glass))
    }

    pub(crate) fn is_claimable(&self, job: JobHandle) -> bool {
        self.peek(job)
            .is_some_and(|body| body.state().claims().is_claimable(&Glass))
    }

    pub(crate) fn has_room(&self, job: JobHandle) -> bool {
        self.peek(job).is_some_and(|body| body.state().has_room(&Glass))
    }

    pub(crate) fn is_young(&self, job: JobHandle) -> bool {
        let young_tag = self.shared.young_tag();
        self.peek(job)
            .is_some_and(|body| body.state().service(&Glass) < young_tag)
    }

    pub(crate) fn is_allowance_used_up(&self, worker: usize) -> bool {
        self.shared.is_allowance_used_up(&Glass, worker)
    }

    pub(crate) fn is_any_allowance_used_up(&self) -> bool {
        let config = self.shared.config();
        (0..config.main + config.reserve).any(|worker| self.is_allowance_used_up(worker))
    }

    pub(crate) fn moment(&self, step: u64) -> Moment {
        Moment {
            step,
            arrivals: self.shared.young_arrivals(&Glass),
        }
    }

    /// By weight, by service.
    pub(crate) fn on_board(&self, job: JobHandle) -> (bool, bool) {
        self.membership.of_job(job)
    }

    /// The tag of `job` in service order; the lower one while it has two keys.
    pub(crate) fn tag(&self, job: JobHandle) -> Option<usize> {
        self.membership.tag(job)
    }

    pub(crate) fn leftovers(&self) -> HashMap<&'static str, usize> {
        let board = self.shared.board();
        let on_board = board.heaviest(&Glass, None).is_some() || board.least_served(&Glass, None).is_some();
        HashMap::from([
            ("board", usize::from(on_board)),
            ("table", self.shared.jobs().taken()),
            ("count", self.shared.admission().in_flight(&Glass)),
            ("looks", self.shared.looks().out(&Glass)),
        ])
    }
}

pub(crate) struct PipeEnv<'a, 'y> {
    pub(crate) ports: &'a SimPorts<'y, Look>,
    pub(crate) hub: &'a Hub,
}

impl PipeEnv<'_, '_> {
    pub(crate) fn wait_ended(&self) {
        loop {
            let ticket = self.ports.ticket();
            // Ordering: Relaxed. Memory is sequentially consistent here.
            if self.load(&self.hub.ended, Ordering::Relaxed) != 0 {
                return;
            }
            self.ports.wait_past(ticket);
        }
    }

    pub(crate) fn wait_ticket(&self, state: &SimState) -> JobEnd {
        let fired = Arc::new(Fired::default());
        let waker = Waker::from(Arc::clone(&fired));
        loop {
            let end = state.poll(self, &waker);
            if let Some(end) = end {
                return end;
            }
            self.sleep(
                &fired,
                |world, _me| world.coverage.hit(CoveragePoint::TicketFiredBeforeWaiting),
                |_, _| (),
            );
        }
    }

    pub(crate) fn lend(&self, state: &Arc<SimState>, job: JobHandle) {
        let (handle, me) = (&self.ports.handle, self.ports.handle.actor());
        handle.with(|world| {
            world.environment_call(true);
            self.hub.lending_began(world, me, job);
        });
        self.park_with(|waker, sleep| policy::lend(self, state, job, waker, sleep));
        handle.with(|world| {
            self.hub.lending_ended(world, me);
            world.environment_call(false);
            self.hub.judge_watch(world);
        });
    }

    /// `at_once` is called if `fired` was woken before, `sleeps` if this actor blocks.
    fn sleep(
        &self,
        fired: &Arc<Fired>,
        at_once: impl FnOnce(&mut World, usize),
        sleeps: impl FnOnce(&mut World, usize),
    ) {
        let blocked = self.ports.handle.operate(|world, me| {
            world.did(me, Op::Wait, Object::None, 0);
            // Ordering: Relaxed. There is one thread.
            if fired.0.load(Ordering::Relaxed) {
                at_once(world, me);
                return false;
            }
            self.hub.awaiting.borrow_mut().push((me, Arc::clone(fired)));
            sleeps(world, me);
            world.wait_for_ticket(me);
            true
        });
        if blocked {
            self.ports.handle.wait();
        }
        // Ordering: Relaxed. There is one thread.
        fired.0.store(false, Ordering::Relaxed);
    }

    pub(crate) fn clock_ns(&self) -> u64 {
        let handle = &self.ports.handle;
        handle.with(|world| world.clock_ns(handle.actor()))
    }

    fn judge(&self, judge: impl FnOnce(&mut JobOracle, u64, usize) -> Result<(), crate::oracle::Violation>) {
        let me = self.ports.handle.actor();
        if self.hub.oracle.borrow().off {
            return;
        }
        self.ports.handle.with(|world| {
            let verdict = judge(&mut self.hub.oracle.borrow_mut(), world.steps(), me);
            world.judge(verdict);
        });
    }
}

impl PipelinePorts for PipeEnv<'_, '_> {
    fn shared(&self) -> &Shared {
        &self.hub.shared
    }

    fn word(&self, value: usize) -> SimWord {
        self.hub.word(value)
    }

    fn place(&self) -> SimPlace<Ledger> {
        self.hub.place()
    }

    fn park_with(&self, wait: impl FnOnce(&Waker, &mut dyn FnMut())) {
        let handle = &self.ports.handle;
        let fired = Arc::new(Fired::default());
        let waker = Waker::from(Arc::clone(&fired));
        wait(&waker, &mut || {
            handle.with(|world| {
                world.environment_pauses(handle.actor(), true);
                self.hub.sleeps_in_slot(world, handle.actor(), true);
            });
            self.sleep(&fired, |_, _| (), |world, me| self.hub.lent_sleeps(world, me));
            handle.with(|world| {
                self.hub.sleeps_in_slot(world, handle.actor(), false);
                world.environment_pauses(handle.actor(), false);
            });
        });
    }

    fn nest(&self, outer: (&Arc<SimState>, JobHandle), cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
        policy::nest_in(self, outer, cx, spec)
    }

    fn hand_over(&self, looks: usize) -> bool {
        self.hands_over();
        let scheduler = self.ports.scheduler();
        let look = || self.ports.track(Look, Origin::External);
        let handed_over = if looks == 1 {
            let handed_over = scheduler.spawn_external(self.ports, look());
            handed_over.map_err(|Rejected(look)| vec![look])
        } else {
            let looks = (0..looks).map(|_| look()).collect();
            let handed_over = scheduler.spawn_external_batch(self.ports, looks);
            handed_over.map_err(|Rejected(looks)| looks)
        };
        match handed_over {
            Ok(_woken) => true,
            Err(refused) => {
                self.ports.take_back(refused);
                false
            }
        }
    }

    fn wake_spare(&self, spare: usize) {
        self.wakes_spare(spare);
    }

    fn all_ended(&self) {
        // Ordering: Relaxed. As in `wait_ended`.
        self.store(&self.hub.ended, 1, Ordering::Relaxed);
        self.ports.signal_waiters();
    }

    fn wake(&self, waker: Waker) {
        waker.wake();
        self.ports.handle.with(World::tickets_fired);
        let mut awaiting = self.hub.awaiting.borrow_mut();
        let me = self.ports.handle.actor();
        awaiting.retain(|(actor, fired)| {
            // Ordering: Relaxed. There is one thread.
            let fired = fired.0.load(Ordering::Relaxed);
            if fired {
                self.ports.handle.with(|world| {
                    self.hub.woken(world, *actor);
                    world.ticket_fired(me, *actor);
                });
            }
            !fired
        });
    }

    fn observe(&self, event: PipelineEvent<'_>) {
        let (takes_ns, asked) = self.asked(event);
        self.time(event, takes_ns);
        let me = self.ports.handle.actor();
        self.ports.handle.with(|world| self.hub.heard(world, me, event));
        self.do_all(asked);
    }
}

impl OrderedSet<JobHandle> for PipeEnv<'_, '_> {
    type Set = SimSet<JobHandle>;

    fn insert(&self, set: &Self::Set, key: JobHandle) -> bool {
        let new = self.ports.handle.insert(set, key);
        if set.number() == DEADLINES {
            return new;
        }
        if new {
            self.hub.membership.put_in(set.number(), key);
        }
        self.judge(|oracle, step, me| oracle.put_on(self.hub, key, step, me));
        new
    }

    fn remove(&self, set: &Self::Set, key: &JobHandle) -> bool {
        let was_there = self.ports.handle.remove(set, key);
        if set.number() == DEADLINES {
            return was_there;
        }
        if was_there {
            self.hub.membership.taken_out(set.number(), *key);
        }
        self.judge(|oracle, step, me| oracle.taken_off(self.hub, *key, step, me));
        was_there
    }

    fn last(&self, set: &Self::Set, below: Option<&JobHandle>) -> Option<JobHandle> {
        let last = self.ports.handle.last(set, below);
        let me = self.ports.handle.actor();
        let order = match set.number() {
            DEADLINES => return last,
            HEAVIEST => Order::Heaviest,
            _ => Order::Served {
                from_tag: below.filter(|key| key.is_bound()).map_or(0, |key| key.tag() + 1),
            },
        };
        if below.is_none_or(|below| below.is_bound()) {
            self.ports
                .handle
                .with(|world| self.hub.scan_began(world, me, order));
        }
        if last.is_none() {
            self.hub.scan_ended(me, order);
        }
        last
    }
}

impl Fifo<JobHandle> for PipeEnv<'_, '_> {
    type Queue = SimFifo<JobHandle>;

    fn push(&self, queue: &Self::Queue, value: JobHandle) {
        self.ports.handle.push(queue, value);
        self.judge(|oracle, step, _| oracle.appended(value, self.hub.moment(step)));
    }

    fn pop(&self, queue: &Self::Queue) -> Option<JobHandle> {
        let first = self.ports.handle.pop(queue);
        let me = self.ports.handle.actor();
        if let Some(job) = first {
            self.hub.oracle.borrow_mut().popped(job);
            self.hub.spares.oracle.borrow_mut().found_young(me, job);
        }
        self.ports
            .handle
            .with(|world| self.hub.scan_began(world, me, Order::Singles));
        if first.is_none() {
            self.hub.scan_ended(me, Order::Singles);
        }
        first
    }

    fn len(&self, queue: &Self::Queue) -> usize {
        let (len, me) = (self.ports.handle.len(queue), self.ports.handle.actor());
        self.ports
            .handle
            .with(|world| self.hub.counted_singles(world, me, len));
        len
    }
}

impl Table<Arc<SimBody>> for PipeEnv<'_, '_> {
    type Places = SimTable<Arc<SimBody>>;

    fn put(&self, table: &Self::Places, value: Arc<SimBody>) -> Result<usize, Arc<SimBody>> {
        self.ports.handle.put(table, value)
    }

    fn get(&self, table: &Self::Places, index: usize) -> Option<Arc<SimBody>> {
        let body = self.ports.handle.get(table, index);
        if let Some(body) = &body {
            let (rank, seq) = (body.state().cost(), body.state().seq());
            let job = JobHandle { rank, seq, index };
            self.hub.fetched(self.ports.handle.actor(), job);
        }
        body
    }

    fn used(&self, table: &Self::Places) -> usize {
        self.ports.handle.used(table)
    }

    fn clear(&self, table: &Self::Places, index: usize) -> Option<Arc<SimBody>> {
        self.ports.handle.clear(table, index)
    }
}

impl Exclusive<Ledger> for PipeEnv<'_, '_> {
    type Place = SimPlace<Ledger>;

    fn change<R>(&self, place: &SimPlace<Ledger>, change: impl FnOnce(&mut Ledger) -> R) -> R {
        let changed = self.ports.handle.change(place, change);
        let (handle, me) = (&self.ports.handle, self.ports.handle.actor());
        let step = handle.with(|world| world.steps());
        self.hub.lending.borrow_mut().changed_ledger(me, step);
        changed
    }
}

impl Clock for PipeEnv<'_, '_> {
    fn now_ns(&self) -> u64 {
        let handle = &self.ports.handle;
        let now_ns = handle.now_ns();
        let step = handle.with(|world| world.steps());
        self.hub.read_clock(handle.actor(), now_ns, step);
        now_ns
    }
}

executor_core::delegate_memory!(impl['a, 'y] Memory<SimWord> for PipeEnv<'a, 'y>, |env| env.ports);
