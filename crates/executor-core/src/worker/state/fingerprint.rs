//! A worker's state between two tasks as a hash, for a search that meets states again.

use std::hash::{Hash, Hasher};

use super::WorkerState;

/// Leaves out what the worker counts for its metrics alone.
impl<T: Hash, P> Hash for WorkerState<T, P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            ports: _,
            worker,
            private,
            credits,
            time,
            crowded,
            word_at_tick,
            wake_ns,
            pending,
            searching,
            in_hand,
            since_injector,
            backoff,
            idle_rounds,
            woken,
            panicked,
            returned: _,
            tally: _,
        } = self;
        (
            worker,
            private,
            credits,
            time,
            crowded,
            word_at_tick,
            wake_ns,
            pending,
        )
            .hash(state);
        (
            searching,
            in_hand,
            since_injector,
            backoff,
            idle_rounds,
            woken,
            panicked,
        )
            .hash(state);
    }
}
