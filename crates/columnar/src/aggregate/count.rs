//! `count(*)` and `count(expression)`: rows, and rows where the expression is not NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::DataType;

use super::definition::Definition;
use super::group_ids::GroupIds;
use super::state::{AggregateState, StateError, same_kind, shared};
use crate::expr::Expr;
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

pub(super) struct Count;

impl Definition for Count {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        Some((argument, DataType::Int64))
    }

    fn state_kind(&self) -> &'static str {
        "count"
    }

    fn new_state(
        &self,
        _argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        Box::new(CountState {
            counts: ReservedVec::new(pool),
        })
    }
}

#[derive(Debug)]
struct CountState {
    counts: ReservedVec<i64>,
}

impl AggregateState for CountState {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.counts.resize(groups, 0)
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let nulls = values.and_then(|values| values.logical_nulls());
        match (groups, &nulls) {
            (GroupIds::Single { rows }, None) => self.counts[0] += rows as i64,
            (GroupIds::Single { rows }, Some(nulls)) => self.counts[0] += (rows - nulls.null_count()) as i64,
            (
                GroupIds::PerRow {
                    counts: Some(counts), ..
                },
                None,
            ) => {
                self.counts
                    .iter_mut()
                    .zip(counts)
                    .for_each(|(count, &rows)| *count += i64::from(rows));
            }
            _ => groups.for_each(nulls.as_ref(), |group, _| self.counts[group] += 1),
        }
        Ok(())
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.counts.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        for (count, &group) in same_kind::<Self>(from).counts[first..].iter().zip(map) {
            self.counts[group as usize] += count;
        }
        Ok(())
    }

    fn finish(&self, _data_type: &DataType) -> Result<ArrayRef, StateError> {
        Ok(shared(Int64Array::from(self.counts.to_vec())))
    }
}
