//! Atomic words and fences as a port.
//!
//! A word is shared; the handle that operates on it belongs to one party, which the simulator
//! suspends before the operation.

use std::sync::atomic::Ordering;

/// One party's access to shared words.
pub trait Memory {
    /// A shared word, of at least 32 bits.
    type Word;

    /// Reads.
    fn load(&self, word: &Self::Word, order: Ordering) -> usize;

    /// Writes.
    fn store(&self, word: &Self::Word, value: usize, order: Ordering);

    /// Applies `fetch` as one operation and returns the value before.
    fn fetch(&self, word: &Self::Word, fetch: Fetch, order: Ordering) -> usize;

    /// Writes `new` if the word is `current`, as one operation that does not fail spuriously.
    ///
    /// # Errors
    ///
    /// The other value of the word, from a relaxed read.
    fn compare_exchange(
        &self,
        word: &Self::Word,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<usize, usize>;

    /// A fence.
    fn fence(&self, order: Ordering);
}

/// What [`Memory::fetch`] does to the word. Arithmetic wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// Adds.
    Add(usize),
    /// Subtracts.
    Sub(usize),
    /// Clears the bits outside of the mask.
    And(usize),
    /// Sets bits.
    Or(usize),
}

impl Fetch {
    /// The value after, from the value before.
    #[must_use]
    pub fn apply(self, before: usize) -> usize {
        match self {
            Self::Add(n) => before.wrapping_add(n),
            Self::Sub(n) => before.wrapping_sub(n),
            Self::And(mask) => before & mask,
            Self::Or(bits) => before | bits,
        }
    }
}

impl<M: Memory> Memory for &M {
    type Word = M::Word;

    #[inline]
    fn load(&self, word: &Self::Word, order: Ordering) -> usize {
        (**self).load(word, order)
    }

    #[inline]
    fn store(&self, word: &Self::Word, value: usize, order: Ordering) {
        (**self).store(word, value, order);
    }

    #[inline]
    fn fetch(&self, word: &Self::Word, fetch: Fetch, order: Ordering) -> usize {
        (**self).fetch(word, fetch, order)
    }

    #[inline]
    fn compare_exchange(
        &self,
        word: &Self::Word,
        current: usize,
        new: usize,
        order: Ordering,
    ) -> Result<usize, usize> {
        (**self).compare_exchange(word, current, new, order)
    }

    #[inline]
    fn fence(&self, order: Ordering) {
        (**self).fence(order);
    }
}

/// Implements [`Memory`] for a party that has another handle.
///
/// ```
/// use executor_core::ports::{Native, NativeWord};
///
/// struct Producer {
///     memory: Native,
/// }
///
/// executor_core::delegate_memory!(impl[] Memory<NativeWord> for Producer, |producer| producer.memory);
/// ```
#[macro_export]
macro_rules! delegate_memory {
    (impl[$($generics:tt)*] Memory<$word:ty> for $party:ty, |$this:ident| $handle:expr) => {
        impl<$($generics)*> $crate::ports::Memory for $party {
            type Word = $word;

            #[inline]
            fn load(&self, word: &$word, order: ::std::sync::atomic::Ordering) -> usize {
                let $this = self;
                $crate::ports::Memory::load(&$handle, word, order)
            }

            #[inline]
            fn store(&self, word: &$word, value: usize, order: ::std::sync::atomic::Ordering) {
                let $this = self;
                $crate::ports::Memory::store(&$handle, word, value, order);
            }

            #[inline]
            fn fetch(
                &self,
                word: &$word,
                fetch: $crate::ports::Fetch,
                order: ::std::sync::atomic::Ordering,
            ) -> usize {
                let $this = self;
                $crate::ports::Memory::fetch(&$handle, word, fetch, order)
            }

            #[inline]
            fn compare_exchange(
                &self,
                word: &$word,
                current: usize,
                new: usize,
                order: ::std::sync::atomic::Ordering,
            ) -> Result<usize, usize> {
                let $this = self;
                $crate::ports::Memory::compare_exchange(&$handle, word, current, new, order)
            }

            #[inline]
            fn fence(&self, order: ::std::sync::atomic::Ordering) {
                let $this = self;
                $crate::ports::Memory::fence(&$handle, order);
            }
        }
    };
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::ports::{Native, NativeWord};

    fn fetch() -> impl Strategy<Value = Fetch> {
        let operand = prop_oneof![any::<usize>(), Just(0), Just(1), Just(usize::MAX)];
        (operand, 0..4).prop_map(|(n, kind)| match kind {
            0 => Fetch::Add(n),
            1 => Fetch::Sub(n),
            2 => Fetch::And(n),
            _ => Fetch::Or(n),
        })
    }

    proptest! {
        /// The simulator changes words by `apply`, threads by machine instructions.
        #[test]
        fn the_machine_changes_a_word_as_it_is_written_down(start in any::<usize>(), fetches in prop::collection::vec(fetch(), 0..20)) {
            let order = Ordering::Relaxed;
            let word = NativeWord::new(0);
            let through_a_reference = &Native;
            Memory::store(&through_a_reference, &word, start, order);
            let mut expected = start;
            for fetch in fetches {
                prop_assert_eq!(Memory::fetch(&through_a_reference, &word, fetch, order), expected);
                expected = fetch.apply(expected);
                prop_assert_eq!(Memory::load(&through_a_reference, &word, order), expected);
            }
            let other = expected.wrapping_add(1);
            let exchange = |current, new| Memory::compare_exchange(&through_a_reference, &word, current, new, order);
            prop_assert_eq!(exchange(other, 7), Err(expected));
            prop_assert_eq!(exchange(expected, other), Ok(expected));
            prop_assert_eq!(Native.load(&word, order), other);
        }
    }

    #[test]
    fn a_fence_through_a_reference_is_a_fence() {
        struct Noting(Cell<Option<Ordering>>);
        crate::delegate_memory!(impl[] Memory<NativeWord> for Noting, |noting| NotesFences(&noting.0));

        struct NotesFences<'a>(&'a Cell<Option<Ordering>>);
        impl Memory for NotesFences<'_> {
            type Word = NativeWord;

            fn load(&self, word: &NativeWord, order: Ordering) -> usize {
                Native.load(word, order)
            }

            fn store(&self, word: &NativeWord, value: usize, order: Ordering) {
                Native.store(word, value, order);
            }

            fn fetch(&self, word: &NativeWord, fetch: Fetch, order: Ordering) -> usize {
                Native.fetch(word, fetch, order)
            }

            fn compare_exchange(
                &self,
                word: &NativeWord,
                current: usize,
                new: usize,
                order: Ordering,
            ) -> Result<usize, usize> {
                Native.compare_exchange(word, current, new, order)
            }

            fn fence(&self, order: Ordering) {
                self.0.set(Some(order));
            }
        }

        let noting = Noting(Cell::new(None));
        Memory::fence(&&noting, Ordering::SeqCst);
        assert_eq!(noting.0.get(), Some(Ordering::SeqCst));
    }
}
