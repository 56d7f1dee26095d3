//! Sleeping, waking, waiting a moment, and what to do with a panic.

use std::any::Any;
use std::time::Duration;

/// Waking others.
pub trait Unpark {
    /// Lets `worker` return from [`Parking::park`], now or the next time it parks.
    fn unpark(&self, worker: usize);

    /// Lets those who wait for the count to reach zero, or for the end, look again.
    fn signal_waiters(&self);
}

/// Somebody's means of waking may be used through a reference.
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
    /// Blocks until unparked or until the timeout. May return for no reason.
    fn park(&self, timeout: Option<Duration>);

    /// Waits for so many spins on the core, or until somebody has unparked this worker: then the next park returns at once.
    fn spin_before_park(&self, _spins: u32) {}

    /// How long ago somebody had unparked this worker when its last park returned. Each park's is told once; zero if it is not
    /// known.
    fn take_wake_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Waits for so many spins, on the core.
    fn spin(&self, times: u32);

    /// Lets somebody else have the core.
    fn yield_now(&self);
}

/// Where the payload of a panicked task goes.
pub trait Faults {
    /// Keeps the payload of a panic. The first one counts.
    fn record_panic(&self, payload: Box<dyn Any + Send>);
}

/// Blocking until something changes, for those who are not workers.
///
/// An event count: whoever takes a ticket, looks, and then waits past that ticket, misses no signal that came
/// after the ticket was taken.
pub trait Waiting {
    /// The number of signals so far.
    fn ticket(&self) -> u64;

    /// Blocks until [`Unpark::signal_waiters`] has been called after `ticket` was taken.
    fn wait_past(&self, ticket: u64);
}

/// As above.
impl<P: Waiting> Waiting for &P {
    fn ticket(&self) -> u64 {
        (**self).ticket()
    }

    fn wait_past(&self, ticket: u64) {
        (**self).wait_past(ticket);
    }
}
