//! What an aggregate keeps of each group.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::group_ids::GroupIds;
use crate::memory::MemoryExceeded;

/// The states of all groups. What needs memory reserves it first, and fails if the pool refuses.
pub(crate) trait AggregateState: Any + Send + Sync {
    /// Whether no result shows the order in which rows and states were added.
    fn is_exact(&self) -> bool;

    /// Makes room for groups `0..groups`; new ones are empty.
    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded>;

    /// Adds rows: `values` has the argument of each row, and is absent for `count(*)`.
    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError>;

    /// Reorders the groups: `order[i]`, each once, becomes group `i`.
    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded>;

    /// Adds group `first + i` of `from`, a state of the same kind, to group `map[i]`.
    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError>;

    /// Bytes, about, that [`finish`](Self::finish) allocates beside one fixed-width value per
    /// group.
    fn finish_bytes(&self) -> usize {
        0
    }

    /// The results of all groups.
    fn finish(&self, data_type: &DataType) -> Result<ArrayRef, StateError>;
}

/// Why a state has no result.
#[derive(Debug)]
pub(crate) enum StateError {
    /// A group's value is outside its type.
    Overflow,
    /// The pool has no room.
    Memory(MemoryExceeded),
    /// An array could not be made.
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

/// `state` as the kind of state that it is.
pub(super) fn same_kind<S: AggregateState>(state: &dyn AggregateState) -> &S {
    let state: &dyn Any = state;
    state
        .downcast_ref()
        .expect("states of one aggregate are of one kind")
}

/// A result array.
pub(super) fn shared(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}
