//! The pairs that were seen lately, so that a list does not hold each row of a frequent pair.

use std::mem;
use std::sync::Arc;

use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// The pair that was last added at each place of a hash: its group, and a note of its value.
pub(super) struct Lately<N>(ReservedVec<(u32, N)>);

/// Places at first.
const PLACES_MIN: usize = 1 << 10;
/// Places at most: a part of a core's second level of cache.
const PLACES_MAX: usize = 1 << 14;

/// The group of an empty place.
const NONE: u32 = u32::MAX;

impl<N: Copy + Default + PartialEq> Lately<N> {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self(ReservedVec::new(pool))
    }

    /// The note of the last pair at the hash's place, if it has this group.
    #[inline]
    pub(super) fn find(&self, hash: u64, group: u32) -> Option<N> {
        let &(of, note) = self.0.get(hash as usize & self.0.len().wrapping_sub(1))?;
        (of == group).then_some(note)
    }

    /// Puts a pair into its place, and returns whether it was there. `None` if there are no places
    /// yet.
    #[inline]
    pub(super) fn put(&mut self, hash: u64, group: u32, note: N) -> Option<bool> {
        let place = hash as usize & self.0.len().wrapping_sub(1);
        let (of, known) = mem::replace(self.0.get_mut(place)?, (group, note));
        Some((of == group) & (known == note))
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
        self.0.resize(places, (NONE, N::default()))
    }
}
