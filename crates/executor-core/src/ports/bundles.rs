//! The two bundles of ports that the policy asks for.

use super::entropy::Entropy;
use super::memory::Memory;
use super::parking::{Faults, Parking, Unpark};
use super::queues::{Inject, LocalQueue, Stealing};
use super::time::Clock;
use crate::words::scheduler::Scheduler;

/// What a producer needs to hand over a task and wake a worker for it.
pub trait ProducerPorts<T>: Memory + Inject<T> + Unpark {
    /// The words that all parties of this executor share.
    fn scheduler(&self) -> &Scheduler<Self::Word>;
}

impl<T, P: ProducerPorts<T>> ProducerPorts<T> for &P {
    #[inline]
    fn scheduler(&self) -> &Scheduler<Self::Word> {
        (**self).scheduler()
    }
}

/// What a worker needs: a producer's ports, all queues, parking, a clock and chance.
pub trait WorkerPorts<T>:
    ProducerPorts<T> + LocalQueue<T> + Stealing<T> + Parking + Clock + Entropy + Faults
{
}

impl<T, P> WorkerPorts<T> for P where
    P: ProducerPorts<T> + LocalQueue<T> + Stealing<T> + Parking + Clock + Entropy + Faults
{
}
