//! The definition of an aggregate function.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::state::{AggregateState, StateError};
use crate::expr::Expr;
use crate::memory::MemoryPool;

pub(super) trait Definition: Sync {
    /// The argument as the state takes it, and the result type. `None` rejects the argument's type.
    ///
    /// Checks: `Expr::summable` for numbers, `Expr::condition` for booleans, `Expr::is_comparable`
    /// with `Expr::plain` for values that have an order. All take a NULL without a type.
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)>;

    /// Functions of one kind share a state if the bound arguments are equal in text and type.
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
