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

use std::fmt;
use std::sync::atomic::Ordering;

use crate::ports::memory::{Fetch, Memory};

/// What one change adds to the whole word; zero where words are too narrow, which
/// [`Versioned::word`] rejects.
const CHANGE: usize = (1_u64 << VALUE_BITS) as usize;
const VALUE_BITS: u32 = 32;
const VALUE_MASK: usize = u32::MAX as usize;

/// The name of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordName {
    /// The state word.
    State,
    /// The sleep word.
    Sleep,
    /// The source of sleepers' stamps.
    Stamps,
    /// A worker's slot in the set of sleepers.
    Slot(u32),
    /// The number of parties that wait until nothing is in flight.
    Waiters,
    /// Any other word, in order of creation.
    Other(u32),
}

/// Index of the first slot.
const FIRST_SLOT: usize = 3;

impl WordName {
    /// The name of the word that [`Scheduler::new`](crate::Scheduler::new) makes after `made`
    /// others.
    #[must_use]
    pub fn of_scheduler(made: usize, workers: usize) -> Self {
        match made {
            0 => Self::State,
            1 => Self::Sleep,
            2 => Self::Stamps,
            n if n < FIRST_SLOT + workers => Self::Slot((n - FIRST_SLOT) as u32),
            _ => Self::Waiters,
        }
    }

    /// A code below 2^17.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::State => 0,
            Self::Sleep => 1,
            Self::Stamps => 2,
            Self::Waiters => 3,
            Self::Slot(worker) => 4 + 2 * worker,
            Self::Other(n) => 5 + 2 * n,
        }
    }

    pub(super) fn of_code(code: u32) -> Self {
        match code {
            0 => Self::State,
            1 => Self::Sleep,
            2 => Self::Stamps,
            3 => Self::Waiters,
            n if n % 2 == 0 => Self::Slot((n - 4) / 2),
            n => Self::Other((n - 5) / 2),
        }
    }
}

impl fmt::Display for WordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State => f.write_str("state word"),
            Self::Sleep => f.write_str("sleep word"),
            Self::Stamps => f.write_str("stamps"),
            Self::Slot(worker) => write!(f, "slot of worker {worker}"),
            Self::Waiters => f.write_str("waiters"),
            Self::Other(n) => write!(f, "word {n}"),
        }
    }
}

/// A word with a name, whose upper half counts its changes.
#[derive(Debug)]
pub struct VersionedWord<W> {
    pub(super) name: WordName,
    word: W,
}

/// Access to [`VersionedWord`]s through another handle. As a [`Memory`] it hides the versions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Versioned<M>(pub M);

/// A value and the number of changes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) version: u32,
    pub(super) value: usize,
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
    pub(super) fn load_stamped(&self, word: &VersionedWord<M::Word>, order: Ordering) -> Stamped {
        Stamped::of(self.0.load(&word.word, order))
    }

    /// The word before, whose version is the number of this change.
    #[inline]
    pub(super) fn fetch_stamped(
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
    pub(super) fn compare_exchange_stamped(
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
                // Perhaps only the version differed.
                Err(other) => whole = other,
            }
        }
    }

    /// Writes `change` of the value and returns the word before.
    pub(super) fn replace(
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

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::ports::{Native, NativeWord};

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
            assert_eq!(WordName::of_code(name.code()), name);
            assert!(name.code() < 1 << 17);
        }
    }
}
