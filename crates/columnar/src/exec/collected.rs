//! The output of a slot.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::error::ArrowError;

use super::morsel::Morsel;
use crate::error::ExecError;
use crate::group_by::SlotGroups;
use crate::memory::{MemoryPool, Reservation, RetainedSize, compact, compact_bytes};

pub(super) enum Collected {
    Rows(SlotRows),
    /// `None` where another slot took over the groups.
    Groups(Option<Box<SlotGroups>>),
}

#[derive(Debug)]
pub(super) struct SlotRows {
    /// Each piece's output columns, then the order's keys.
    pub(super) pieces: Vec<Vec<ArrayRef>>,
    pub(super) rows: usize,
    pub(super) reservation: Reservation,
}

impl SlotRows {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            pieces: Vec::new(),
            rows: 0,
            reservation: Reservation::of(pool.cloned()),
        }
    }

    /// Releases the morsel. Rows that use little of the memory they hold are copied; `reservation`
    /// then covers what they hold.
    pub(super) fn let_go(&mut self, morsel: Morsel<'_>) -> Result<(), ExecError> {
        let fail = |error| ExecError::of("select", error);
        let own = {
            let borrowed = morsel.borrowed();
            for at in 0..self.pieces.first().map_or(0, Vec::len) {
                let column = || self.pieces.iter().map(|piece| &piece[at]);
                let kept = RetainedSize::by(column(), &borrowed);
                let needed: Result<usize, ArrowError> = column().map(|piece| compact_bytes(piece)).sum();
                let needed = needed.map_err(fail)?;
                if kept.is_mostly_unused(needed) {
                    self.reservation.grow(needed)?;
                    for piece in &mut self.pieces {
                        piece[at] = compact(&piece[at]).map_err(fail)?;
                    }
                }
            }
            RetainedSize::by(self.pieces.iter().flatten(), &borrowed).own
        };
        self.reservation.absorb(morsel.into_charge());
        Ok(self.reservation.resize(own)?)
    }
}

impl Collected {
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
