//! What each party has seen, and what each shared object is: as hashes, so that states can be compared.
//!
//! A party is a coroutine, whose stack can neither be copied nor compared. But it is deterministic: where it stands is a
//! function of what its operations told it. So a hash of all these answers, its *history*, stands for it. Every shared object
//! has a *version*: of a word or a queue, a hash of what is in it; of a set, a table or a place, a hash of its last change and
//! the version before. All histories and versions together are the *fingerprint* of the state.
//!
//! ```text
//!   answer ──► history of the party ──┐
//!                   │ change          ├──► fingerprint of the state
//!                   ▼                 │
//!            version of the object ───┘
//! ```
//!
//! Equal fingerprints are equal states, if no two hashes collide, by induction over the micro-steps: what an operation answers
//! is a function of its party's history, of the version of its object and of the answers of chance; the first is
//! already in the party's hash and the others are mixed into it; and a change of an object is a function of its version and of
//! the party's history. For that, everything through which one party can learn of another has to be an object: words, queues,
//! collections, tokens and states of parties, signals, tickets, producers that are left, faults that are left, and what the parties
//! outside hand each other beside the ports ([`World::meets`]). Clocks stand still: see [`StrategyKind`]. A task is known by the
//! history of whoever made it, since its number depends on who came first.
//!
//! The other way round, two orders of operations that do not touch each other give equal hashes, since neither history
//! and neither version knows of the order. This is the happens-before caching of Musuvathi and Qadeer ("Partial-order
//! reduction for context-bounded state exploration", 2007), and a little more: there a change of a word makes another state even
//! if the word is what it was before.
//!
//! What the oracles know is not hashed. It has to be a function of the state and of what each party has done, and not
//! of how the parties' steps were interleaved beyond that; a test compares the ends that are reached with and without.
//!
//! [`StrategyKind`]: crate::StrategyKind
//! [`World::meets`]: crate::world::World::meets

use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::Hasher;

use crate::oracle::TaskId;
use crate::party::{Party, State};
use crate::trace::{Object, Op};
use crate::word::WordName;

/// Histories and versions of a run.
#[derive(Debug, Default)]
pub(crate) struct History {
    parties: Vec<Past>,
    objects: Vec<Version>,
    /// The sum of what all objects add to the fingerprint.
    sum: u64,
    /// What lies in each queue, by the objects' places.
    queues: Vec<(usize, VecDeque<u64>)>,
    /// Each task, by its number.
    tasks: Vec<u64>,
    /// Who goes, and what it has touched since it went.
    goes: usize,
    slice: Slice,
    /// Nobody needs to know any more.
    over: Cell<bool>,
}

/// What is known of a party.
#[derive(Debug, Default)]
struct Past {
    hash: u64,
    /// Tasks that it has taken and not yet brought home.
    hand: Vec<u64>,
    /// What it has read since it changed something: the object's place, its version, how often.
    looks: Vec<(usize, u64, u32)>,
    /// It has yielded since it changed something or since it last found that something had changed.
    yields: u32,
}

/// What is known of an object.
#[derive(Debug)]
struct Version {
    code: u64,
    version: u64,
    /// What it adds to the fingerprint.
    share: u64,
}

/// What a micro-step did, with all that its party did until its next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) touched: Footprint,
    /// It asked for chance.
    pub(crate) asked: bool,
    /// It gave up the core of its own will.
    pub(crate) yielded: bool,
}

/// Which objects were read and which changed, a bit each. Objects beyond the 63rd share the last bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    reads: u64,
    writes: u64,
}

impl Footprint {
    /// Whether two micro-steps give the same in either order.
    pub(crate) fn is_independent_of(self, other: Self) -> bool {
        (self.writes & (other.reads | other.writes)) | (self.reads & other.writes) == 0
    }

    /// Whether nothing shared was touched.
    pub(crate) fn is_empty(self) -> bool {
        self.reads | self.writes == 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.reads |= other.reads;
        self.writes |= other.writes;
    }
}

/// What is shared, besides what a [`crate::trace::Event`] can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    /// What an event can be about. A worker stands for its queue.
    Object(Object),
    /// Whether a party was unparked, or is parked.
    Token(usize),
    /// How many signals there have been.
    Signals,
    /// Which tickets of jobs have fired.
    Tickets,
    /// How many producers are left.
    Producers,
    /// How many faults of a kind are left.
    Faults(usize),
    /// What parties outside hand each other beside the ports.
    Meeting,
}

impl Thing {
    fn code(self) -> u64 {
        let (kind, number) = match self {
            Self::Object(object) => return object.code(),
            Self::Token(party) => (0x20, party as u64),
            Self::Signals => (0x21, 0),
            Self::Tickets => (0x22, 0),
            Self::Producers => (0x23, 0),
            Self::Faults(kind) => (0x24, kind as u64),
            Self::Meeting => (0x25, 0),
        };
        kind << 48 | number
    }
}

/// A party that has read the same thing so often without anything having changed goes round in a loop. Nothing outside of a
/// loop reads the sleep word, which is read most, more than half as often without a change.
const LOOKS_MAX: u32 = 16;

/// What histories begin with, so that what they are about cannot be taken for another.
const PARTY: u64 = 0x5041_5254;
const TASK: u64 = 0x5441_534b;
const REST: u64 = 0x5245_5354;

impl History {
    /// Adds a party.
    pub(crate) fn join(&mut self) {
        let hash = mix(PARTY, self.parties.len() as u64);
        self.parties.push(Past {
            hash,
            ..Past::default()
        });
    }

    /// It is `party`'s turn: a micro-step begins.
    pub(crate) fn begins(&mut self, party: usize) {
        self.goes = party;
        self.slice = Slice::default();
        self.learns(0);
    }

    /// Whoever goes has done an operation.
    pub(crate) fn did(&mut self, op: Op, object: Object, value: u64) {
        let me = Object::Worker(self.goes as u32);
        match op {
            Op::Load | Op::Store | Op::Fetch | Op::Exchange | Op::ExchangeFailed => {
                let place = self.place(Thing::Object(object));
                let version = if op == Op::Store {
                    self.objects[place].version
                } else {
                    value
                };
                self.objects[place].version = version;
                self.reads(place);
                self.learns(mix(object.code(), value) ^ op as u64);
            }
            Op::Push => self.arrives(me, value),
            Op::Inject => self.arrives(Object::Injector, value),
            Op::Pop => self.leaves(me, value),
            Op::TakeFrom => {
                let queue = self.queue(object);
                let length = self.queues[queue].1.len() as u64;
                let task = self.tasks[value as usize];
                self.leaves(object, value);
                self.learns(length);
                self.parties[self.goes].hand.push(task);
            }
            Op::TakeInjected => {
                let queue = self.queue(Object::Injector);
                let (place, tasks) = &mut self.queues[queue];
                let place = *place;
                let taken: Vec<u64> = tasks.drain(..value as usize).collect();
                taken.into_iter().for_each(|task| self.learns(task));
                self.learns(value);
                self.changed_queue(queue, place);
            }
            Op::BringHome => {
                let hand = std::mem::take(&mut self.parties[self.goes].hand);
                let queue = self.queue(me);
                let (place, tasks) = &mut self.queues[queue];
                let place = *place;
                tasks.extend(&hand[hand.len() - value as usize..]);
                self.changed_queue(queue, place);
            }
            Op::PopEmpty => self.looked_into(me, 0),
            Op::TakeEmpty | Op::Retry | Op::Peek => self.looked_into(object, value ^ (op as u64) << 8),
            Op::Park => self.changes(Thing::Token(self.goes), 0),
            Op::Unpark => {
                let Object::Worker(worker) = object else {
                    unreachable!("a worker is unparked, not {object}");
                };
                self.changes(Thing::Token(worker as usize), 0);
            }
            Op::Signal => self.changes(Thing::Signals, value + 1),
            Op::Ticket => {
                let place = self.place(Thing::Signals);
                self.reads(place);
                self.learns(value);
            }
            Op::Wait => {
                let places = [Thing::Signals, Thing::Tickets].map(|thing| self.place(thing));
                places.into_iter().for_each(|place| self.reads(place));
            }
            Op::SetLast | Op::TableGet | Op::TableUsed | Op::FifoLen => {
                self.meets(Thing::Object(object), false)
            }
            Op::SetInsert
            | Op::SetRemove
            | Op::TablePut
            | Op::TableClear
            | Op::FifoPush
            | Op::FifoPop
            | Op::Change => {
                self.meets(Thing::Object(object), true);
            }
            Op::Now => self.learns(value),
            Op::Spin | Op::Yield => {
                self.slice.yielded = true;
                if op == Op::Yield {
                    self.yields();
                }
            }
            Op::Fence | Op::Work | Op::Delay => {}
            // Of a user's own tasks, which share memory that no history knows of: none is searched.
            Op::Access | Op::Await => {}
            // Only in records of runs on threads.
            Op::Leave | Op::HandOver | Op::Refused | Op::GiveUp => {}
            // What follows from an operation, and is none itself.
            Op::Awake | Op::Start | Op::End | Op::Panic | Op::HandBack | Op::Keep => {}
        }
    }

    /// A word that whoever goes has written is now `after`.
    pub(crate) fn word_changed(&mut self, name: WordName, before: usize, after: usize) {
        if before != after {
            self.changes(Thing::Object(Object::Word(name)), after as u64);
        }
    }

    /// There is a new task, made by whoever goes.
    pub(crate) fn number(&mut self) {
        self.learns(TASK);
        self.tasks.push(self.parties[self.goes].hash);
    }

    /// Whoever goes was given this answer by chance.
    pub(crate) fn answered(&mut self, answer: u64) {
        self.slice.asked = true;
        self.learns(answer);
        self.forget_looks();
    }

    /// Whoever goes has seen whether its own queue is empty.
    pub(crate) fn looked_home(&mut self, empty: bool) {
        self.looked_into(Object::Worker(self.goes as u32), 2 | u64::from(empty));
    }

    /// Whoever goes makes `thing` another, which is told from all others by `version`.
    pub(crate) fn changes(&mut self, thing: Thing, version: u64) {
        let place = self.place(thing);
        self.changed(place, version);
    }

    /// Whoever goes sees all of `thing`, and may change it.
    pub(crate) fn meets(&mut self, thing: Thing, changes: bool) {
        let place = self.place(thing);
        let version = self.objects[place].version;
        self.learns(version);
        if changes {
            self.changed(place, mix(version, self.parties[self.goes].hash));
        } else {
            self.reads(place);
        }
    }

    /// Whoever goes looks at `thing`, which is told from all others by `version`.
    pub(crate) fn looks_at(&mut self, thing: Thing, version: u64) {
        let place = self.place(thing);
        self.objects[place].version = version;
        self.reads(place);
    }

    /// What whoever goes does next follows from `state`: the way that led there need not be known.
    pub(crate) fn at_rest(&mut self, state: u64) {
        let past = &mut self.parties[self.goes];
        past.hash = mix(REST, state);
        past.hand.clear();
        self.forget_looks();
    }

    /// What tells `task` from others.
    pub(crate) fn identity(&self, task: TaskId) -> u64 {
        self.tasks[task as usize]
    }

    /// What a party has seen so far.
    pub(crate) fn of(&self, party: usize) -> u64 {
        self.parties[party].hash
    }

    /// What was done since [`History::begins`].
    pub(crate) fn slice(&self) -> Slice {
        self.slice
    }

    /// The state.
    pub(crate) fn fingerprint(&self, parties: &[Party]) -> u64 {
        let pasts = self.parties.iter().zip(parties).enumerate();
        pasts.fold(self.sum, |sum, (number, (past, party))| {
            let state = state_code(party.state) << 1 | u64::from(party.token);
            sum.wrapping_add(mix(past.hash, (number as u64) << 32 | state))
        })
    }

    /// Whether a party goes round in a loop that ends only when something changes.
    pub(crate) fn is_stuck(&self, party: usize) -> bool {
        let past = &self.parties[party];
        let loops = past.yields > 1 || past.looks.iter().any(|&(_, _, times)| times >= LOOKS_MAX);
        loops
            && past
                .looks
                .iter()
                .all(|&(place, version, _)| self.objects[place].version == version)
    }

    /// Nobody needs to know any more.
    pub(crate) fn end(&self) {
        self.over.set(true);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.get()
    }

    fn learns(&mut self, what: u64) {
        let past = &mut self.parties[self.goes];
        past.hash = mix(past.hash, what);
    }

    fn arrives(&mut self, queue: Object, task: TaskId) {
        let task = self.tasks[task as usize];
        let queue = self.queue(queue);
        let (place, tasks) = &mut self.queues[queue];
        let place = *place;
        tasks.push_back(task);
        self.changed_queue(queue, place);
    }

    fn leaves(&mut self, queue: Object, task: TaskId) {
        let task = self.tasks[task as usize];
        let queue = self.queue(queue);
        let (place, tasks) = &mut self.queues[queue];
        let place = *place;
        let at = tasks.iter().position(|&other| other == task);
        tasks.remove(at.expect("what was taken was there"));
        self.learns(task);
        self.changed_queue(queue, place);
    }

    fn looked_into(&mut self, queue: Object, answer: u64) {
        let queue = self.queue(queue);
        let place = self.queues[queue].0;
        self.reads(place);
        self.learns(answer);
    }

    fn changed_queue(&mut self, queue: usize, place: usize) {
        let tasks = &self.queues[queue].1;
        let version = tasks.iter().fold(0, |version, &task| mix(version, task));
        self.changed(place, version);
    }

    fn changed(&mut self, place: usize, version: u64) {
        let object = &mut self.objects[place];
        object.version = version;
        let share = mix(object.code, version);
        self.sum = self.sum.wrapping_sub(object.share).wrapping_add(share);
        object.share = share;
        self.slice.touched.writes |= bit(place);
        self.forget_looks();
    }

    fn reads(&mut self, place: usize) {
        self.slice.touched.reads |= bit(place);
        let version = self.objects[place].version;
        let Past { looks, yields, .. } = &mut self.parties[self.goes];
        match looks.iter_mut().find(|(other, _, _)| *other == place) {
            Some((_, seen, times)) if *seen == version => *times += 1,
            Some((_, seen, times)) => {
                (*seen, *times) = (version, 1);
                *yields = 0;
            }
            None => looks.push((place, version, 1)),
        }
    }

    fn yields(&mut self) {
        self.parties[self.goes].yields += 1;
    }

    fn forget_looks(&mut self) {
        let past = &mut self.parties[self.goes];
        past.looks.clear();
        past.yields = 0;
    }

    fn place(&mut self, thing: Thing) -> usize {
        let code = thing.code();
        let known = self.objects.iter().position(|object| object.code == code);
        known.unwrap_or_else(|| {
            self.objects.push(Version {
                code,
                version: 0,
                share: 0,
            });
            self.objects.len() - 1
        })
    }

    fn queue(&mut self, queue: Object) -> usize {
        let place = self.place(Thing::Object(queue));
        let known = self.queues.iter().position(|&(other, _)| other == place);
        known.unwrap_or_else(|| {
            self.queues.push((place, VecDeque::new()));
            self.queues.len() - 1
        })
    }
}

fn state_code(state: State) -> u64 {
    match state {
        State::Runnable => 0,
        State::Parked { .. } | State::Resting { .. } => 1,
        State::Waiting { .. } => 2,
        State::Delayed { .. } => 3,
        State::Joining => 4,
        State::Ticket => 5,
        State::Finished => 6,
        State::Waking { .. } => 7,
        State::Awaiting { .. } => 8,
    }
}

fn bit(place: usize) -> u64 {
    1 << place.min(63)
}

/// Hashes what a party goes on from, the same in every run.
#[derive(Debug, Default)]
pub(crate) struct StateHasher(u64);

impl Hasher for StateHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = mix(self.0, u64::from_le_bytes(word) ^ (chunk.len() as u64) << 56);
        }
    }
}

/// Two numbers as one: both halves of a product, after Wang Yi's wyhash.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0xa076_1d64_78bd_642f) * u128::from(b ^ 0xe703_7ed1_a0b4_28db);
    (product as u64 ^ (product >> 64) as u64).wrapping_add(0x8ebc_6af0_9c88_c6e3)
}

#[cfg(test)]
mod tests;
