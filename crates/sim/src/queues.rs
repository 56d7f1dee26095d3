//! The queues of a simulated executor, as plain double-ended queues.
//!
//! They hold [`Tracked`] tasks, each with its number, so that oracles can follow it from its first
//! queue to the runner. The operations are in [`crate::ports`].

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use executor_core::{ExecutorConfig, Scheduler};

use crate::oracle::TaskId;
use crate::word::SimWord;

#[derive(Debug)]
pub(crate) struct Tracked<T> {
    pub(crate) id: TaskId,
    /// Identifies the task in a search; unlike the number it does not depend on the order of
    /// spawns.
    pub(crate) identity: u64,
    pub(crate) task: T,
}

impl<T> Hash for Tracked<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

pub(crate) struct Queues<T> {
    pub(crate) scheduler: Rc<Scheduler<SimWord>>,
    pub(crate) injector: RefCell<VecDeque<Tracked<T>>>,
    /// The owner works at the back, thieves take from the front.
    pub(crate) locals: Vec<RefCell<VecDeque<Tracked<T>>>>,
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
