//! A worker's state between two tasks as a hash: see [`Rest`](crate::Rest).

use std::hash::{Hash, Hasher};

use super::WorkerState;

impl<T: Hash, P> WorkerState<T, P> {
    /// Hashes all that decides what the worker does next.
    pub(crate) fn hash_state(&self, state: &mut impl Hasher) {
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
