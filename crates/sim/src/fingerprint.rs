//! The state of a run as a hash, by which a search recognises it.
//!
//! A coroutine's stack can be neither copied nor compared. But an actor is deterministic: a hash of
//! all its operations' answers, its *history*, stands for where it is. Each shared object has a
//! *version*: a hash of its content for a word or queue; for a set, table or place a hash of its
//! last change and the version before. All histories and versions together are the *fingerprint*.
//!
//! ```text
//!   answer ──► history of the actor ──┐
//!                   │ change          ├──► fingerprint of the state
//!                   ▼                 │
//!            version of the object ───┘
//! ```
//!
//! **Equal fingerprints are equal states**, unless hashes collide, by induction over the steps: an
//! answer is a function of the actor's history, the object's version and the random numbers; a
//! change is a function of the history and the version. Hence everything through which one actor
//! learns of another is an object, down to remaining faults and what environment actors share
//! beside the ports ([`World::meets`]). A task's identity is its creator's history, since its
//! number depends on the order.
//!
//! **Two orders of independent operations have equal fingerprints**: no history or version contains
//! the order. This is the happens-before caching of Musuvathi and Qadeer ("Partial-order reduction
//! for context-bounded state exploration", 2007), except that a word which returns to its old value
//! returns to its old version.
//!
//! The oracles' knowledge is not hashed. It must be a function of the state and of each actor's
//! operations, not of their interleaving.
//!
//! [`World::meets`]: crate::world::World::meets

use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::Hasher;

use crate::actor::{Actor, State};
use crate::oracle::TaskId;
use crate::trace::{Object, Op};
use crate::word::WordName;

#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    actors: Vec<Past>,
    objects: Vec<Version>,
    sum: u64,
    queues: Vec<(usize, VecDeque<u64>)>,
    tasks: Vec<u64>,
    /// The actor of the current step, and what it has touched in it.
    goes: usize,
    slice: Slice,
    /// The search needs no more fingerprints of this run.
    over: Cell<bool>,
}

#[derive(Debug, Default)]
struct Past {
    hash: u64,
    hand: Vec<u64>,
    /// Reads since the last own change: object's index, version, count.
    looks: Vec<(usize, u64, u32)>,
    /// Yields since the actor last changed something or saw a change.
    yields: u32,
}

#[derive(Debug)]
struct Version {
    code: u64,
    version: u64,
    share: u64,
}

/// A step, with all that its actor did until its next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) touched: Footprint,
    pub(crate) asked: bool,
    pub(crate) yielded: bool,
}

/// Objects read and written, a bit each. Objects from the 64th on share the last bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    reads: u64,
    writes: u64,
}

impl Footprint {
    pub(crate) fn is_independent_of(self, other: Self) -> bool {
        (self.writes & (other.reads | other.writes)) | (self.reads & other.writes) == 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.reads | self.writes == 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.reads |= other.reads;
        self.writes |= other.writes;
    }
}

/// What is shared, besides the objects of a [`crate::trace::Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A worker stands for its queue.
    Object(Object),
    /// Whether an actor was unparked, or is parked.
    Token(usize),
    Signals,
    Tickets,
    Producers,
    Faults(usize),
    Meeting,
}

impl Resource {
    fn code(self) -> u64 {
        let (kind, number) = match self {
            Self::Object(object) => return object.code(),
            Self::Token(actor) => (0x20, actor as u64),
            Self::Signals => (0x21, 0),
            Self::Tickets => (0x22, 0),
            Self::Producers => (0x23, 0),
            Self::Faults(kind) => (0x24, kind as u64),
            Self::Meeting => (0x25, 0),
        };
        kind << 48 | number
    }
}

/// Reads of one unchanged object after which an actor counts as looping: twice what occurs
/// otherwise.
const LOOKS_MAX: u32 = 16;

/// Initial values that separate histories of different kinds.
const ACTOR: u64 = 0x5041_5254;
const TASK: u64 = 0x5441_534b;
const REST: u64 = 0x5245_5354;

impl Fingerprints {
    pub(crate) fn join(&mut self) {
        let hash = mix(ACTOR, self.actors.len() as u64);
        self.actors.push(Past {
            hash,
            ..Past::default()
        });
    }

    pub(crate) fn begins(&mut self, actor: usize) {
        self.goes = actor;
        self.slice = Slice::default();
        self.learns(0);
    }

    pub(crate) fn did(&mut self, op: Op, object: Object, value: u64) {
        let me = Object::Worker(self.goes as u32);
        match op {
            Op::Load | Op::Store | Op::Fetch | Op::Exchange | Op::ExchangeFailed => {
                let place = self.place(Resource::Object(object));
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
                self.actors[self.goes].hand.push(task);
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
                let hand = std::mem::take(&mut self.actors[self.goes].hand);
                let queue = self.queue(me);
                let (place, tasks) = &mut self.queues[queue];
                let place = *place;
                tasks.extend(&hand[hand.len() - value as usize..]);
                self.changed_queue(queue, place);
            }
            Op::PopEmpty => self.looked_into(me, 0),
            Op::TakeEmpty | Op::Retry | Op::Peek => self.looked_into(object, value ^ (op as u64) << 8),
            Op::Park => self.changes(Resource::Token(self.goes), 0),
            Op::Unpark => {
                let Object::Worker(worker) = object else {
                    unreachable!("a worker is unparked, not {object}");
                };
                self.changes(Resource::Token(worker as usize), 0);
            }
            Op::Signal => self.changes(Resource::Signals, value + 1),
            Op::Ticket => {
                let place = self.place(Resource::Signals);
                self.reads(place);
                self.learns(value);
            }
            Op::Wait => {
                let places = [Resource::Signals, Resource::Tickets].map(|resource| self.place(resource));
                places.into_iter().for_each(|place| self.reads(place));
            }
            Op::SetLast | Op::TableGet | Op::TableUsed | Op::FifoLen => {
                self.meets(Resource::Object(object), false)
            }
            Op::SetInsert
            | Op::SetRemove
            | Op::TablePut
            | Op::TableClear
            | Op::FifoPush
            | Op::FifoPop
            | Op::Change => {
                self.meets(Resource::Object(object), true);
            }
            Op::Now => self.learns(value),
            Op::Spin | Op::Yield => {
                self.slice.yielded = true;
                if op == Op::Yield {
                    self.yields();
                }
            }
            Op::Fence | Op::Work | Op::Delay => {}
            // A user's own tasks share memory that no fingerprint covers, so their runs are not
            // searched.
            Op::Access | Op::Await => {}
            // Only in records of runs on threads.
            Op::Leave | Op::HandOver | Op::Refused | Op::GiveUp => {}
            Op::Awake | Op::Start | Op::End | Op::Panic | Op::HandBack | Op::Keep => {}
        }
    }

    pub(crate) fn word_changed(&mut self, name: WordName, before: usize, after: usize) {
        if before != after {
            self.changes(Resource::Object(Object::Word(name)), after as u64);
        }
    }

    pub(crate) fn number(&mut self) {
        self.learns(TASK);
        self.tasks.push(self.actors[self.goes].hash);
    }

    pub(crate) fn answered(&mut self, answer: u64) {
        self.slice.asked = true;
        self.learns(answer);
        self.forget_looks();
    }

    pub(crate) fn looked_home(&mut self, empty: bool) {
        self.looked_into(Object::Worker(self.goes as u32), 2 | u64::from(empty));
    }

    pub(crate) fn changes(&mut self, resource: Resource, version: u64) {
        let place = self.place(resource);
        self.changed(place, version);
    }

    pub(crate) fn meets(&mut self, resource: Resource, changes: bool) {
        let place = self.place(resource);
        let version = self.objects[place].version;
        self.learns(version);
        if changes {
            self.changed(place, mix(version, self.actors[self.goes].hash));
        } else {
            self.reads(place);
        }
    }

    pub(crate) fn looks_at(&mut self, resource: Resource, version: u64) {
        let place = self.place(resource);
        self.objects[place].version = version;
        self.reads(place);
    }

    pub(crate) fn at_rest(&mut self, state: u64) {
        let past = &mut self.actors[self.goes];
        past.hash = mix(REST, state);
        past.hand.clear();
        self.forget_looks();
    }

    pub(crate) fn identity(&self, task: TaskId) -> u64 {
        self.tasks[task as usize]
    }

    pub(crate) fn of(&self, actor: usize) -> u64 {
        self.actors[actor].hash
    }

    pub(crate) fn slice(&self) -> Slice {
        self.slice
    }

    pub(crate) fn fingerprint(&self, actors: &[Actor]) -> u64 {
        let pasts = self.actors.iter().zip(actors).enumerate();
        pasts.fold(self.sum, |sum, (number, (past, actor))| {
            let state = state_code(actor.state) << 1 | u64::from(actor.token);
            sum.wrapping_add(mix(past.hash, (number as u64) << 32 | state))
        })
    }

    /// Whether an actor is in a loop that only a change can end.
    pub(crate) fn is_stuck(&self, actor: usize) -> bool {
        let past = &self.actors[actor];
        let loops = past.yields > 1 || past.looks.iter().any(|&(_, _, times)| times >= LOOKS_MAX);
        loops
            && past
                .looks
                .iter()
                .all(|&(place, version, _)| self.objects[place].version == version)
    }

    pub(crate) fn end(&self) {
        self.over.set(true);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.get()
    }

    fn learns(&mut self, what: u64) {
        let past = &mut self.actors[self.goes];
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
        let Past { looks, yields, .. } = &mut self.actors[self.goes];
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
        self.actors[self.goes].yields += 1;
    }

    fn forget_looks(&mut self) {
        let past = &mut self.actors[self.goes];
        past.looks.clear();
        past.yields = 0;
    }

    fn place(&mut self, resource: Resource) -> usize {
        let code = resource.code();
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
        let place = self.place(Resource::Object(queue));
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

/// Mixes two numbers: both halves of a product, after Wang Yi's wyhash.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0xa076_1d64_78bd_642f) * u128::from(b ^ 0xe703_7ed1_a0b4_28db);
    (product as u64 ^ (product >> 64) as u64).wrapping_add(0x8ebc_6af0_9c88_c6e3)
}

#[cfg(test)]
mod tests;
