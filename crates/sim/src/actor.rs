//! An actor: one thread of control in the simulated world, as a stackful coroutine.
//!
//! A worker, producer or closer runs production code unchanged, and suspends inside the port
//! methods. When a run ends early, each unfinished actor is resumed with [`Resume::TearDown`]: the
//! port method unwinds with a [`Teardown`] payload, caught at the coroutine's root. To core's run
//! loop, forced unwinding of coroutines would look like a task's panic.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use executor_core::panic_message;

use crate::handle::Handle;
use crate::oracle::Oracle;
use crate::world::{Next, World};

/// Bytes of an actor's stack, the user's tasks included.
const STACK_BYTES: usize = 256 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActorKind {
    Worker(usize),
    Spare(usize),
    Producer(usize),
    Closer,
    Waiter(usize),
    Canceller(usize),
    /// Wakes tasks that wait for something other than a task.
    Environment,
    Filler,
}

impl ActorKind {
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

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(n) => write!(f, "worker {n}"),
            Self::Spare(n) => write!(f, "spare {n}"),
            Self::Producer(n) => write!(f, "producer {n}"),
            Self::Closer => f.write_str("closer"),
            Self::Waiter(n) => write!(f, "waiter {n}"),
            Self::Canceller(n) => write!(f, "canceller {n}"),
            Self::Environment => f.write_str("environment"),
            Self::Filler => f.write_str("filler"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runnable,
    Parked {
        deadline_ns: Option<u64>,
    },
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
    /// A task of this worker waits for a condition.
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
            Self::Waking { until } => write!(f, "was unparked, and can go at step {until}"),
            Self::Delayed { until } => write!(f, "pauses until step {until}"),
            Self::Joining => f.write_str("waits until all producers have finished"),
            Self::Ticket => f.write_str("waits for a job to end"),
            Self::Awaiting { what } => write!(f, "waits until {what}"),
            Self::Finished => f.write_str("finished"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Actor {
    pub(crate) kind: ActorKind,
    pub(crate) state: State,
    pub(crate) clock_ps: u64,
    /// When the actor leaves its core after it parked.
    pub(crate) dozes_until_ps: u64,
    /// From unpark to running; taken when the actor asks.
    pub(crate) wake_delay_ps: u64,
    pub(crate) token: bool,
}

impl Actor {
    pub(crate) fn clock_ns(&self) -> u64 {
        self.clock_ps / crate::clock::PS
    }

    pub(crate) fn new(kind: ActorKind) -> Self {
        Self {
            kind,
            state: State::Runnable,
            clock_ps: 0,
            dozes_until_ps: 0,
            wake_delay_ps: 0,
            token: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    Go,
    TearDown,
}

pub(crate) struct Teardown;

pub(crate) struct Actors {
    world: Rc<RefCell<World>>,
    coroutines: Vec<Option<Coroutine<Resume, (), ()>>>,
}

thread_local! {
    /// Stacks of finished actors. A new stack costs two system calls, more than a small run.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

impl Actors {
    pub(crate) fn new(world: Rc<RefCell<World>>) -> Self {
        Self {
            world,
            coroutines: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, kind: ActorKind, body: impl for<'y> FnOnce(Handle<'y>) + 'static) {
        let world = Rc::clone(&self.world);
        let actor = world.borrow_mut().join(kind);
        debug_assert_eq!(actor, self.coroutines.len());
        let root = move |yielder: &Yielder<Resume, ()>, first: Resume| {
            if first == Resume::TearDown {
                return;
            }
            let handle = Handle::new(yielder, Rc::clone(&world), actor);
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(handle)))
                && !payload.is::<Teardown>()
            {
                let message = format!("{kind} panicked: {}", panic_message(&*payload));
                world.borrow_mut().fail(Oracle::PolicyPanic, message);
            }
        };
        self.coroutines
            .push(Some(Coroutine::with_stack(pooled_stack(), root)));
    }

    pub(crate) fn run(&mut self) {
        loop {
            let next = self.world.borrow_mut().decided();
            match next {
                Next::Go(actor) => self.resume(actor, Resume::Go),
                Next::Stop => break,
            }
        }
        self.world.borrow_mut().tear_down();
        for actor in 0..self.coroutines.len() {
            if self.coroutines[actor].is_some() {
                self.resume(actor, Resume::TearDown);
            }
        }
    }

    fn resume(&mut self, actor: usize, how: Resume) {
        let place = &mut self.coroutines[actor];
        let coroutine = place.as_mut().expect("an actor that has finished does not go");
        if let CoroutineResult::Return(()) = coroutine.resume(how) {
            let coroutine = place.take().expect("it was there");
            STACKS.with_borrow_mut(|stacks| stacks.push(coroutine.into_stack()));
            if how == Resume::Go {
                self.world.borrow_mut().finish(actor);
            }
        }
    }
}

fn pooled_stack() -> DefaultStack {
    STACKS
        .with_borrow_mut(Vec::pop)
        .unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("there is address space for a stack"))
}
