//! Blocking for threads that are not workers: until a signal, and until worker threads have ended.

use crate::lock;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct EventCount {
    signals: Mutex<u64>,
    more: Condvar,
}

impl EventCount {
    pub(super) fn signal(&self) {
        *lock(&self.signals) += 1;
        self.more.notify_all();
    }

    pub(super) fn ticket(&self) -> u64 {
        *lock(&self.signals)
    }

    pub(super) fn wait_past(&self, ticket: u64) {
        let guard = self
            .more
            .wait_while(lock(&self.signals), |signals| *signals <= ticket);
        drop(guard.unwrap_or_else(PoisonError::into_inner));
    }
}

impl EventCount {
    /// Returns whether there was a signal.
    pub(super) fn wait_past_for(&self, ticket: u64, timeout: Duration) -> bool {
        let waited =
            (self.more).wait_timeout_while(lock(&self.signals), timeout, |signals| *signals <= ticket);
        let (signals, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *signals > ticket
    }
}

#[derive(Debug, Default)]
pub struct JoinLatch {
    departed: Mutex<usize>,
    more: Condvar,
}

impl JoinLatch {
    pub fn count_down_on_drop(&self) -> JoinLatchGuard<'_> {
        JoinLatchGuard(self)
    }

    /// Returns whether `threads` threads are counted.
    pub fn wait_for(&self, threads: usize, timeout: Duration) -> bool {
        let waited = self
            .more
            .wait_timeout_while(lock(&self.departed), timeout, |departed| *departed < threads);
        let (departed, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *departed >= threads
    }
}

#[derive(Debug)]
pub struct JoinLatchGuard<'a>(&'a JoinLatch);

impl Drop for JoinLatchGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.departed) += 1;
        self.0.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_signal_after_the_ticket_is_not_missed() {
        let events = EventCount::default();
        let ticket = events.ticket();
        events.signal();
        events.wait_past(ticket);
        let ticket = events.ticket();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| events.wait_past(ticket));
            events.signal();
            waiter.join().expect("the waiter does not panic");
        });
    }

    #[test]
    fn departures_are_counted_on_unwinding_as_well() {
        let join_latch = JoinLatch::default();
        assert!(!join_latch.wait_for(1, Duration::ZERO));
        let unwound = std::panic::catch_unwind(|| {
            let _latch = join_latch.count_down_on_drop();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(unwound.is_err());
        assert!(join_latch.wait_for(1, Duration::ZERO));
        drop(join_latch.count_down_on_drop());
        assert!(join_latch.wait_for(2, Duration::MAX));
    }
}
