//! `count(*)` and `count(expression)`: rows, and rows where the expression is not NULL.

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::DataType;

use super::groups::GroupIds;
use super::{AggregateState, StateError, arranged, same_kind, shared};

/// Rows, or values that are not NULL, per group.
#[derive(Debug, Default)]
pub(super) struct CountState {
    counts: Vec<i64>,
}

impl AggregateState for CountState {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) {
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
    }

    fn arrange(&mut self, order: &[u32]) {
        self.counts = arranged(&self.counts, order);
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) {
        for (count, &group) in same_kind::<Self>(from).counts[first..].iter().zip(map) {
            self.counts[group as usize] += count;
        }
    }

    fn finish(&self, _data_type: &DataType, _average: bool) -> Result<ArrayRef, StateError> {
        Ok(shared(Int64Array::from(self.counts.clone())))
    }
}
