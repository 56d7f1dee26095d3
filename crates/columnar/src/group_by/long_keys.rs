//! Keys without a fixed width, among others that have one.

use std::ops::Range;
use std::sync::Arc;

use crate::encoding::EncodedRows;
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

/// Keys as bytes, in the order of their places among all keys.
pub(crate) struct LongKeys {
    rows: EncodedRows,
    hashes: ReservedVec<u64>,
    places: ReservedVec<u32>,
}

impl LongKeys {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            rows: EncodedRows::new(pool),
            hashes: ReservedVec::new(pool),
            places: ReservedVec::new(pool),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of the keys.
    pub(super) fn size(&self) -> usize {
        self.rows.size()
    }

    pub(super) fn rows(&self) -> &EncodedRows {
        &self.rows
    }

    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The place of each among all keys, ascending.
    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    /// The keys whose places are in `places`.
    pub(super) fn within(&self, places: &Range<usize>) -> Range<usize> {
        let before = |end: usize| self.places.partition_point(|&place| (place as usize) < end);
        before(places.start)..before(places.end)
    }

    pub(super) fn reserve(&mut self, more: usize) -> Result<(), MemoryExceeded> {
        self.rows.reserve(more)?;
        self.hashes.reserve(more)?;
        self.places.reserve(more)
    }

    /// `add` adds the key's bytes, and returns its place, which lies behind all others.
    pub(super) fn push(
        &mut self,
        hash: u64,
        add: impl FnOnce(&mut EncodedRows) -> Result<u32, MemoryExceeded>,
    ) -> Result<u32, MemoryExceeded> {
        let place = add(&mut self.rows)?;
        self.hashes.push(hash)?;
        self.places.push(place)?;
        Ok(place)
    }

    /// Ends the adding of keys, so that other lists may share them.
    pub(super) fn seal(&mut self) {
        self.rows.seal();
    }

    /// Returns what [`EncodedRows::push_shared`] needs to know.
    pub(super) fn share(&mut self, from: &Self) -> usize {
        self.rows.share(&from.rows)
    }

    /// The keys at places `order[i]`, each once and below `end`, move to places `i`.
    pub(super) fn arrange(&mut self, order: &[u32], end: usize) -> Result<(), MemoryExceeded> {
        if self.places.is_empty() {
            return Ok(());
        }
        if self.places.len() == end {
            self.hashes.arrange(order)?;
            return self.rows.arrange(order);
        }
        let pool = self.places.pool().cloned();
        let mut number_of = ReservedVec::new(pool.as_ref());
        number_of.resize(end, u32::MAX)?;
        for (number, &place) in (0..).zip(&*self.places) {
            number_of[place as usize] = number;
        }
        let mut numbers = ReservedVec::new(pool.as_ref());
        numbers.reserve(self.places.len())?;
        let mut places = ReservedVec::new(pool.as_ref());
        places.reserve(self.places.len())?;
        for (place, &was) in (0..).zip(order) {
            let number = number_of[was as usize];
            if number != u32::MAX {
                numbers.push(number)?;
                places.push(place)?;
            }
        }
        self.places = places;
        self.hashes.arrange(&numbers)?;
        self.rows.arrange(&numbers)
    }
}
