//! What a slot leaves in its cell.

use std::ops::Range;

use arrow::array::ArrayRef;

use crate::aggregate::{AggregateState, KeyPartitions, Starts};
use crate::charged::ChargedVec;
use crate::quota::Charge;

/// A slot's part of the result.
pub(super) enum Collected {
    Rows(SlotRows),
    /// Absent where the groups went on to another slot.
    Groups(Option<Box<SlotGroups>>),
}

/// Rows a slot gives out, in pieces.
#[derive(Debug, Default)]
pub(super) struct SlotRows {
    /// Of each piece the output columns, then the order's keys.
    pub(super) pieces: Vec<Vec<ArrayRef>>,
    pub(super) rows: usize,
}

/// Groups of a slot's rows, and rows that are in none yet.
pub(super) struct SlotGroups {
    /// Absent without keys: there is one group.
    pub(super) keys: Option<KeyPartitions>,
    /// In the order of the keys.
    pub(super) states: Vec<Box<dyn AggregateState>>,
    /// Rows that are grouped only when slots are merged; each piece has some.
    pub(super) loose: Vec<LooseRows>,
}

/// Rows of a chunk by the partitions of their keys.
pub(super) struct LooseRows {
    /// Where the chunk's first row is in the table.
    pub(super) base: u64,
    pub(super) words: ChargedVec<u128>,
    /// Of each row its number in the chunk.
    pub(super) rows: ChargedVec<u32>,
    pub(super) arguments: Vec<ArrayRef>,
    /// For the arguments.
    pub(super) _charge: Charge,
    pub(super) starts: Starts,
}

impl SlotGroups {
    /// Groups and loose rows in some partitions: what there is to do for whoever merges them.
    pub(super) fn entries(&self, partitions: &Range<usize>) -> usize {
        let groups = self.keys.as_ref().map_or(1, |keys| keys.places(partitions).len());
        let loose = self.loose.iter().map(|rows| rows.starts.places(partitions).len());
        groups + loose.sum::<usize>()
    }
}

impl Collected {
    /// Rows that this adds to a result without groups.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.rows,
            Self::Groups(_) => 0,
        }
    }

    pub(super) fn into_rows(self) -> SlotRows {
        match self {
            Self::Rows(rows) => rows,
            Self::Groups(_) => unreachable!("a plan of rows collects rows"),
        }
    }

    pub(super) fn into_groups(self) -> Option<SlotGroups> {
        match self {
            Self::Groups(groups) => groups.map(|groups| *groups),
            Self::Rows(_) => unreachable!("a plan of groups collects groups"),
        }
    }
}
