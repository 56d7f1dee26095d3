//! Those who wait for room: submitters of an executor that admits no more for the moment.
//!
//! | step | who | what |
//! |---|---|---|
//! | register | waiter | leaves its waker, under the lock |
//! | try again | waiter | is let in, or refused since the count of jobs is the largest; then it sleeps |
//! | settle | who ends a job | takes one off the count, and is told if it was the largest |
//! | tell | the same, if so | takes all wakers out, under the lock, and wakes them |
//!
//! The race is between *try again* and *settle*. A waiter that is refused in *try again* has read the largest count; call `S` the next change of that
//! word. Nobody is let in meanwhile, so `S` is a *settle* that is told, or the gate closes and everybody is told. If the lock of `S`'s *tell* came before that
//! of *register*, `S` would have happened before *try again*, which then could not have read what was before `S`. So it comes after, and finds
//! the waker.
//!
//! Everybody who waits is woken and tries again: waiting for room is rare, and a waiter that has given up must not swallow the only wake.
//! While there is room, nobody touches the lock.

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
