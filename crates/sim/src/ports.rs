//! Core's ports, made of plain data: each method is one micro-step.
//!
//! What belongs to any party (words, waiting, sets, tables, the clock) is implemented by [`Handle`]; what needs an
//! executor's queues, by [`SimPorts`], which is a handle and those queues.

mod collections;
mod memory;
mod parking;
mod queues;

use std::rc::Rc;

use executor_core::Scheduler;
use executor_core::ports::ProducerPorts;

use crate::handle::Handle;
use crate::queues::Queues;
use crate::word::SimWord;

pub use collections::{SimPlace, SimSet, SimTable};

/// One party's ports to a simulated executor.
pub struct SimPorts<'y, T> {
    pub(crate) handle: Handle<'y>,
    pub(crate) queues: Rc<Queues<T>>,
}

impl<T> ProducerPorts<T> for SimPorts<'_, T> {
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
