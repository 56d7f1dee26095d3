//! Those who wait for room: submitters of an executor that admits no more for the moment.
//!
//! A waiter registers and then tries once more before it sleeps; whoever makes room does so before it looks for waiters. Both
//! go through one lock: if the waiter was first, its waker is found; if it was second, its try sees the room. Everybody
//! who waits is woken and tries again: waiting for room is rare, and a waiter that has given up must not swallow the only wake.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// Wakers of those who wait for room.
#[derive(Debug, Default)]
pub(crate) struct Room(Mutex<Vec<Waker>>);

impl Room {
    /// Registers a waiter. It must try once more after this, and only then sleep.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut wakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    /// There is room again, or there never will be.
    pub(crate) fn tell(&self) {
        let woken = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for waker in woken {
            // A waker that panics is its owner's affair; the others are woken all the same.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn everybody_who_waits_is_woken_once() {
        let room = Room::default();
        let waiters: [Arc<Counted>; 2] = Default::default();
        let [one, other] = waiters.clone().map(Waker::from);
        for waker in [&one, &other, &one] {
            room.register(waker);
        }
        room.tell();
        room.tell();
        let woken = waiters.map(|waiter| waiter.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 1], "however often it has asked");
    }
}
