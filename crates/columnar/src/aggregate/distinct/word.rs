//! Values of a fixed width, and what they are found by.

use crate::partition::{hash_fixed_key, hash_word};

/// A value of a fixed width.
pub(super) trait Word: Copy + Default + Eq {
    fn hash(self) -> u64;
}

impl Word for u64 {
    #[inline]
    fn hash(self) -> u64 {
        hash_word(self)
    }
}

impl Word for u128 {
    #[inline]
    fn hash(self) -> u64 {
        hash_fixed_key(self)
    }
}
