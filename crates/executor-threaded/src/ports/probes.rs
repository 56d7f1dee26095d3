//! How long tasks wait in the injector, without a byte in any of them.
//!
//! Tasks are plain values, so none can carry the time when it came. But the injector is first in, first out: a task that finds
//! `n` others before it leaves when `n` more have left. So one push in so many is watched: a *probe* notes the time and, on a
//! count of all that leave, the number at which this one does.
//!
//! ```text
//!   left so far: 117     injector: ■ ■ ■ ■ □        probe: since 12:00:00.000123, leaves as number 122
//! ```
//!
//! While there is no probe nothing is counted, and all that a worker pays is a read of a word beside the injector's own. While
//! there is one, whoever takes a batch adds its size under a lock. Nobody waits for that lock: who does not get it does
//! without a probe, or adds its batch to the next one.
//!
//! A parcel of tasks is a value of the injector's own and carries its time itself, if it is watched.
//!
//! What it is not: exact to the task. Others push and take in the moment in which a probe is made, so it may be off by what happens
//! at once, some batches at most; what a thief takes away in the moment in which a batch arrives is not counted, so it may be a little
//! late. A probe whose task has left unnoticed, as the empty injector shows, is given up. And a task that has left may still
//! have up to 31 others of its batch before it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crossbeam::utils::CachePadded;

use crate::metrics::Histogram;

/// One push of each thread in so many is watched, its first one included.
const WATCHED: u32 = 64;

thread_local! {
    /// Pushes of this thread until the next one that is watched, whichever executor they go to.
    static UNTIL_WATCHED: Cell<u32> = const { Cell::new(0) };
}

/// The probes of one injector.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// How many wait. Written under the lock; it says whether the lock has to be taken at all.
    waiting: CachePadded<AtomicUsize>,
    state: CachePadded<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Tasks that left, counted while there are probes.
    left: u64,
    /// The oldest first.
    probes: VecDeque<Probe>,
    waits: Histogram,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    since_ns: u64,
    leaves_as: u64,
}

impl Probes {
    /// Whether this push, of so many tasks, is one to be watched. Each call is one push.
    #[inline]
    pub(super) fn is_due(tasks: u32) -> bool {
        let until = UNTIL_WATCHED.get().checked_sub(tasks);
        UNTIL_WATCHED.set(until.unwrap_or(WATCHED - 1));
        until.is_none()
    }

    /// A watched parcel, which carries its time with it, waited for so many nanoseconds. Not kept if somebody else is just
    /// writing something down.
    #[cold]
    pub(super) fn waited(&self, ns: u64) {
        if let Some(mut state) = self.try_lock() {
            state.waits.add(ns);
        }
    }

    /// Watches the task that `push` pushes at `now_ns` behind `ahead` others.
    #[cold]
    pub(super) fn watch(&self, now_ns: u64, ahead: impl FnOnce() -> usize, push: impl FnOnce()) {
        let Some(mut state) = self.try_lock() else {
            return push();
        };
        let leaves_as = state.left + ahead() as u64 + 1;
        state.probes.push_back(Probe {
            since_ns: now_ns,
            leaves_as,
        });
        self.publish(&state);
        // Under the lock: who finds the injector empty, and then a probe in it, knows that its task has left.
        push();
    }

    /// Whether there are any, and somebody has to tell them what leaves.
    #[inline]
    pub(super) fn are_waiting(&self) -> bool {
        // Ordering: Relaxed. Who takes a watched task has seen its push, and what was written before that.
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// So many tasks have left, and it is `now_ns`. `false` if they could not be counted at the moment.
    #[cold]
    pub(super) fn left(&self, tasks: usize, now_ns: impl FnOnce() -> u64) -> bool {
        let Some(mut state) = self.try_lock() else {
            return false;
        };
        state.left += tasks as u64;
        let left = state.left;
        if state.probes.front().is_none_or(|probe| probe.leaves_as > left) {
            return true;
        }
        let now_ns = now_ns();
        while let Some(probe) = state.probes.pop_front_if(|probe| probe.leaves_as <= left) {
            state.waits.add(now_ns.saturating_sub(probe.since_ns));
        }
        self.publish(&state);
        true
    }

    /// The injector was found empty. If it still is, whatever was watched has left without being noticed.
    #[cold]
    pub(super) fn give_up_if(&self, is_empty: impl FnOnce() -> bool) {
        if let Some(mut state) = self.try_lock()
            && is_empty()
        {
            state.probes.clear();
            self.publish(&state);
        }
    }

    /// What was measured, once nobody measures any more.
    pub(super) fn waits(&self) -> Histogram {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waits.clone()
    }

    fn publish(&self, state: &State) {
        // Ordering: Relaxed. Published by the push that follows, or by nothing: then somebody takes the lock in vain.
        self.waiting.store(state.probes.len(), Ordering::Relaxed);
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            // A push that panicked has left a probe too many, which is given up in time.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_probe_waits_until_as_many_have_left_as_were_ahead_and_itself() {
        let probes = Probes::default();
        assert!(!probes.are_waiting());
        probes.watch(100, || 4, || {});
        assert!(probes.left(3, || unreachable!("nobody is due")));
        probes.watch(150, || 2, || {});
        assert!(probes.left(1, || unreachable!("one is still ahead")));
        assert!(probes.are_waiting());
        assert!(probes.left(1, || 300));
        assert_eq!(probes.waits().delays().max, Duration::from_nanos(200));
        assert!(probes.left(32, || 400));
        assert!(!probes.are_waiting());
        assert_eq!(probes.waits().delays().samples, 2);
        assert_eq!(probes.waits().delays().max, Duration::from_nanos(250));
    }

    #[test]
    fn a_probe_that_was_missed_is_given_up_when_the_injector_is_empty() {
        let probes = Probes::default();
        probes.watch(100, || 4, || {});
        probes.give_up_if(|| false);
        assert!(probes.are_waiting());
        probes.give_up_if(|| true);
        assert!(!probes.are_waiting());
        assert!(probes.left(9, || unreachable!("nobody waits")));
        assert_eq!(probes.waits().delays().samples, 0);
    }

    #[test]
    fn nobody_waits_for_somebody_else_who_counts() {
        let probes = Probes::default();
        probes.watch(
            100,
            || 0,
            || {
                let mut pushed = false;
                probes.watch(100, || unreachable!("it is not watched"), || pushed = true);
                assert!(pushed);
                assert!(!probes.left(1, || unreachable!("it is not counted")));
                probes.give_up_if(|| unreachable!("nobody looks"));
            },
        );
        assert!(probes.left(1, || 107));
        assert_eq!(probes.waits().delays().max, Duration::from_nanos(7));
    }

    #[test]
    fn of_each_threads_pushes_the_first_and_then_one_in_so_many_are_watched() {
        let thread = std::thread::spawn(|| (0..200).filter(|_| Probes::is_due(1)).collect::<Vec<_>>());
        assert_eq!(thread.join().expect("nothing panics"), [0, 64, 128, 192]);
    }
}
