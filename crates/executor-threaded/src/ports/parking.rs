//! Core's parking ports by crossbeam's parkers. An unpark before the park is not lost: the parker
//! keeps one token.

use std::hint;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use executor_core::ports::{Clock, Memory, Parking, Unpark, Waiting};

use super::{Shared, ThreadPorts};

/// No worker is unparked in the executor's first nanosecond.
const NOT_UNPARKED: u64 = 0;

impl<T, M: Memory> Unpark for Shared<T, M> {
    fn unpark(&self, worker: usize) {
        // Ordering: Relaxed. A number for people, published by the parker's token.
        self.unparked_ns[worker].store(self.now_ns(), Ordering::Relaxed);
        self.unparkers[worker].unpark();
    }

    fn signal_waiters(&self) {
        self.signals.signal();
    }
}

impl<T, M: Memory> Unpark for ThreadPorts<T, M> {
    fn unpark(&self, worker: usize) {
        self.shared.unpark(worker);
    }

    fn signal_waiters(&self) {
        self.shared.signal_waiters();
    }
}

impl<T, M: Memory> Parking for ThreadPorts<T, M> {
    fn park(&self, timeout: Option<Duration>) {
        let unparked_ns = &self.shared.unparked_ns[self.worker];
        // Ordering: Relaxed. An unpark of an awake worker is no sample. A sample that comes now is
        // lost.
        unparked_ns.store(NOT_UNPARKED, Ordering::Relaxed);
        let parked_ns = self.now_ns();
        let park = || match timeout {
            None => self.parker.park(),
            Some(timeout) => self.parker.park_timeout(timeout),
        };
        match &self.private.home {
            None => park(),
            Some(home) => home.park(park),
        }
        let awake_ns = self.now_ns();
        let idle = Duration::from_nanos(awake_ns.saturating_sub(parked_ns));
        let measured = &self.private;
        measured.idle.set(measured.idle.get() + idle);
        // Ordering: Relaxed. The token that ended the park has published it.
        let unparked_ns = unparked_ns.swap(NOT_UNPARKED, Ordering::Relaxed);
        if unparked_ns != NOT_UNPARKED {
            let delay_ns = awake_ns.saturating_sub(unparked_ns);
            measured.wake_delay_ns.set(delay_ns);
            measured.wake_delays.borrow_mut().add_ns(delay_ns);
        }
    }

    fn spin_before_park(&self, spins: u32) {
        let unparked_ns = &self.shared.unparked_ns[self.worker];
        // Ordering: Relaxed. A hint that the parker's token is there or about to be; `park` takes
        // it.
        let dozes = || unparked_ns.load(Ordering::Relaxed) == NOT_UNPARKED;
        (0..spins).take_while(|_| dozes()).for_each(|_| hint::spin_loop());
    }

    fn take_wake_delay(&self) -> Duration {
        Duration::from_nanos(self.private.wake_delay_ns.take())
    }

    #[inline]
    fn spin(&self, times: u32) {
        (0..times).for_each(|_| hint::spin_loop());
    }

    fn yield_now(&self) {
        thread::yield_now();
    }
}

impl<T, M: Memory> Clock for ThreadPorts<T, M> {
    fn now_ns(&self) -> u64 {
        self.shared.now_ns()
    }
}

impl<T, M: Memory> Waiting for Shared<T, M> {
    fn ticket(&self) -> u64 {
        self.signals.ticket()
    }

    fn wait_past(&self, ticket: u64) {
        self.signals.wait_past(ticket);
    }
}

impl<T, M: Memory> Shared<T, M> {
    pub fn wait_past_for(&self, ticket: u64, timeout: Duration) -> bool {
        self.signals.wait_past_for(ticket, timeout)
    }
}
