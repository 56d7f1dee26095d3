//! The keys of a slot's groups, by partition.

use std::ops::Range;

use crate::encoding::EncodedRows;
use crate::memory::ReservedVec;
use crate::partition::Starts;

/// Distinct keys by partition, then by first row.
pub(crate) struct PartitionedKeys {
    /// Empty without any.
    pub(crate) fixed_keys: ReservedVec<u128>,
    /// The first position of each key.
    pub(crate) firsts: ReservedVec<u64>,
    pub(crate) starts: Starts,
    /// Keys without fixed width.
    pub(crate) encoded: EncodedRows,
    pub(crate) hashes: ReservedVec<u64>,
    /// Each place's index in `encoded`, or `u32::MAX` for a fixed-width key. Empty if all have one.
    pub(crate) encoded_at: ReservedVec<u32>,
}

impl PartitionedKeys {
    pub(crate) fn places(&self, partitions: &Range<usize>) -> Range<usize> {
        self.starts.places(partitions)
    }

    pub(crate) fn encoded_at(&self, place: usize) -> Option<usize> {
        match self.encoded_at.get(place) {
            None | Some(&u32::MAX) => None,
            Some(&at) => Some(at as usize),
        }
    }
}
