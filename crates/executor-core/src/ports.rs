//! The small traits through which the policy touches the world.
//!
//! Each method is one shared operation, or none: a simulator can switch workers before every one of them, and
//! a model checker sees each as it is. [`Memory`] is the foundation: atomic words and fences. Everything else
//! is queues ([`Inject`], [`LocalQueue`], [`Stealing`]), sleep ([`Unpark`], [`Parking`], [`Waiting`]), panics
//! ([`Faults`]), and what policies above the executor need: a [`Clock`], [`Entropy`], an [`OrderedSet`], a [`Fifo`], a
//! [`Table`], an [`Exclusive`] place.
//!
//! Two bundles are what the policy asks for: [`ProducerPorts`], all that somebody outside needs to hand over
//! a task, and [`WorkerPorts`], what a worker needs on top.

mod collections;
mod entropy;
mod memory;
mod native;
mod parking;
mod queues;
mod time;

pub use collections::{Exclusive, Fifo, OrderedSet, Table};
pub use entropy::Entropy;
pub use memory::{Fetch, Memory};
pub use native::{Native, NativeWord};
pub use parking::{Faults, Parking, Unpark, Waiting};
pub use queues::{Inject, LocalQueue, RUN_MAX, Run, Steal, Stealing};
pub use time::Clock;

use crate::Scheduler;

/// What a producer needs to hand over a task and wake somebody for it.
pub trait ProducerPorts<T>: Memory + Inject<T> + Unpark {
    /// The words that all workers and producers of this executor share.
    fn scheduler(&self) -> &Scheduler<Self::Word>;
}

/// What is lent to a producer will do.
impl<T, P: ProducerPorts<T>> ProducerPorts<T> for &P {
    #[inline]
    fn scheduler(&self) -> &Scheduler<Self::Word> {
        (**self).scheduler()
    }
}

/// What a worker needs: a producer's ports, its own queue, everybody's queues to steal from, a place to sleep
/// and a clock.
pub trait WorkerPorts<T>:
    ProducerPorts<T> + LocalQueue<T> + Stealing<T> + Parking + Clock + Entropy + Faults
{
}

impl<T, P> WorkerPorts<T> for P where
    P: ProducerPorts<T> + LocalQueue<T> + Stealing<T> + Parking + Clock + Entropy + Faults
{
}
