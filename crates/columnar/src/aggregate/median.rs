//! `median`: the middle value, or the mean of the middle two, as a double.
//!
//! The median of integers and decimals is exact and rounded once; the mean of two doubles is half
//! of their rounded sum. NaN is above every other double, as in ORDER BY.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, i256,
};

use super::definition::Definition;
use super::group_ids::GroupIds;
use super::item_values::ItemValues;
use super::members::Members;
use super::state::{AggregateState, StateError, same_kind, shared};
use crate::expr::{Expr, canonical_floats};
use crate::memory::{MemoryExceeded, MemoryPool};

pub(super) struct Median;

impl Definition for Median {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        Some((argument.summable()?, DataType::Float64))
    }

    fn state_kind(&self) -> &'static str {
        "median"
    }

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        match argument.expect("a median has an argument") {
            DataType::Decimal128(_, scale) => Box::new(MedianState::<Decimal128Type>::new(*scale, pool)),
            DataType::Decimal256(_, scale) => Box::new(MedianState::<Decimal256Type>::new(*scale, pool)),
            DataType::Float64 => Box::new(MedianState::<Float64Type>::new(0, pool)),
            _ => Box::new(MedianState::<Int64Type>::new(0, pool)),
        }
    }
}

trait Middle: Copy {
    fn order(&self, other: &Self) -> Ordering;
    /// The mean of two values in units of `10^-scale`.
    fn mean(self, other: Self, scale: i8) -> f64;
}

impl Middle for i64 {
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn mean(self, other: Self, _scale: i8) -> f64 {
        (i128::from(self) + i128::from(other)) as f64 / 2.0
    }
}

impl Middle for i128 {
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn mean(self, other: Self, scale: i8) -> f64 {
        i256::from_i128(self).mean(i256::from_i128(other), scale)
    }
}

impl Middle for i256 {
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn mean(self, other: Self, scale: i8) -> f64 {
        // The sum of two 76-digit values fits 256 bits. Its text is rounded once.
        let sum = self.wrapping_add(other);
        let sign = if sum.is_negative() { "-" } else { "" };
        let (whole, half) = (sum.wrapping_abs() >> 1, sum.wrapping_abs() & i256::ONE);
        let half = if half == i256::ONE { 5 } else { 0 };
        let text = format!("{sign}{whole}.{half}e{}", -i32::from(scale));
        text.parse().expect("digits are a number")
    }
}

impl Middle for f64 {
    fn order(&self, other: &Self) -> Ordering {
        self.total_cmp(other)
    }

    fn mean(self, other: Self, _scale: i8) -> f64 {
        let sum = self + other;
        if sum.is_infinite() && self.is_finite() && other.is_finite() {
            return self / 2.0 + other / 2.0;
        }
        sum / 2.0
    }
}

#[derive(Debug)]
struct MedianState<T: ArrowPrimitiveType> {
    members: Members,
    values: ItemValues<T::Native>,
    scale: i8,
}

impl<T: ArrowPrimitiveType> MedianState<T> {
    fn new(scale: i8, pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            members: Members::new(pool),
            values: ItemValues::new(pool),
            scale,
        }
    }

    fn add(&mut self, group: usize, value: T::Native) -> Result<(), StateError> {
        self.members.push(group)?;
        Ok(self.values.push(value)?)
    }
}

impl<T: ArrowPrimitiveType<Native: Middle>> AggregateState for MedianState<T> {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.members.resize(groups);
        Ok(())
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = canonical_floats(values.expect("a median has an argument"));
        let values = values.as_primitive::<T>();
        groups.try_for_each(values.nulls(), |group, row| self.add(group, values.value(row)))
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.values.arrange(&mut self.members, order)
    }

    fn kept(&self, first: usize, groups: usize) -> usize {
        self.members.items(first, groups)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        let from: &Self = same_kind(from);
        from.members.of_groups(first, map.len(), |item, group| {
            self.add(map[group] as usize, from.values.get(item))
        })
    }

    fn finish_bytes(&self) -> usize {
        self.members.by_group_bytes() + self.values.len() * size_of::<T::Native>()
    }

    fn finish(&self, _data_type: &DataType) -> Result<ArrayRef, StateError> {
        let (items, starts) = self.members.by_group();
        let mut values = Vec::new();
        let medians = starts.windows(2).map(|pair| {
            values.clear();
            let items = &items[pair[0] as usize..pair[1] as usize];
            values.extend(items.iter().map(|&item| self.values.get(item as usize)));
            median(&mut values, self.scale)
        });
        Ok(shared(Float64Array::from_iter(medians)))
    }
}

fn median<N: Middle>(values: &mut [N], scale: i8) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    let is_even = values.len().is_multiple_of(2);
    let (_, &mut low, above) = values.select_nth_unstable_by(middle, N::order);
    let high = if is_even {
        above.iter().copied().min_by(N::order).unwrap_or(low)
    } else {
        low
    };
    Some(low.mean(high, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_middle_is_exact_and_rounded_once() {
        assert_eq!(median(&mut [3i64, 1, 2], 0), Some(2.0));
        assert_eq!(
            median(&mut [i64::MAX, i64::MAX - 1, 0, i64::MAX], 0),
            Some(i64::MAX as f64)
        );
        assert_eq!(median(&mut [-1i128, 0], 1), Some(-0.05));
        assert_eq!(median(&mut [10i128.pow(38) - 1; 2], 38), Some(1.0));
        assert_eq!(median(&mut [f64::MAX, f64::MAX], 0), Some(f64::MAX));
        assert_eq!(median(&mut [f64::NAN, 1.0, 2.0], 0), Some(2.0));
        assert_eq!(median::<i64>(&mut [], 0), None);
    }
}
