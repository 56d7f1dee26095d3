//! A party's handle to the world: what the ports are made of.
//!
//! Each operation is the same three things: [`Handle::step`] lets others go first, then the operation itself on plain
//! data, then [`World::did`] for the trace, the clock and the oracles.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;

use corosensei::Yielder;

use crate::clock::PS;
use crate::party::{Resume, Teardown};
use crate::trace::{Object, Op};
use crate::word::{SimWord, WordName};
use crate::world::{Next, World};

/// One party's access to everything shared.
pub struct Handle<'y> {
    yielder: &'y Yielder<Resume, ()>,
    world: Rc<RefCell<World>>,
    party: usize,
}

impl<'y> Handle<'y> {
    pub(crate) fn new(yielder: &'y Yielder<Resume, ()>, world: Rc<RefCell<World>>, party: usize) -> Self {
        Self {
            yielder,
            world,
            party,
        }
    }

    /// The number of the party. A worker's is its own number.
    pub fn party(&self) -> usize {
        self.party
    }

    /// A new word, named by a number.
    pub fn word(&self, value: usize) -> SimWord {
        let number = self.with(World::next_word);
        SimWord::new(WordName::Other(number), value)
    }

    /// Before an operation: others may go first.
    pub(crate) fn step(&self) {
        let next = {
            let mut world = self.world.borrow_mut();
            match world.next() {
                Next::Go(party) if party == self.party => return,
                next => {
                    world.decide(next);
                    next
                }
            }
        };
        self.let_go(next);
    }

    /// After this party was blocked: others go until it is unblocked and chosen.
    pub(crate) fn wait(&self) {
        self.step();
    }

    /// Something with the world, which is no operation that others could come before.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut World) -> R) -> R {
        f(&mut self.world.borrow_mut())
    }

    /// A whole operation: others first, then `f`.
    pub(crate) fn operate<R>(&self, f: impl FnOnce(&mut World, usize) -> R) -> R {
        self.step();
        f(&mut self.world.borrow_mut(), self.party)
    }

    /// A micro-step in which nothing shared happens and what runs here takes `cost_ns`.
    pub(crate) fn work(&self, cost_ns: u64) {
        self.operate(|world, me| {
            world.did(me, Op::Work, Object::None, cost_ns);
            world.work(me, cost_ns);
        });
        // What comes after it is done when it is over, by virtual time as well.
        self.step();
    }

    /// Does nothing before `at_ns` of virtual time.
    pub(crate) fn sleep_until(&self, at_ns: u64) {
        self.operate(|world, me| {
            world.did(me, Op::Delay, Object::None, at_ns);
            world.not_before(me, at_ns.saturating_mul(PS));
        });
        // What comes after it is done when that time has come.
        self.step();
    }

    /// Lets others go for as many micro-steps as `steps` says.
    pub(crate) fn pause(&self, steps: impl FnOnce(&mut World) -> u64) {
        let pauses = self.operate(|world, me| {
            let steps = steps(world);
            world.did(me, Op::Delay, Object::None, steps);
            if steps > 0 {
                world.delay(me, steps);
            }
            steps > 0
        });
        if pauses {
            self.wait();
        }
    }

    /// Sleeps, as a spare thread, until it is woken, or until `until_ns`.
    pub(crate) fn rest(&self, until_ns: Option<u64>) {
        let blocked = self.operate(|world, me| {
            world.did(me, Op::Park, Object::None, until_ns.unwrap_or(0));
            world.rest(me, until_ns)
        });
        if blocked {
            self.wait();
        }
        self.with(|world| world.did(self.party, Op::Awake, Object::None, 0));
    }

    /// Wakes `party`, a spare thread.
    pub(crate) fn wake_spare(&self, party: usize) {
        self.operate(|world, me| {
            world.did(me, Op::Unpark, Object::Worker(party as u32), 0);
            world.wake_spare(me, party);
        });
    }

    /// Blocks until all producers have finished.
    pub(crate) fn wait_for_producers(&self) {
        let blocked = self.operate(|world, me| world.wait_for_producers(me));
        if blocked {
            self.wait();
        }
    }

    fn let_go(&self, next: Next) {
        let torn_down = next == Next::Stop && self.with(|world| world.is_tearing_down());
        // While being torn down nothing is suspended any more: a destructor that comes here goes straight on, anything
        // else unwinds.
        if torn_down {
            if !std::thread::panicking() {
                resume_unwind(Box::new(Teardown));
            }
            return;
        }
        match self.yielder.suspend(()) {
            Resume::Go => {}
            Resume::TearDown => resume_unwind(Box::new(Teardown)),
        }
    }
}

impl std::fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("party", &self.party)
            .finish_non_exhaustive()
    }
}
