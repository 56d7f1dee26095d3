//! Those who wait for room: submitters of an executor that admits no more for the moment.
//!
//! A waiter counts itself, passes a fence and tries once more before it sleeps; whoever makes room passes a fence and reads the
//! count. Whichever fence comes second, its side sees the other's write. Everybody who waits is woken and tries again:
//! waiting for room is rare, and a waiter that has given up must not swallow the only wake.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// Wakers of those who wait for room.
#[derive(Debug, Default)]
pub(crate) struct Room {
    waiting: AtomicUsize,
    wakers: Mutex<Vec<Waker>>,
}

impl Room {
    /// Registers a waiter. It must try once more after this, and only then sleep.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
        // Ordering: Relaxed. Ordered by the fence.
        self.waiting.store(wakers.len(), Ordering::Relaxed);
        drop(wakers);
        // Ordering: SeqCst fence. Edge `room/wait`: pairs with the fence in `tell`.
        fence(Ordering::SeqCst);
    }

    /// There is room again.
    pub(crate) fn tell(&self) {
        // Ordering: SeqCst fence. Edge `room/wait`: pairs with the fence in `register`.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed. Ordered by the fence.
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let woken = {
            let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            // Ordering: Relaxed. Under the lock.
            self.waiting.store(0, Ordering::Relaxed);
            std::mem::take(&mut *wakers)
        };
        for waker in woken {
            waker.wake();
        }
    }
}
