//! What happened: a hash of all of it, the last of it, and all of it on request.
//!
//! Every operation is three numbers: who and what, on which object, with which value. Their hash is the same in
//! debug and release and for every version of the compiler, since no text goes into it but what a task itself says. Two runs with one hash took the
//! same way.

mod chrome;
mod interleaving;
mod tells;

use std::fmt;

use pipeline_exec::JobEntry;

use crate::word::WordName;

pub use chrome::write_chrome_trace;
pub(crate) use interleaving::Bracket;
pub use interleaving::Interleaving;

/// How many of the last operations a failure shows.
pub(crate) const TAIL: usize = 48;

macro_rules! ops {
    ($($op:ident = $code:literal $name:literal,)+) => {
        /// What was done. The codes go into the hash and stay as they are.
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

/// On what it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// Nothing in particular.
    None,
    /// A word.
    Word(WordName),
    /// The injector.
    Injector,
    /// A worker's queue, or the worker itself.
    Worker(u32),
    /// A task, by its number.
    Task(u64),
    /// A collection, by its number.
    Collection(u32),
    /// What a task said that it does.
    Label(&'static str),
}

impl Object {
    /// A number that stands for it in the hash.
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

/// One operation of one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The micro-step in which it happened.
    pub step: u64,
    /// Who.
    pub party: u32,
    /// What.
    pub op: Op,
    /// On what.
    pub object: Object,
    /// What was read, or what was there before a change, or how many.
    pub value: u64,
    /// The party's clock afterwards.
    pub clock_ns: u64,
}

/// Something that happened to a job, between two operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEvent {
    /// How many operations came before.
    pub after: usize,
    /// On which party.
    pub party: u32,
    /// The party's clock.
    pub clock_ns: u64,
    /// What happened.
    pub entry: JobEntry,
}

/// Collects what happens.
pub(crate) struct Trace {
    hash: u64,
    tail: Vec<Event>,
    at: usize,
    all: Option<Vec<Event>>,
    /// Kept if the operations are. They are no operations, so the hash does not know of them.
    jobs: Vec<JobEvent>,
}

impl Trace {
    /// Keeps everything if `all`, else the hash and the tail.
    pub(crate) fn new(all: bool) -> Self {
        Self {
            hash: FNV_OFFSET,
            tail: Vec::with_capacity(TAIL),
            at: 0,
            all: all.then(Vec::new),
            jobs: Vec::new(),
        }
    }

    pub(crate) fn did(&mut self, step: u64, party: usize, op: Op, object: Object, value: u64, clock_ns: u64) {
        for number in [(party as u64) << 8 | op as u64, object.code(), value] {
            self.hash = (self.hash ^ number).wrapping_mul(FNV_PRIME);
        }
        let event = Event {
            step,
            party: party as u32,
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

    /// Something happened to a job; `entry` is asked for it if it is kept.
    pub(crate) fn job(&mut self, party: usize, clock_ns: u64, entry: impl FnOnce() -> Option<JobEntry>) {
        let Some(all) = &self.all else { return };
        self.jobs.extend(entry().map(|entry| JobEvent {
            after: all.len(),
            party: party as u32,
            clock_ns,
            entry,
        }));
    }

    /// What happened to jobs, if it was kept.
    pub(crate) fn take_jobs(&mut self) -> Vec<JobEvent> {
        std::mem::take(&mut self.jobs)
    }

    /// The hash of everything so far.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The last operations, in order.
    pub(crate) fn tail(&self) -> Vec<Event> {
        let (newer, older) = self.tail.split_at(self.at);
        [older, newer].concat()
    }

    /// All operations, if they were kept.
    pub(crate) fn take_all(&mut self) -> Vec<Event> {
        self.all.take().unwrap_or_default()
    }
}

/// A label's own text is the one text that goes into the hash. 48 bits of it.
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

    /// The value was reckoned outside of this program: no profile, compiler or layout of a type may change it.
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
