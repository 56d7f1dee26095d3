//! The pairs that were seen lately, so that a list does not hold each row of a frequent pair.

use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// A pair for each place of a hash: the one that was last added there.
pub(super) struct Lately(ReservedVec<(u32, u32)>);

/// Places at first, and at most: with their pairs a part of a core's second level of cache.
const PLACES_MIN: usize = 1 << 10;
const PLACES_MAX: usize = 1 << 14;

impl Lately {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self(ReservedVec::new(pool))
    }

    /// A pair whose hash agrees in most bits.
    #[inline]
    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        let &(tag, pair) = self.0.get(hash as usize & self.0.len().wrapping_sub(1))?;
        (tag == tag_of(hash) && pair != u32::MAX).then_some(pair)
    }

    #[inline]
    pub(super) fn put(&mut self, hash: u64, pair: u32) {
        let place = hash as usize & self.0.len().wrapping_sub(1);
        if let Some(place) = self.0.get_mut(place) {
            *place = (tag_of(hash), pair);
        }
    }

    /// Whether more places would find more of `pairs`.
    #[inline]
    pub(super) fn is_small_for(&self, pairs: usize) -> bool {
        pairs >= self.0.len() && pairs < PLACES_MAX
    }

    /// Makes more places, all of them empty.
    pub(super) fn grow(&mut self) -> Result<(), MemoryExceeded> {
        let places = (4 * self.0.len()).clamp(PLACES_MIN, PLACES_MAX);
        self.0.clear();
        self.0.resize(places, (0, u32::MAX))
    }
}

fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}
