//! Words that count their changes, in the same atomic instruction.
//!
//! ```text
//!   63              32 31               0
//!  ┌──────────────────┬──────────────────┐
//!  │ version          │ value            │
//!  └──────────────────┴──────────────────┘
//! ```
//!
//! A change returns its own number, and a read the number of changes before it. So all changes of a
//! word, and the reads between them, have an order without a clock.

use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};
use sim::WordName;

/// What one change adds to the whole word; zero where words are too narrow, which
/// [`Versioned::word`] rejects.
const CHANGE: usize = (1_u64 << VALUE_BITS) as usize;
const VALUE_BITS: u32 = 32;
const VALUE_MASK: usize = u32::MAX as usize;

/// Returns a code of `name` below 2^17.
pub(crate) fn code(name: WordName) -> u32 {
    match name {
        WordName::State => 0,
        WordName::Sleep => 1,
        WordName::Stamps => 2,
        WordName::Waiters => 3,
        WordName::Slot(worker) => 4 + 2 * worker,
        WordName::Other(n) => 5 + 2 * n,
    }
}

pub(crate) fn of_code(code: u32) -> WordName {
    match code {
        0 => WordName::State,
        1 => WordName::Sleep,
        2 => WordName::Stamps,
        3 => WordName::Waiters,
        n if n % 2 == 0 => WordName::Slot((n - 4) / 2),
        n => WordName::Other((n - 5) / 2),
    }
}

/// A word with a name, whose upper half counts its changes.
#[derive(Debug)]
pub struct VersionedWord<W> {
    pub(crate) name: WordName,
    word: W,
}

/// Access to [`VersionedWord`]s through another handle. As a [`Memory`] it hides the versions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Versioned<M>(pub M);

/// A value and the number of changes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamped {
    pub(crate) version: u32,
    pub(crate) value: usize,
}

impl Stamped {
    #[inline]
    fn of(whole: usize) -> Self {
        Self {
            version: (whole >> (VALUE_BITS - 1) >> 1) as u32,
            value: whole & VALUE_MASK,
        }
    }
}

impl<M: Memory> Versioned<M> {
    /// The word `name`, made by `word`.
    ///
    /// # Panics
    ///
    /// If `value` has more than 32 bits.
    pub fn word(name: WordName, value: usize, word: impl FnOnce(usize) -> M::Word) -> VersionedWord<M::Word> {
        const { assert!(usize::BITS >= 64, "a version needs the upper half of 64 bits") };
        assert!(value <= VALUE_MASK, "{name}: {value} has more than 32 bits");
        VersionedWord {
            name,
            word: word(value),
        }
    }

    #[inline]
    pub(crate) fn load_stamped(&self, word: &VersionedWord<M::Word>, order: Ordering) -> Stamped {
        Stamped::of(self.0.load(&word.word, order))
    }

    /// The word before, whose version is the number of this change.
    #[inline]
    pub(crate) fn fetch_stamped(
        &self,
        word: &VersionedWord<M::Word>,
        fetch: Fetch,
        order: Ordering,
    ) -> Stamped {
        let add = match fetch {
            // A carry out of the lower half is an overflow, which the policy asserts against.
            Fetch::Add(n) => CHANGE.wrapping_add(n),
            Fetch::Sub(n) => CHANGE.wrapping_sub(n),
            Fetch::And(_) | Fetch::Or(_) => {
                return self.replace(word, order, |value| fetch.apply(value) & VALUE_MASK);
            }
        };
        Stamped::of(self.0.fetch(&word.word, Fetch::Add(add), order))
    }

    #[inline]
    pub(crate) fn compare_exchange_stamped(
        &self,
        word: &VersionedWord<M::Word>,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<Stamped, Stamped> {
        // Ordering: Relaxed. A guess; the exchange confirms it, and the failed read is relaxed by
        // the port's promise.
        let mut whole = self.0.load(&word.word, Ordering::Relaxed);
        loop {
            let now = Stamped::of(whole);
            if now.value != current {
                return Err(now);
            }
            match self.exchange(word, whole, new, order) {
                Ok(()) => return Ok(now),
                Err(other) => whole = other,
            }
        }
    }

    pub(crate) fn replace(
        &self,
        word: &VersionedWord<M::Word>,
        order: Ordering,
        change: impl Fn(usize) -> usize,
    ) -> Stamped {
        // Ordering: Relaxed. A guess, as above.
        let mut whole = self.0.load(&word.word, Ordering::Relaxed);
        loop {
            let now = Stamped::of(whole);
            match self.exchange(word, whole, change(now.value), order) {
                Ok(()) => return now,
                Err(other) => whole = other,
            }
        }
    }

    fn exchange(
        &self,
        word: &VersionedWord<M::Word>,
        whole: usize,
        new: usize,
        order: Ordering,
    ) -> Result<(), usize> {
        let next = (whole & !VALUE_MASK).wrapping_add(CHANGE) | new;
        (self.0)
            .compare_exchange(&word.word, whole, next, order)
            .map(|_| ())
    }
}

impl<M: Memory> Memory for Versioned<M> {
    type Word = VersionedWord<M::Word>;

    #[inline]
    fn load(&self, word: &Self::Word, order: Ordering) -> usize {
        self.load_stamped(word, order).value
    }

    fn store(&self, word: &Self::Word, value: usize, order: Ordering) {
        self.replace(word, order, |_| value);
    }

    #[inline]
    fn fetch(&self, word: &Self::Word, fetch: Fetch, order: Ordering) -> usize {
        self.fetch_stamped(word, fetch, order).value
    }

    #[inline]
    fn compare_exchange(
        &self,
        word: &Self::Word,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<usize, usize> {
        match self.compare_exchange_stamped(word, current, new, order) {
            Ok(before) => Ok(before.value),
            Err(other) => Err(other.value),
        }
    }

    #[inline]
    fn fence(&self, order: Ordering) {
        self.0.fence(order);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use executor_core::ports::{Native, NativeWord};

    #[test]
    fn every_change_counts_and_none_touches_the_value() {
        let memory = Versioned(Native);
        let word = Versioned::<Native>::word(WordName::State, 9, NativeWord::new);
        let version = || memory.load_stamped(&word, Relaxed).version;
        assert_eq!(memory.fetch(&word, Fetch::Add(4), Relaxed), 9);
        assert_eq!(memory.fetch(&word, Fetch::Sub(13), Relaxed), 13);
        assert_eq!((memory.load(&word, Relaxed), version()), (0, 2));
        assert_eq!(memory.fetch(&word, Fetch::Or(6), Relaxed), 0);
        assert_eq!(memory.fetch(&word, Fetch::And(!2), Relaxed), 6);
        memory.store(&word, 17, Relaxed);
        assert_eq!(memory.compare_exchange(&word, 17, 18, Relaxed), Ok(17));
        assert_eq!(memory.compare_exchange(&word, 17, 19, Relaxed), Err(18));
        assert_eq!((memory.load(&word, Relaxed), version()), (18, 6));
    }

    #[test]
    fn what_wraps_around_in_one_field_and_ends_in_another_is_one_change() {
        let memory = Versioned(Native);
        let word = Versioned::<Native>::word(WordName::Sleep, 1 << 17, NativeWord::new);
        let change = (1_usize << 2).wrapping_sub(1 << 17);
        memory.fetch(&word, Fetch::Add(change), Relaxed);
        let now = memory.load_stamped(&word, Relaxed);
        assert_eq!(now, Stamped { version: 1, value: 4 });
    }

    #[test]
    fn names_have_numbers() {
        let names = [
            WordName::State,
            WordName::Sleep,
            WordName::Stamps,
            WordName::Slot(0),
            WordName::Slot(32_767),
            WordName::Waiters,
            WordName::Other(3),
        ];
        for name in names {
            assert_eq!(of_code(code(name)), name);
            assert!(code(name) < 1 << 17);
        }
    }
}
