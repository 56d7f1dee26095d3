//! The states that an aggregate keeps per group.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::group_ids::GroupIds;
use crate::memory::MemoryExceeded;
use crate::table::Codes;

/// Reserves memory before use, and fails if the pool refuses.
pub(crate) trait AggregateState: Any + Send + Sync {
    /// Whether no result shows the order of additions.
    fn is_exact(&self) -> bool;

    /// Whether [`update`](Self::update) takes decimals in [64 bits](crate::narrow).
    fn takes_narrow(&self) -> bool {
        false
    }

    /// The extreme that alone decides the result, if there is one.
    fn extreme(&self) -> Option<Extreme> {
        None
    }

    /// Makes room for groups `0..groups`; new ones are empty.
    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded>;

    /// `values` is absent for `count(*)`.
    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError>;

    /// Values at most whose codes [`update_by_codes`](Self::update_by_codes) takes.
    fn codes_max(&self) -> usize {
        0
    }

    /// Adds rows to group 0 by the codes of their values. False if the state does not take these:
    /// then none is added.
    fn update_by_codes(&mut self, codes: &Codes) -> Result<bool, StateError> {
        let _ = codes;
        Ok(false)
    }

    /// Reorders the groups: `order[i]`, each once, becomes group `i`.
    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded>;

    /// About the values that are kept for a run of groups, beside the states of fixed width: what their
    /// merge reads.
    fn kept(&self, first: usize, groups: usize) -> usize {
        let _ = (first, groups);
        0
    }

    /// Adds group `first + i` of `from`, a state of the same kind, to group `map[i]`.
    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError>;

    /// About the bytes [`finish`](Self::finish) allocates beyond one fixed-width value per group.
    fn finish_bytes(&self) -> usize {
        0
    }

    fn finish(&self, data_type: &DataType) -> Result<ArrayRef, StateError>;
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Extreme {
    Least,
    Greatest,
}

#[derive(Debug)]
pub(crate) enum StateError {
    Overflow,
    Memory(MemoryExceeded),
    Arrow(ArrowError),
}

impl From<ArrowError> for StateError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl From<MemoryExceeded> for StateError {
    fn from(error: MemoryExceeded) -> Self {
        Self::Memory(error)
    }
}

pub(super) fn same_kind<S: AggregateState>(state: &dyn AggregateState) -> &S {
    let state: &dyn Any = state;
    state
        .downcast_ref()
        .expect("states of one aggregate are of one kind")
}

pub(super) fn shared(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}
