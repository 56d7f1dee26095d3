//! The trace of a run: a hash of everything, the last operations, and all of them on request.
//!
//! An operation is three numbers: actor and op, object, value. Their hash is the same in every
//! profile and compiler, as its only text is tasks' labels. Equal hashes mean equal runs.

mod chrome;
mod interleaving;
mod tells;

use std::fmt;

use pipeline_exec::trace::JobEntry;

use crate::word::WordName;

pub use chrome::write_chrome_trace;
pub(crate) use interleaving::Bracket;
pub use interleaving::Interleaving;

/// Operations that a failure shows, at most.
pub(crate) const TAIL: usize = 48;

macro_rules! ops {
    ($($op:ident = $code:literal $name:literal,)+) => {
        /// What was done. The codes are part of the hash and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[expect(missing_docs, reason = "the names are those of the port methods")]
        pub enum Op { $($op = $code,)+ }

        impl Op {
            /// Its name in tables and traces.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$op => $name,)+ }
            }
        }
    };
}

ops! {
    Load = 1 "load",
    Store = 2 "store",
    Fetch = 3 "fetch",
    Exchange = 4 "exchange",
    ExchangeFailed = 5 "exchange failed",
    Fence = 6 "fence",
    Push = 7 "push",
    Pop = 8 "pop",
    PopEmpty = 9 "pop, empty",
    Inject = 10 "inject",
    TakeInjected = 11 "take from injector",
    TakeFrom = 12 "steal from",
    TakeEmpty = 13 "look, empty",
    Retry = 14 "contended",
    BringHome = 15 "bring home",
    Park = 16 "park",
    Awake = 17 "awake",
    Unpark = 18 "unpark",
    Spin = 19 "spin",
    Yield = 20 "yield",
    Signal = 21 "signal waiters",
    Ticket = 22 "take a ticket",
    Wait = 23 "wait for signal",
    Start = 24 "start task",
    End = 25 "end task",
    Panic = 26 "task panics",
    HandBack = 27 "hand back",
    Work = 28 "work",
    Delay = 29 "pause",
    SetInsert = 30 "insert",
    SetRemove = 31 "remove",
    SetLast = 32 "largest",
    TablePut = 33 "put",
    TableGet = 34 "get",
    TableClear = 35 "clear",
    Now = 36 "now",
    Change = 37 "change",
    Keep = 38 "keep private",
    Peek = 39 "peek",
    TableUsed = 44 "used",
    FifoPush = 45 "append",
    FifoPop = 46 "take first",
    FifoLen = 47 "length",
    Access = 60 "access",
    Await = 61 "wait until",
    Leave = 40 "leave",
    HandOver = 41 "handed over",
    Refused = 42 "refused",
    GiveUp = 43 "give up",
}

/// What an operation acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// No object.
    None,
    /// A word.
    Word(WordName),
    /// The injector.
    Injector,
    /// A worker or its queue.
    Worker(u32),
    /// A task, by its number.
    Task(u64),
    /// A collection, by its number.
    Collection(u32),
    /// A task's own description of an access.
    Label(&'static str),
}

impl Object {
    pub(crate) fn code(self) -> u64 {
        let (kind, number) = match self {
            Self::None => (0, 0),
            Self::Word(WordName::State) => (1, 0),
            Self::Word(WordName::Sleep) => (2, 0),
            Self::Word(WordName::Stamps) => (3, 0),
            Self::Word(WordName::Slot(worker)) => (4, u64::from(worker)),
            Self::Word(WordName::Waiters) => (5, 0),
            Self::Word(WordName::Other(n)) => (6, u64::from(n)),
            Self::Injector => (7, 0),
            Self::Worker(worker) => (8, u64::from(worker)),
            Self::Task(task) => (9, task),
            Self::Collection(n) => (10, u64::from(n)),
            Self::Label(text) => (11, label_code(text)),
        };
        kind << 48 | number
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("-"),
            Self::Word(name) => write!(f, "{name}"),
            Self::Injector => f.write_str("injector"),
            Self::Worker(worker) => write!(f, "worker {worker}"),
            Self::Task(task) => write!(f, "task {task}"),
            Self::Collection(n) => write!(f, "collection {n}"),
            Self::Label(text) => f.write_str(text),
        }
    }
}

/// One operation of one actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The step in which it happened.
    pub step: u64,
    /// The actor, by number.
    pub actor: u32,
    /// What was done.
    pub op: Op,
    /// What it was done on.
    pub object: Object,
    /// The value read, the value before a change, or a count.
    pub value: u64,
    /// The actor's clock afterwards.
    pub clock_ns: u64,
}

/// An event of a job, between two operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEvent {
    /// Number of operations before it.
    pub after: usize,
    /// The actor, by number.
    pub actor: u32,
    /// The actor's clock.
    pub clock_ns: u64,
    /// The event.
    pub entry: JobEntry,
}

/// A run's last events, or all, and a hash of all.
#[derive(Debug)]
pub struct Trace {
    hash: u64,
    tail: Vec<Event>,
    at: usize,
    all: Option<Vec<Event>>,
    /// They are no operations, so the hash ignores them.
    jobs: Vec<JobEvent>,
}

impl Trace {
    /// Keeps everything if `all`, otherwise the hash and the tail.
    pub fn new(all: bool) -> Self {
        Self {
            hash: FNV_OFFSET,
            tail: Vec::with_capacity(TAIL),
            at: 0,
            all: all.then(Vec::new),
            jobs: Vec::new(),
        }
    }

    /// Adds an event.
    pub fn did(&mut self, step: u64, actor: usize, op: Op, object: Object, value: u64, clock_ns: u64) {
        for number in [(actor as u64) << 8 | op as u64, object.code(), value] {
            self.hash = (self.hash ^ number).wrapping_mul(FNV_PRIME);
        }
        let event = Event {
            step,
            actor: actor as u32,
            op,
            object,
            value,
            clock_ns,
        };
        if self.tail.len() < TAIL {
            self.tail.push(event);
        } else {
            self.tail[self.at] = event;
            self.at = (self.at + 1) % TAIL;
        }
        if let Some(all) = &mut self.all {
            all.push(event);
        }
    }

    /// `entry` is called if it is kept.
    pub(crate) fn job(&mut self, actor: usize, clock_ns: u64, entry: impl FnOnce() -> Option<JobEntry>) {
        let Some(all) = &self.all else { return };
        self.jobs.extend(entry().map(|entry| JobEvent {
            after: all.len(),
            actor: actor as u32,
            clock_ns,
            entry,
        }));
    }

    pub(crate) fn take_jobs(&mut self) -> Vec<JobEvent> {
        std::mem::take(&mut self.jobs)
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The last events.
    pub fn tail(&self) -> Vec<Event> {
        let (newer, older) = self.tail.split_at(self.at);
        [older, newer].concat()
    }

    /// All events, if they are kept.
    pub fn take_all(&mut self) -> Vec<Event> {
        self.all.take().unwrap_or_default()
    }
}

/// 48 bits.
fn label_code(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    text.bytes().fold(FNV_OFFSET, step) >> 16
}

// Fowler, Noll and Vo's hash 1a, over words of 64 bits instead of octets.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    fn did(trace: &mut Trace, n: u64) {
        trace.did(n, 3, Op::Inject, Object::Task(n), n, 0);
    }

    /// No profile, compiler or layout may change the expected value.
    #[test]
    fn the_hash_depends_on_the_operations_alone() {
        let mut trace = Trace::new(false);
        trace.did(1, 0, Op::Load, Object::Word(WordName::State), 1, 10);
        trace.did(2, 1, Op::Exchange, Object::Word(WordName::Slot(7)), 5, 20);
        trace.did(3, 65, Op::TakeEmpty, Object::Injector, 0, 30);
        assert_eq!(trace.hash(), 0x2056_88c6_33c3_5068);
    }

    #[test]
    fn the_tail_is_the_last_operations_in_order() {
        let mut trace = Trace::new(false);
        (0..100).for_each(|n| did(&mut trace, n));
        let steps: Vec<u64> = trace.tail().iter().map(|event| event.step).collect();
        assert_eq!(steps, (100 - TAIL as u64..100).collect::<Vec<_>>());
    }
}
