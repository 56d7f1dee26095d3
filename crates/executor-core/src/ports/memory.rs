//! Atomic words and fences as a port.
//!
//! The words live apart from the handle that operates on them: a word is shared by everybody, a handle belongs
//! to one worker or producer, and the simulator's handle knows which of them it has to suspend before the
//! operation. On threads the handle is a unit type and every method inlines to one instruction.

use std::sync::atomic::Ordering;

/// One party's access to shared atomic words.
pub trait Memory {
    /// A shared word, of at least 32 bits.
    type Word;

    /// Reads.
    fn load(&self, word: &Self::Word, order: Ordering) -> usize;

    /// Writes.
    fn store(&self, word: &Self::Word, value: usize, order: Ordering);

    /// Reads, applies `fetch` and writes, as one operation; gives what was there before.
    fn fetch(&self, word: &Self::Word, fetch: Fetch, order: Ordering) -> usize;

    /// Writes `new` if the word is `current`, as one operation; it does not fail spuriously.
    ///
    /// # Errors
    ///
    /// What the word was instead. The failed read is relaxed.
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
    /// Clears the bits that are not in the mask.
    And(usize),
    /// Sets bits.
    Or(usize),
}

impl Fetch {
    /// The word after, from the word before.
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

/// A handle may be used through a reference.
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

/// Implements [`Memory`](crate::ports::Memory) for a party whose access to memory is another handle's.
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
