//! The queues of a simulated executor: an injector and a queue a worker, as plain double-ended queues.
//!
//! What is kept in them is a [`Tracked`] task, its number beside it, so that the oracles can follow it without knowing
//! anything about it. That is the only kind of task that the policy sees here: a task gets its number before it comes to
//! a queue and keeps it until the runner or the user has it back, also where no port leads, as in what a worker has for
//! itself. Everything that happens to the queues is in [`crate::ports`].

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use executor_core::{ExecutorConfig, Scheduler};

use crate::oracle::TaskId;
use crate::word::SimWord;

/// A task and its number.
#[derive(Debug)]
pub(crate) struct Tracked<T> {
    pub(crate) id: TaskId,
    /// What tells it from others in a search: unlike the number, it does not depend on who came first.
    pub(crate) identity: u64,
    pub(crate) task: T,
}

impl<T> Hash for Tracked<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

/// What the workers and producers of one simulated executor share besides the world.
pub(crate) struct Queues<T> {
    pub(crate) scheduler: Rc<Scheduler<SimWord>>,
    /// Pushed at the back, taken from the front.
    pub(crate) injector: RefCell<VecDeque<Tracked<T>>>,
    /// The owner works at the back, thieves take from the front.
    pub(crate) locals: Vec<RefCell<VecDeque<Tracked<T>>>>,
    /// Tasks that the gate refused.
    pub(crate) refused: RefCell<Vec<Tracked<T>>>,
}

impl<T> Queues<T> {
    pub(crate) fn new(config: ExecutorConfig) -> Self {
        let locals = (0..config.workers).map(|_| RefCell::default()).collect();
        Self {
            scheduler: Rc::new(SimWord::scheduler(config)),
            injector: RefCell::default(),
            locals,
            refused: RefCell::default(),
        }
    }
}
