//! The groups that a slot leaves.

use std::ops::Range;

use arrow::array::ArrayRef;

use super::partitioned_keys::PartitionedKeys;
use crate::aggregate::States;
use crate::memory::{Reservation, ReservedVec};

pub(crate) struct SlotGroups {
    /// Absent without keys: there is one group.
    pub(crate) keys: Option<SlotKeys>,
    /// In the order of the keys.
    pub(crate) states: States,
    /// No piece is empty.
    pub(crate) passing: Vec<PassThroughRows>,
}

/// Distinct keys.
pub(crate) struct SlotKeys {
    pub(crate) keys: PartitionedKeys,
    /// The first position of each.
    pub(crate) firsts: ReservedVec<u64>,
}

/// Rows of a chunk.
pub(crate) struct PassThroughRows {
    /// The position of the chunk's first row in the table.
    pub(crate) base: u64,
    pub(crate) keys: PartitionedKeys,
    /// Each row's number in the chunk.
    pub(crate) rows: ReservedVec<u32>,
    pub(crate) arguments: Vec<ArrayRef>,
    /// For the arguments.
    pub(crate) _reservation: Reservation,
}

impl SlotGroups {
    /// All keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &PartitionedKeys> {
        let grouped = self.keys.iter().map(|grouped| &grouped.keys);
        grouped.chain(self.passing.iter().map(|passing| &passing.keys))
    }

    /// Groups and rows.
    pub(crate) fn entries(&self, partitions: &Range<usize>) -> usize {
        match self.keys {
            Some(_) => self.keys().map(|keys| keys.places(partitions).len()).sum(),
            None => 1,
        }
    }

    /// The values that states keep.
    pub(crate) fn kept(&self, partitions: &Range<usize>) -> usize {
        let groups = match &self.keys {
            Some(grouped) => grouped.keys.places(partitions),
            None => 0..1,
        };
        let kept = self
            .states
            .iter()
            .map(|state| state.kept(groups.start, groups.len()));
        kept.sum()
    }

    /// Groups and rows whose keys have no fixed width.
    pub(crate) fn long_entries(&self, partitions: &Range<usize>) -> usize {
        let of_keys = |keys: &PartitionedKeys| keys.long().within(&keys.places(partitions)).len();
        self.keys().map(of_keys).sum()
    }
}
