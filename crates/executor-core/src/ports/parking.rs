//! Parking, waking, short waits, and the payload of a panic.

use std::any::Any;
use std::time::Duration;

/// Waking others.
pub trait Unpark {
    /// Makes `worker` return from its current or next [`Parking::park`].
    fn unpark(&self, worker: usize);

    /// Wakes the threads that wait until the executor is idle or has ended.
    fn signal_waiters(&self);
}

impl<P: Unpark> Unpark for &P {
    fn unpark(&self, worker: usize) {
        (**self).unpark(worker);
    }

    fn signal_waiters(&self) {
        (**self).signal_waiters();
    }
}

/// A worker's own pauses.
pub trait Parking {
    /// Blocks until unparked or until the timeout; may return spuriously.
    fn park(&self, timeout: Option<Duration>);

    /// Waits on the core for `spins` spins, or until a waker unparks this worker; the next park
    /// then returns at once.
    fn spin_before_park(&self, _spins: u32) {}

    /// The time from the unpark to the return of the last park; zero if unknown or already taken.
    fn take_wake_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Waits on the core for `times` spins of some 10 ns.
    fn spin(&self, times: u32);

    /// Gives the core to another thread.
    fn yield_now(&self);
}

/// How to park.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Park {
    /// Spins of some 10 ns before parking.
    pub spin_before: u32,
    /// Longest park, after which the worker looks once and parks for as long again; `None` parks
    /// until woken. A spurious return counts as a timeout.
    pub timeout: Option<Duration>,
}

/// Keeps the payload of a panic.
pub trait Faults {
    /// Keeps the payload if it is the first.
    fn record_panic(&self, payload: Box<dyn Any + Send>);
}

/// Blocking for threads that are not workers, as an event count.
///
/// A thread that takes a ticket, checks its condition and then waits past the ticket misses no
/// later signal.
pub trait Waiting {
    /// The number of signals so far.
    fn ticket(&self) -> u64;

    /// Blocks until a call of [`Unpark::signal_waiters`] after `ticket` was taken.
    fn wait_past(&self, ticket: u64);
}

impl<P: Waiting> Waiting for &P {
    fn ticket(&self) -> u64 {
        (**self).ticket()
    }

    fn wait_past(&self, ticket: u64) {
        (**self).wait_past(ticket);
    }
}
