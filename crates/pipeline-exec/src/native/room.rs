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
//!
//! A waiter that gives up takes its waker along: those who come and go while there is no room leave nothing behind.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::Hub;
use crate::policy::guard;

/// Where those are registered who wait for room.
#[derive(Debug, Default)]
pub(crate) struct Room(Mutex<Registered>);

#[derive(Debug, Default)]
struct Registered {
    /// By the waiter's number.
    wakers: Vec<(u64, Waker)>,
    /// The next waiter's number.
    next: u64,
}

/// Somebody who waits for room; until it is dropped.
pub(crate) struct Waiter {
    hub: Arc<Hub>,
    /// Once it has registered.
    number: Option<u64>,
}

impl Room {
    /// There is room again, or there never will be.
    pub(crate) fn tell(&self) {
        let woken = std::mem::take(&mut self.lock().wakers);
        for (_, waker) in woken {
            // A waker that panics is its owner's affair; the others are woken all the same.
            guard::quietly(|| waker.wake());
        }
    }

    /// Registers `waker` for the waiter, in place of an earlier one, which is given back with the number: it may do anything when it
    /// is dropped, so that does not happen in here.
    fn register(&self, number: Option<u64>, waker: Waker) -> (u64, Option<Waker>) {
        let mut registered = self.lock();
        let number = number.unwrap_or_else(|| {
            registered.next += 1;
            registered.next
        });
        let wakers = &mut registered.wakers;
        match wakers.iter_mut().find(|(known, _)| *known == number) {
            Some((_, known)) => (number, Some(std::mem::replace(known, waker))),
            None => {
                wakers.push((number, waker));
                (number, None)
            }
        }
    }

    fn forget(&self, number: u64) -> Option<Waker> {
        let wakers = &mut self.lock().wakers;
        let place = wakers.iter().position(|(known, _)| *known == number)?;
        Some(wakers.remove(place).1)
    }

    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    /// It has not asked to be woken yet.
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, number: None }
    }

    /// Asks to be woken once there is room. It must try once more after this, and only then sleep.
    pub(crate) fn register(&mut self, waker: &Waker) {
        let (number, before) = self.hub.room.register(self.number, waker.clone());
        self.number = Some(number);
        drop(before);
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            drop(self.hub.room.forget(number));
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
    fn everybody_who_waits_is_woken_once_and_nobody_who_has_given_up() {
        let room = Room::default();
        let waiters: [Arc<Counted>; 3] = Default::default();
        let [one, other, gone] = waiters.clone().map(Waker::from);
        let (number, _) = room.register(None, one.clone());
        room.register(None, other);
        let (given_up, _) = room.register(None, gone.clone());
        let (again, before) = room.register(Some(number), one.clone());
        assert!(again == number && before.is_some_and(|before| before.will_wake(&one)));
        assert!(room.forget(given_up).is_some_and(|waker| waker.will_wake(&gone)));
        room.tell();
        room.tell();
        assert!(room.forget(number).is_none());
        let woken = waiters.map(|waiter| waiter.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 1, 0], "however often it has asked");
    }
}
