//! The groups that a slot leaves.

use std::ops::Range;

use arrow::array::ArrayRef;

use super::partitioned_keys::PartitionedKeys;
use crate::aggregate::States;
use crate::memory::{Reservation, ReservedVec};
use crate::partition::Starts;

pub(crate) struct SlotGroups {
    /// Absent without keys: there is one group.
    pub(crate) keys: Option<PartitionedKeys>,
    /// In the order of the keys.
    pub(crate) states: States,
    /// No piece is empty.
    pub(crate) passing: Vec<PassThroughRows>,
}

/// Rows of a chunk by partition of their keys.
pub(crate) struct PassThroughRows {
    /// The position of the chunk's first row in the table.
    pub(crate) base: u64,
    pub(crate) fixed_keys: ReservedVec<u128>,
    /// Each row's number in the chunk.
    pub(crate) rows: ReservedVec<u32>,
    pub(crate) arguments: Vec<ArrayRef>,
    /// For the arguments.
    pub(crate) _reservation: Reservation,
    pub(crate) starts: Starts,
}

impl SlotGroups {
    pub(crate) fn entries(&self, partitions: &Range<usize>) -> usize {
        let groups = self.keys.as_ref().map_or(1, |keys| keys.places(partitions).len());
        let passing = self
            .passing
            .iter()
            .map(|rows| rows.starts.places(partitions).len());
        groups + passing.sum::<usize>()
    }
}
