//! What a slot leaves in its cell.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::error::ArrowError;

use crate::aggregate::{AggregateState, KeyPartitions, Starts};
use crate::charged::ChargedVec;
use crate::error::ExecError;
use crate::footprint::{Kept, compact, compact_bytes};
use crate::morsel::Morsel;
use crate::quota::{Charge, Quota};

/// A slot's part of the result.
pub(super) enum Collected {
    Rows(SlotRows),
    /// Absent where the groups went on to another slot.
    Groups(Option<Box<SlotGroups>>),
}

/// Rows a slot gives out, in pieces.
#[derive(Debug)]
pub(super) struct SlotRows {
    /// Of each piece the output columns, then the order's keys.
    pub(super) pieces: Vec<Vec<ArrayRef>>,
    pub(super) rows: usize,
    /// For the pieces.
    pub(super) charge: Charge,
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

impl SlotRows {
    pub(super) fn new(quota: Option<&Arc<Quota>>) -> Self {
        Self {
            pieces: Vec::new(),
            rows: 0,
            charge: Charge::of(quota.cloned()),
        }
    }

    /// Lets go of the morsel that the rows come from. Where they need little of what they keep, they are copied; what they keep is charged to them
    /// from now on.
    pub(super) fn let_go(&mut self, morsel: Morsel<'_>) -> Result<(), ExecError> {
        let fail = |error| ExecError::of("select", error);
        let own = {
            let lent = morsel.lent();
            for at in 0..self.pieces.first().map_or(0, Vec::len) {
                let column = || self.pieces.iter().map(|piece| &piece[at]);
                let kept = Kept::by(column(), &lent);
                let needed: Result<usize, ArrowError> = column().map(|piece| compact_bytes(piece)).sum();
                let needed = needed.map_err(fail)?;
                if kept.is_mostly_unused(needed) {
                    self.charge.grow(needed)?;
                    for piece in &mut self.pieces {
                        piece[at] = compact(&piece[at]).map_err(fail)?;
                    }
                }
            }
            Kept::by(self.pieces.iter().flatten(), &lent).own
        };
        self.charge.absorb(morsel.into_charge());
        Ok(self.charge.resize(own)?)
    }
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
