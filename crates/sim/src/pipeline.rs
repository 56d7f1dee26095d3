//! A pipeline executor in the simulator: pipeline-exec's own policy on simulated words, sets and tables.
//!
//! [`Hub`] is what all parties share, and [`PipeEnv`] is one party's ports to it: the handle's operations, and what the
//! [job oracle](JobOracle) is told about them. The looks that the policy hands over are tasks of a simulated
//! executor, as they are tasks of a threaded one elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use executor_core::Rejected;
use executor_core::ports::{Clock, Exclusive, Memory, OrderedSet, ProducerPorts, Table, Unpark, Waiting};
use pipeline_exec::JobHandle;
use pipeline_exec::policy::{
    JobBoard, JobBody, JobEnd, JobSpec, JobState, Ledger, PipelineConfig, PipelineEvent, PipelinePorts,
    PipelineShared,
};

use crate::mark::Mark;
use crate::oracle::{JobOracle, Origin};
use crate::ports::{SimPlace, SimPorts, SimSet, SimTable};
use crate::trace::{Object, Op};
use crate::word::{Glass, SimWord, WordName};
use crate::world::World;

/// The executor's task: look at the board.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look;

pub(crate) type SimBody = JobBody<SimWord, SimPlace<Ledger>>;
pub(crate) type SimState = JobState<SimWord, SimPlace<Ledger>>;
type Shared = PipelineShared<SimWord, SimSet<JobHandle>, SimTable<Arc<SimBody>>>;

/// Numbers of the collections in traces.
const HEAVIEST: u32 = 0;
const OLDEST: u32 = 1;
const JOBS: u32 = 2;
const LEDGERS: u32 = 3;

/// What all parties of a simulated pipeline executor share.
pub(crate) struct Hub {
    shared: Shared,
    /// Not 0 when the gate is closed and the last job has ended.
    ended: SimWord,
    words: Cell<u32>,
    ledgers: Cell<u32>,
    pub(crate) oracle: RefCell<JobOracle>,
    /// Parties that wait for a ticket, and whether it has fired.
    awaiting: RefCell<Vec<(usize, Arc<Fired>)>>,
}

/// A ticket's waker, as far as it is thread-safe: the rest is done by the party that fires it.
#[derive(Default)]
struct Fired(AtomicBool);

impl Wake for Fired {
    fn wake(self: Arc<Self>) {
        // Ordering: Relaxed. There is one thread.
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Hub {
    pub(crate) fn new(config: PipelineConfig) -> Self {
        let mut words = 0;
        let mut word = |value| {
            words += 1;
            SimWord::new(WordName::Other(words), value)
        };
        let ended = word(0);
        let board = JobBoard::new(SimSet::new(HEAVIEST), SimSet::new(OLDEST));
        let jobs = SimTable::new(JOBS, config.capacity);
        Self {
            shared: PipelineShared::new(config, board, jobs, &mut word),
            ended,
            words: Cell::new(words),
            ledgers: Cell::new(LEDGERS),
            oracle: RefCell::default(),
            awaiting: RefCell::default(),
        }
    }

    /// A job to submit.
    pub(crate) fn body(&self, spec: JobSpec) -> SimBody {
        let workers = self.shared.config().main + self.shared.config().reserve;
        self.ledgers.set(self.ledgers.get() + 1);
        let ledger = SimPlace::new(self.ledgers.get(), Ledger::default());
        JobBody::new(spec, workers, ledger, |value| {
            self.words.set(self.words.get() + 1);
            SimWord::new(WordName::Other(self.words.get()), value)
        })
    }

    /// The body of `job`, unless it has ended, seen without anybody noticing.
    pub(crate) fn peek(&self, job: JobHandle) -> Option<Arc<SimBody>> {
        let body = self.shared.jobs().peek(job.index)?;
        (body.state().seq() == job.seq).then_some(body)
    }

    /// Whether a slot of `job` could be claimed now.
    pub(crate) fn is_claimable(&self, job: JobHandle) -> bool {
        self.peek(job)
            .is_some_and(|body| body.state().claims().is_claimable(&Glass))
    }

    /// In which of the board's orders `job` stands: heaviest first, oldest first.
    pub(crate) fn on_board(&self, job: JobHandle) -> (bool, bool) {
        let stands = |next: &dyn Fn(Option<JobHandle>) -> Option<JobHandle>| {
            let mut below = None;
            while let Some(key) = next(below) {
                if key.seq == job.seq {
                    return true;
                }
                below = Some(key);
            }
            false
        };
        let board = self.shared.board();
        (
            stands(&|below| board.heaviest(&Glass, below)),
            stands(&|below| board.oldest(&Glass, below)),
        )
    }

    /// What is left over when everything has ended: jobs on the board, bodies in the table, jobs counted, looks out.
    pub(crate) fn leftovers(&self) -> HashMap<&'static str, usize> {
        let board = self.shared.board();
        let on_board = board.heaviest(&Glass, None).is_some() || board.oldest(&Glass, None).is_some();
        HashMap::from([
            ("board", usize::from(on_board)),
            ("table", self.shared.jobs().taken()),
            ("count", self.shared.admission().in_flight(&Glass)),
            ("looks", self.shared.looks().out(&Glass)),
        ])
    }
}

impl OrderedSet<JobHandle> for Glass {
    type Set = SimSet<JobHandle>;

    fn insert(&self, _set: &Self::Set, key: JobHandle) -> bool {
        unreachable!("an oracle does not put {key:?} on the board");
    }

    fn remove(&self, _set: &Self::Set, key: &JobHandle) -> bool {
        unreachable!("an oracle does not take {key:?} off the board");
    }

    fn last(&self, set: &Self::Set, below: Option<&JobHandle>) -> Option<JobHandle> {
        set.peek_last(below)
    }
}

/// One party's ports to a simulated pipeline executor.
pub(crate) struct PipeEnv<'a, 'y> {
    pub(crate) ports: &'a SimPorts<'y, Look>,
    pub(crate) hub: &'a Hub,
}

impl PipeEnv<'_, '_> {
    /// Blocks until the gate is closed and the last job has ended.
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

    /// Blocks until the job has ended. Gives how.
    pub(crate) fn wait_ticket(&self, state: &SimState) -> JobEnd {
        let fired = Arc::new(Fired::default());
        let waker = Waker::from(Arc::clone(&fired));
        loop {
            let end = self.change(state.ledger(), |ledger| ledger.poll(&waker));
            if let Some(end) = end {
                return end;
            }
            let blocked = self.ports.handle.operate(|world, me| {
                world.did(me, Op::Wait, Object::None, 0);
                // Ordering: Relaxed. There is one thread.
                if fired.0.load(Ordering::Relaxed) {
                    world.marks.hit(Mark::TicketFiredBeforeWaiting);
                    return false;
                }
                self.hub.awaiting.borrow_mut().push((me, Arc::clone(&fired)));
                world.wait_for_ticket(me);
                true
            });
            if blocked {
                self.ports.handle.wait();
            }
            // Ordering: Relaxed. There is one thread.
            fired.0.store(false, Ordering::Relaxed);
        }
    }

    fn judge(&self, judge: impl FnOnce(&mut JobOracle, u64, usize) -> Result<(), crate::oracle::Violation>) {
        let me = self.ports.handle.party();
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

    fn hand_over(&self, looks: usize) -> bool {
        let scheduler = self.ports.scheduler();
        let look = || self.ports.track(Look, Origin::Outside);
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

    fn all_ended(&self) {
        // Ordering: Relaxed. As in `wait_ended`.
        self.store(&self.hub.ended, 1, Ordering::Relaxed);
        self.ports.signal_waiters();
    }

    fn place_freed(&self) {
        // It comes right after a ticket was fired: whoever waits for one that has is let go.
        self.ports.handle.with(World::tickets_fired);
        let mut awaiting = self.hub.awaiting.borrow_mut();
        let me = self.ports.handle.party();
        awaiting.retain(|(party, fired)| {
            // Ordering: Relaxed. There is one thread.
            let fired = fired.0.load(Ordering::Relaxed);
            if fired {
                self.ports.handle.with(|world| world.ticket_fired(me, *party));
            }
            !fired
        });
    }

    fn observe(&self, event: PipelineEvent<'_>) {
        self.judge(|oracle, step, me| oracle.observe(self.hub, event, step, me));
    }
}

impl OrderedSet<JobHandle> for PipeEnv<'_, '_> {
    type Set = SimSet<JobHandle>;

    fn insert(&self, set: &Self::Set, key: JobHandle) -> bool {
        let new = self.ports.handle.insert(set, key);
        self.judge(|oracle, step, _| oracle.board_changed(self.hub, key, step));
        new
    }

    fn remove(&self, set: &Self::Set, key: &JobHandle) -> bool {
        let was_there = self.ports.handle.remove(set, key);
        self.judge(|oracle, step, _| oracle.board_changed(self.hub, *key, step));
        was_there
    }

    fn last(&self, set: &Self::Set, below: Option<&JobHandle>) -> Option<JobHandle> {
        let last = self.ports.handle.last(set, below);
        if below.is_none() {
            let heaviest = set.number() == HEAVIEST;
            self.judge(|oracle, step, me| {
                oracle.scan_began(me, heaviest, step);
                Ok(())
            });
        }
        last
    }
}

impl Table<Arc<SimBody>> for PipeEnv<'_, '_> {
    type Places = SimTable<Arc<SimBody>>;

    fn put(&self, table: &Self::Places, value: Arc<SimBody>) -> Result<usize, Arc<SimBody>> {
        self.ports.handle.put(table, value)
    }

    fn get(&self, table: &Self::Places, index: usize) -> Option<Arc<SimBody>> {
        self.ports.handle.get(table, index)
    }

    fn clear(&self, table: &Self::Places, index: usize) -> Option<Arc<SimBody>> {
        self.ports.handle.clear(table, index)
    }
}

impl Exclusive<Ledger> for PipeEnv<'_, '_> {
    type Place = SimPlace<Ledger>;

    fn change<R>(&self, place: &SimPlace<Ledger>, change: impl FnOnce(&mut Ledger) -> R) -> R {
        self.ports.handle.change(place, change)
    }
}

impl Clock for PipeEnv<'_, '_> {
    fn now_ns(&self) -> u64 {
        self.ports.handle.now_ns()
    }
}

executor_core::delegate_memory!(impl['a, 'y] Memory<SimWord> for PipeEnv<'a, 'y>, |env| env.ports);
