//! Waiting for room: submitters of a full executor.
//!
//! - **register**: a waiter leaves its waker, under the lock.
//! - **try again**: the waiter is admitted, or refused because the count of jobs is at its limit;
//!   then it sleeps.
//! - **settle**: a party that ends a job lowers the count, and learns whether it was at its limit.
//! - **tell**: if so, the party takes all wakers out, under the lock, and wakes them.
//!
//! The race is between *try again* and *settle*. A refused waiter has read the limit. Let `S` be
//! the next change of that word: a *settle* that tells, or the closing of the gate, which tells
//! too. If `S`'s *tell* had locked before *register*, `S` would have happened before *try again*,
//! which would then have read a later value. So *tell* locks after *register*, and finds the waker.
//!
//! Every waiter is woken, since a waiter that gave up must not swallow the only wake.

use std::sync::{Arc, Mutex};
use std::task::Waker;

use executor_threaded::lock;

use crate::policy::guard;

#[derive(Debug, Default)]
pub(crate) struct Room(Mutex<Registered>);

#[derive(Debug, Default)]
struct Registered {
    wakers: Vec<(u64, Waker)>,
    next: u64,
}

pub(crate) struct Waiter {
    room: Arc<Room>,
    number: Option<u64>,
}

impl Room {
    /// Step tell: there is room, or the gate has closed.
    pub(crate) fn wake_waiters(&self) {
        let woken = std::mem::take(&mut lock(&self.0).wakers);
        for (_, waker) in woken {
            guard::quietly(|| waker.wake());
        }
    }

    /// Returns the waiter's number and former waker, which the caller drops outside the lock.
    fn register(&self, number: Option<u64>, waker: Waker) -> (u64, Option<Waker>) {
        let mut registered = lock(&self.0);
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
        let wakers = &mut lock(&self.0).wakers;
        let place = wakers.iter().position(|(known, _)| *known == number)?;
        Some(wakers.remove(place).1)
    }
}

impl Waiter {
    pub(crate) fn new(room: Arc<Room>) -> Self {
        Self { room, number: None }
    }

    pub(crate) fn register(&mut self, waker: &Waker) {
        let (number, before) = self.room.register(self.number, waker.clone());
        self.number = Some(number);
        drop(before);
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            drop(self.room.forget(number));
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
    fn each_waiter_is_woken_once_and_none_that_has_given_up() {
        let room = Room::default();
        let waiters: [Arc<Counted>; 3] = Default::default();
        let [one, other, gone] = waiters.clone().map(Waker::from);
        let (number, _) = room.register(None, one.clone());
        room.register(None, other);
        let (given_up, _) = room.register(None, gone.clone());
        let (again, before) = room.register(Some(number), one.clone());
        assert!(again == number && before.is_some_and(|before| before.will_wake(&one)));
        assert!(room.forget(given_up).is_some_and(|waker| waker.will_wake(&gone)));
        room.wake_waiters();
        room.wake_waiters();
        assert!(room.forget(number).is_none());
        let woken = waiters.map(|waiter| waiter.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 1, 0], "however often it has asked");
    }
}
