//! loom's atomics behind the port.

use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};
use loom::sync::atomic::{AtomicUsize, fence};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoomMemory;

impl Memory for LoomMemory {
    type Word = AtomicUsize;

    fn load(&self, word: &AtomicUsize, order: Ordering) -> usize {
        word.load(order)
    }

    fn store(&self, word: &AtomicUsize, value: usize, order: Ordering) {
        word.store(value, order);
    }

    fn fetch(&self, word: &AtomicUsize, fetch: Fetch, order: Ordering) -> usize {
        match fetch {
            Fetch::Add(n) => word.fetch_add(n, order),
            Fetch::Sub(n) => word.fetch_sub(n, order),
            Fetch::And(mask) => word.fetch_and(mask, order),
            Fetch::Or(bits) => word.fetch_or(bits, order),
        }
    }

    fn compare_exchange(
        &self,
        word: &AtomicUsize,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<usize, usize> {
        // Ordering: Relaxed on failure, as the port promises.
        word.compare_exchange(current, new, order, Ordering::Relaxed)
    }

    fn fence(&self, order: Ordering) {
        fence(order);
    }
}
