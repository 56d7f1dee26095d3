//! Groups with their states, from which coarser groups are made.

use std::fmt;

use arrow::array::ArrayRef;

use crate::aggregate::States;
use crate::error::ExecError;
use crate::group_by::{GroupBy, SlotGroups};
use crate::memory::Reservation;

pub(super) struct KeptGroups {
    keys: Vec<ArrayRef>,
    firsts: Vec<u64>,
    states: States,
    /// For the keys and first rows.
    _reservation: Reservation,
}

impl KeptGroups {
    pub(super) fn new(
        keys: Vec<ArrayRef>,
        firsts: Vec<u64>,
        states: States,
        mut reservation: Reservation,
    ) -> Result<Self, ExecError> {
        let keys_bytes: usize = keys.iter().map(|key| key.get_buffer_memory_size()).sum();
        reservation.grow(keys_bytes + firsts.capacity() * size_of::<u64>())?;
        Ok(Self {
            keys,
            firsts,
            states,
            _reservation: reservation,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// Grouped by the keys at `places`, which are those of `group_by`.
    pub(super) fn grouped(&self, group_by: &GroupBy, places: &[usize]) -> Result<SlotGroups, ExecError> {
        let keys: Vec<ArrayRef> = places.iter().map(|&place| self.keys[place].clone()).collect();
        group_by.grouped(&keys, &self.firsts, &self.states)
    }
}

impl fmt::Debug for KeptGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptGroups")
            .field("groups", &self.firsts.len())
            .finish_non_exhaustive()
    }
}
