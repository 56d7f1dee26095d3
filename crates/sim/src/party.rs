//! A party: one thread of control in the simulated world, and the coroutine that it is.
//!
//! A worker, a producer, the one who closes: each is a stackful coroutine that runs production code unchanged and
//! gives up the core inside the port methods. What the production code has on its stack stays there.
//!
//! A run that ends early leaves parties in the middle of their work. They are resumed once more with
//! [`Resume::TearDown`], upon which the port method that they were in unwinds with a [`Teardown`] payload; the
//! coroutine's root catches it. Coroutines' own forced unwinding would not do: the run loop of core catches
//! panics, and would take it for one of a task.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::handle::Handle;
use crate::oracle::Oracle;
use crate::world::{Next, World};

/// Bytes of stack that a party has, the user's tasks included.
const STACK_BYTES: usize = 256 * 1024;

/// What a party is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Worker(usize),
    /// A spare thread of a pipeline executor.
    Spare(usize),
    Producer(usize),
    Closer,
    Waiter(usize),
    Canceller(usize),
    /// Wakes tasks that wait for something that is no task.
    Outside,
    /// Brings the count near its maximum.
    Ballast,
}

impl Side {
    pub(crate) fn is_worker(self) -> bool {
        matches!(self, Self::Worker(_))
    }

    pub(crate) fn worker(self) -> Option<usize> {
        match self {
            Self::Worker(worker) => Some(worker),
            _ => None,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(n) => write!(f, "worker {n}"),
            Self::Spare(n) => write!(f, "spare {n}"),
            Self::Producer(n) => write!(f, "producer {n}"),
            Self::Closer => f.write_str("closer"),
            Self::Waiter(n) => write!(f, "waiter {n}"),
            Self::Canceller(n) => write!(f, "canceller {n}"),
            Self::Outside => f.write_str("outside"),
            Self::Ballast => f.write_str("ballast"),
        }
    }
}

/// Whether a party may go, and if not, for what it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runnable,
    Parked {
        deadline_ns: Option<u64>,
    },
    /// A spare thread sleeps.
    Resting {
        deadline_ns: Option<u64>,
    },
    Waiting {
        ticket: u64,
    },
    Delayed {
        until: u64,
    },
    Waking {
        until: u64,
    },
    Joining,
    Ticket,
    /// A task of this worker waits until something holds.
    Awaiting {
        what: &'static str,
    },
    Finished,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runnable => f.write_str("can go on"),
            Self::Parked { deadline_ns: None } => f.write_str("parked until unparked"),
            Self::Parked {
                deadline_ns: Some(ns),
            } => write!(f, "parked until {ns} ns"),
            Self::Resting { deadline_ns: None } => f.write_str("sleeps until it is told to watch"),
            Self::Resting {
                deadline_ns: Some(ns),
            } => write!(f, "watches, and sleeps until {ns} ns"),
            Self::Waiting { ticket } => write!(f, "waits for signal {}", ticket + 1),
            Self::Waking { until } => write!(f, "was unparked, and can go at micro-step {until}"),
            Self::Delayed { until } => write!(f, "pauses until micro-step {until}"),
            Self::Joining => f.write_str("waits until all producers have finished"),
            Self::Ticket => f.write_str("waits for a job to end"),
            Self::Awaiting { what } => write!(f, "waits until {what}"),
            Self::Finished => f.write_str("finished"),
        }
    }
}

/// What the world knows about one party.
#[derive(Debug)]
pub(crate) struct Party {
    pub(crate) side: Side,
    pub(crate) state: State,
    /// Its own virtual time, in picoseconds.
    pub(crate) clock_ps: u64,
    /// Until then it stays on its core when it parks.
    pub(crate) dozes_until_ps: u64,
    /// How long it took from being unparked to running, until it has asked.
    pub(crate) wake_delay_ps: u64,
    /// It was unparked while it was not parked.
    pub(crate) token: bool,
}

impl Party {
    /// Its own virtual time, in whole nanoseconds.
    pub(crate) fn clock_ns(&self) -> u64 {
        self.clock_ps / crate::clock::PS
    }

    pub(crate) fn new(side: Side) -> Self {
        Self {
            side,
            state: State::Runnable,
            clock_ps: 0,
            dozes_until_ps: 0,
            wake_delay_ps: 0,
            token: false,
        }
    }
}

/// What a suspended party is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    Go,
    TearDown,
}

/// Payload of the unwinding that ends an unfinished party.
pub(crate) struct Teardown;

/// The coroutines of one run.
pub(crate) struct Crew {
    world: Rc<RefCell<World>>,
    coroutines: Vec<Option<Coroutine<Resume, (), ()>>>,
}

thread_local! {
    /// Stacks of parties that have finished. Making one costs two system calls, which is more than a small run.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

impl Crew {
    pub(crate) fn new(world: Rc<RefCell<World>>) -> Self {
        Self {
            world,
            coroutines: Vec::new(),
        }
    }

    /// Adds a party that does `body`.
    pub(crate) fn add(&mut self, side: Side, body: impl for<'y> FnOnce(Handle<'y>) + 'static) {
        let world = Rc::clone(&self.world);
        let party = world.borrow_mut().join(side);
        debug_assert_eq!(party, self.coroutines.len());
        let root = move |yielder: &Yielder<Resume, ()>, first: Resume| {
            if first == Resume::TearDown {
                return;
            }
            let handle = Handle::new(yielder, Rc::clone(&world), party);
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(handle)))
                && !payload.is::<Teardown>()
            {
                let message = format!("{side} panicked: {}", panic_message(&*payload));
                world.borrow_mut().fail(Oracle::PolicyPanic, message);
            }
        };
        self.coroutines
            .push(Some(Coroutine::with_stack(pooled_stack(), root)));
    }

    /// Lets the parties go, one micro-step at a time, until all have finished or an oracle has spoken.
    pub(crate) fn run(&mut self) {
        loop {
            let next = self.world.borrow_mut().decided();
            match next {
                Next::Go(party) => self.resume(party, Resume::Go),
                Next::Stop => break,
            }
        }
        self.world.borrow_mut().tear_down();
        for party in 0..self.coroutines.len() {
            if self.coroutines[party].is_some() {
                self.resume(party, Resume::TearDown);
            }
        }
    }

    fn resume(&mut self, party: usize, how: Resume) {
        let place = &mut self.coroutines[party];
        let coroutine = place.as_mut().expect("a party that has finished does not go");
        if let CoroutineResult::Return(()) = coroutine.resume(how) {
            let coroutine = place.take().expect("it was there");
            STACKS.with_borrow_mut(|stacks| stacks.push(coroutine.into_stack()));
            if how == Resume::Go {
                self.world.borrow_mut().finish(party);
            }
        }
    }
}

/// What a panic said.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(no message)".to_owned())
}

fn pooled_stack() -> DefaultStack {
    STACKS
        .with_borrow_mut(Vec::pop)
        .unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("there is address space for a stack"))
}
