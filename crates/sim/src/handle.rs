//! An actor's handle to the world, from which the ports are made.
//!
//! An operation is [`Handle::step`], which lets others go first, then the change of plain data,
//! then [`World::did`] for trace, clock and oracles.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;

use corosensei::Yielder;

use crate::actor::{Resume, Teardown};
use crate::clock::PS;
use crate::trace::{Object, Op};
use crate::word::{SimWord, WordName};
use crate::world::{Next, World};

/// One actor's access to everything shared.
pub struct Handle<'y> {
    yielder: &'y Yielder<Resume, ()>,
    world: Rc<RefCell<World>>,
    actor: usize,
}

impl<'y> Handle<'y> {
    pub(crate) fn new(yielder: &'y Yielder<Resume, ()>, world: Rc<RefCell<World>>, actor: usize) -> Self {
        Self {
            yielder,
            world,
            actor,
        }
    }

    /// The number of the actor; of a worker, its worker number.
    pub fn actor(&self) -> usize {
        self.actor
    }

    /// A new word with a number for a name.
    pub fn word(&self, value: usize) -> SimWord {
        let number = self.with(World::next_word);
        SimWord::new(WordName::Other(number), value)
    }

    pub(crate) fn step(&self) {
        let next = {
            let mut world = self.world.borrow_mut();
            match world.next() {
                Next::Go(actor) if actor == self.actor => return,
                next => {
                    world.decide(next);
                    next
                }
            }
        };
        self.let_go(next);
    }

    /// After blocking: others go until this actor is unblocked and chosen.
    pub(crate) fn wait(&self) {
        self.step();
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut World) -> R) -> R {
        f(&mut self.world.borrow_mut())
    }

    pub(crate) fn operate<R>(&self, f: impl FnOnce(&mut World, usize) -> R) -> R {
        self.step();
        f(&mut self.world.borrow_mut(), self.actor)
    }

    pub(crate) fn work(&self, cost_ns: u64) {
        self.operate(|world, me| {
            world.did(me, Op::Work, Object::None, cost_ns);
            world.work(me, cost_ns);
        });
        self.step();
    }

    pub(crate) fn sleep_until(&self, at_ns: u64) {
        self.operate(|world, me| {
            world.did(me, Op::Delay, Object::None, at_ns);
            world.not_before(me, at_ns.saturating_mul(PS));
        });
        self.step();
    }

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

    pub(crate) fn rest(&self, until_ns: Option<u64>) {
        let blocked = self.operate(|world, me| {
            world.did(me, Op::Park, Object::None, until_ns.unwrap_or(0));
            world.rest(me, until_ns)
        });
        if blocked {
            self.wait();
        }
        self.with(|world| world.did(self.actor, Op::Awake, Object::None, 0));
    }

    pub(crate) fn wake_spare(&self, actor: usize) {
        self.operate(|world, me| {
            world.did(me, Op::Unpark, Object::Worker(actor as u32), 0);
            world.wake_spare(me, actor);
        });
    }

    pub(crate) fn wait_for_producers(&self) {
        let blocked = self.operate(|world, me| world.wait_for_producers(me));
        if blocked {
            self.wait();
        }
    }

    fn let_go(&self, next: Next) {
        let torn_down = next == Next::Stop && self.with(|world| world.is_tearing_down());
        // A torn-down actor is not suspended again: a destructor continues, anything else unwinds.
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
            .field("actor", &self.actor)
            .finish_non_exhaustive()
    }
}
