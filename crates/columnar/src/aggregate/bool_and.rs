//! `bool_and`: whether all values are true.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::definition::Definition;
use super::min_max::MinMax;
use super::state::AggregateState;
use crate::expr::Expr;
use crate::memory::MemoryPool;

/// Shares the state of `min`: false is below true.
pub(super) struct BoolAnd;

const MIN: MinMax = MinMax { smallest: true };

impl Definition for BoolAnd {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        Some((Expr::condition(argument).ok()?, DataType::Boolean))
    }

    fn state_kind(&self) -> &'static str {
        MIN.state_kind()
    }

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        MIN.new_state(argument, pool)
    }
}
