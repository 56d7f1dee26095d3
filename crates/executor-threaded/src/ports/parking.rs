//! Where workers sleep and how they are woken: crossbeam's parkers, as core's parking ports.
//!
//! A parker keeps one token. Unparking before parking is not lost: the next park returns at once.

use std::thread;
use std::time::{Duration, Instant};

use executor_core::ports::{Clock, Parking, Unpark, Waiting};

use super::{Shared, ThreadPorts};

impl<T> Unpark for Shared<T> {
    fn unpark(&self, worker: usize) {
        self.unparkers[worker].unpark();
    }

    fn signal_waiters(&self) {
        self.signals.signal();
    }
}

impl<T> Unpark for ThreadPorts<T> {
    fn unpark(&self, worker: usize) {
        self.shared.unpark(worker);
    }

    fn signal_waiters(&self) {
        self.shared.signal_waiters();
    }
}

impl<T> Parking for ThreadPorts<T> {
    fn park(&self, timeout: Option<Duration>) {
        let start = Instant::now();
        match timeout {
            None => self.parker.park(),
            Some(timeout) => self.parker.park_timeout(timeout),
        }
        self.idle.set(self.idle.get() + start.elapsed());
    }

    #[inline]
    fn spin(&self) {
        std::hint::spin_loop();
    }

    fn yield_now(&self) {
        thread::yield_now();
    }
}

impl<T> Clock for ThreadPorts<T> {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl<T> Waiting for Shared<T> {
    fn ticket(&self) -> u64 {
        self.signals.ticket()
    }

    fn wait_past(&self, ticket: u64) {
        self.signals.wait_past(ticket);
    }
}
