//! What a worker goes on from between two tasks, as a hash: see [`Rest`](crate::Rest).

use std::hash::{Hash, Hasher};

use super::Spawner;

impl<T: Hash, P> Spawner<T, P> {
    /// Hashes everything that decides what the worker does next, which is all but what it tells at its end.
    pub(crate) fn hash_state(&self, state: &mut impl Hasher) {
        let Self {
            ports: _,
            worker,
            private,
            credits,
            time,
            crowded,
            seen,
            wake_ns,
            hoard,
            searching,
            in_hand,
            since_injector,
            lull,
            idle_rounds,
            woken,
            panicked,
            handed_back: _,
            tally: _,
        } = self;
        (worker, private, credits, time, crowded, seen, wake_ns, hoard).hash(state);
        (
            searching,
            in_hand,
            since_injector,
            lull,
            idle_rounds,
            woken,
            panicked,
        )
            .hash(state);
    }
}
