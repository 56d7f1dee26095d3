//! The machine's own atomics as [`Memory`].

use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::memory::{Fetch, Memory};

/// A word of the machine's memory.
pub type NativeWord = AtomicUsize;

/// Access to [`NativeWord`]s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Memory for Native {
    type Word = NativeWord;

    #[inline]
    fn load(&self, word: &NativeWord, order: Ordering) -> usize {
        word.load(order)
    }

    #[inline]
    fn store(&self, word: &NativeWord, value: usize, order: Ordering) {
        word.store(value, order);
    }

    #[inline]
    fn fetch(&self, word: &NativeWord, fetch: Fetch, order: Ordering) -> usize {
        match fetch {
            Fetch::Add(n) => word.fetch_add(n, order),
            Fetch::Sub(n) => word.fetch_sub(n, order),
            Fetch::And(mask) => word.fetch_and(mask, order),
            Fetch::Or(bits) => word.fetch_or(bits, order),
        }
    }

    #[inline]
    fn compare_exchange(
        &self,
        word: &NativeWord,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<usize, usize> {
        // Ordering: Relaxed on failure, as the port promises.
        word.compare_exchange(current, new, order, Ordering::Relaxed)
    }

    #[inline]
    fn fence(&self, order: Ordering) {
        fence(order);
    }
}
