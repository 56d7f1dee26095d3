//! What a slot leaves in its cell.

use arrow::array::ArrayRef;

use crate::aggregate::{AggregateState, GroupKeys};

/// A slot's part of the result.
pub(super) enum Collected {
    Rows(SlotRows),
    Groups(Box<SlotGroups>),
}

/// Rows a slot gives out, in pieces.
#[derive(Debug, Default)]
pub(super) struct SlotRows {
    /// Of each piece the output columns, then the order's keys.
    pub(super) pieces: Vec<Vec<ArrayRef>>,
    pub(super) rows: usize,
}

/// Groups of a slot's rows.
pub(super) struct SlotGroups {
    /// Absent without keys: there is one group.
    pub(super) keys: Option<GroupKeys>,
    pub(super) states: Vec<Box<dyn AggregateState>>,
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

    pub(super) fn into_groups(self) -> SlotGroups {
        match self {
            Self::Groups(groups) => *groups,
            Self::Rows(_) => unreachable!("a plan of groups collects groups"),
        }
    }
}
