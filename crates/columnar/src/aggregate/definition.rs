//! The definition of an aggregate function.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::state::{AggregateState, StateError};
use crate::expr::Expr;
use crate::memory::MemoryPool;

pub(super) trait Definition: Sync {
    /// The argument as the state takes it, and the result type. `None` rejects the argument's type.
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)>;

    /// Functions of one kind and argument share a state.
    fn state_kind(&self) -> &'static str;

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState>;

    fn finish(
        &self,
        state: &dyn AggregateState,
        argument: Option<&DataType>,
        result: &DataType,
    ) -> Result<ArrayRef, StateError> {
        let _ = argument;
        state.finish(result)
    }
}
