//! The keys of a slot's groups, by partition.

use std::ops::Range;

use crate::memory::{ReservedRows, ReservedVec};
use crate::partition::Starts;

/// Distinct keys in the order of their partitions, and in each of them in the order in which they
/// were met.
pub(crate) struct PartitionedKeys {
    /// Of each place its fixed-width key; empty if no key has one.
    pub(crate) fixed_keys: ReservedVec<u128>,
    /// Of each place where its key was first met.
    pub(crate) firsts: ReservedVec<u64>,
    pub(crate) starts: Starts,
    /// Keys without a fixed-width key.
    pub(crate) encoded: ReservedRows,
    /// Their hashes.
    pub(crate) hashes: ReservedVec<u64>,
    /// Of each place which of them it is, or `u32::MAX` if it has a fixed-width key. Empty if all
    /// have one.
    pub(crate) encoded_at: ReservedVec<u32>,
}

impl PartitionedKeys {
    /// The places of some partitions.
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
