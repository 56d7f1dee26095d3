//! Core's ports on plain data: each method is one step.
//!
//! [`Handle`] implements what belongs to any actor: words, waiting, sets, tables, the clock.
//! [`SimPorts`] adds an executor's queues.

mod collections;
mod memory;
mod parking;
mod queues;

use std::rc::Rc;

use executor_core::Scheduler;
use executor_core::ports::ProducerPorts;

use crate::handle::Handle;
use crate::oracle::Origin;
use crate::queues::{Queues, Tracked};
use crate::word::SimWord;

pub use collections::{SimFifo, SimPlace, SimSet, SimTable};

/// One actor's ports to a simulated executor.
pub struct SimPorts<'y, T> {
    pub(crate) handle: Handle<'y>,
    pub(crate) queues: Rc<Queues<T>>,
}

impl<T> SimPorts<'_, T> {
    pub(crate) fn track(&self, task: T, origin: Origin) -> Tracked<T> {
        self.handle.with(|world| {
            let id = world.number(self.handle.actor(), origin);
            let identity = world.identity(id);
            Tracked { id, identity, task }
        })
    }

    pub(crate) fn take_back(&self, refused: Vec<Tracked<T>>) {
        self.handle
            .with(|world| refused.iter().for_each(|task| world.refused(task.id)));
        self.queues.refused.borrow_mut().extend(refused);
    }
}

impl<'y, T> SimPorts<'y, T> {
    pub(crate) fn new(handle: Handle<'y>, queues: Rc<Queues<T>>) -> Self {
        Self { handle, queues }
    }
}

impl<T> ProducerPorts<Tracked<T>> for SimPorts<'_, T> {
    fn scheduler(&self) -> &Scheduler<SimWord> {
        &self.queues.scheduler
    }
}

impl<T> std::fmt::Debug for SimPorts<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimPorts")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}
