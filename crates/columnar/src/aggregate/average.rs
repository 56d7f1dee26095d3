//! `avg`: the exact sum divided by the count, as a double.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::DataType;

use super::definition::Definition;
use super::state::{AggregateState, StateError, shared};
use super::sum::{Sum, sums};
use crate::expr::Expr;
use crate::memory::MemoryPool;

/// Shares the state of `sum`.
pub(super) struct Average;

impl Definition for Average {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        Some((argument.summable()?, DataType::Float64))
    }

    fn state_kind(&self) -> &'static str {
        Sum.state_kind()
    }

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        Sum.new_state(argument, pool)
    }

    fn finish(
        &self,
        state: &dyn AggregateState,
        argument: Option<&DataType>,
        _result: &DataType,
    ) -> Result<ArrayRef, StateError> {
        let sums = sums(state, argument.expect("an average has an argument"));
        let unit = 10f64.powi(i32::from(sums.scale()));
        let average = |(sum, &count): (f64, &u64)| (count > 0).then(|| sum / (count as f64 * unit));
        let totals = sums.doubles().into_iter().zip(sums.counts());
        Ok(shared(Float64Array::from_iter(totals.map(average))))
    }
}
