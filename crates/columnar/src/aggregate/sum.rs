//! `sum`: exact for integers and decimals, in fixed order for floats.
//!
//! A sum of integers or decimals overflows only by its value, in any order of rows. Sums of 64-bit
//! integers and 128-bit decimals are in [`super::exact_sum`], those of doubles and 256-bit decimals
//! here.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal256Array, Float64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type,
    Decimal256Type, DecimalType, Float64Type, Int64Type, i256,
};

use super::definition::Definition;
use super::exact_sum::ExactSum;
use super::group_ids::GroupIds;
use super::state::{AggregateState, StateError, same_kind, shared};
use crate::expr::Expr;
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};

pub(super) struct Sum;

impl Definition for Sum {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        let argument = argument.summable()?;
        let sum = match argument.data_type() {
            DataType::Decimal128(_, scale) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale),
            DataType::Decimal256(_, scale) => DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale),
            DataType::Float64 => DataType::Float64,
            _ => DataType::Int64,
        };
        Some((argument, sum))
    }

    fn state_kind(&self) -> &'static str {
        "sum"
    }

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        match argument.expect("a sum has an argument") {
            DataType::Decimal128(_, scale) => Box::new(ExactSum::<Decimal128Type>::new(*scale, pool)),
            DataType::Decimal256(_, scale) => Box::new(SumState::<Decimal256Type, Wide>::new(*scale, pool)),
            DataType::Float64 => Box::new(SumState::<Float64Type, f64>::new(0, pool)),
            _ => Box::new(ExactSum::<Int64Type>::new(0, pool)),
        }
    }
}

/// Sums as doubles, in units of `10^-scale`, and their counts of values.
pub(super) trait Sums {
    fn doubles(&self) -> Vec<f64>;
    fn counts(&self) -> &[u64];
    fn scale(&self) -> i8;
}

pub(super) fn sums<'s>(state: &'s dyn AggregateState, argument: &DataType) -> &'s dyn Sums {
    match argument {
        DataType::Decimal128(..) => same_kind::<ExactSum<Decimal128Type>>(state),
        DataType::Decimal256(..) => same_kind::<SumState<Decimal256Type, Wide>>(state),
        DataType::Float64 => same_kind::<SumState<Float64Type, f64>>(state),
        _ => same_kind::<ExactSum<Int64Type>>(state),
    }
}

trait Total<N>: Copy + Debug + Default + Send + Sync + 'static {
    const IS_EXACT: bool;

    fn add(&mut self, value: N);
    fn merge(&mut self, other: Self);
    /// The sum as a double, before the decimal point is set.
    fn to_double(self) -> f64;
    fn to_array(totals: &[Self], nulls: NullBuffer, data_type: &DataType) -> Result<ArrayRef, StateError>;
}

#[derive(Debug)]
struct SumState<T: ArrowPrimitiveType, S: Total<T::Native>> {
    totals: ReservedVec<S>,
    counts: ReservedVec<u64>,
    scale: i8,
    argument: std::marker::PhantomData<fn(T)>,
}

impl<T: ArrowPrimitiveType, S: Total<T::Native>> SumState<T, S> {
    fn new(scale: i8, pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            totals: ReservedVec::new(pool),
            counts: ReservedVec::new(pool),
            scale,
            argument: std::marker::PhantomData,
        }
    }
}

impl<T: ArrowPrimitiveType, S: Total<T::Native>> AggregateState for SumState<T, S> {
    fn is_exact(&self) -> bool {
        S::IS_EXACT
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.totals.resize(groups, S::default())?;
        self.counts.resize(groups, 0)
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = values.expect("a sum has an argument").as_primitive::<T>();
        let numbers = values.values();
        match (groups, values.nulls()) {
            (GroupIds::Single { rows }, None) => {
                let mut total = self.totals[0];
                for &value in numbers {
                    total.add(value);
                }
                self.totals[0] = total;
                self.counts[0] += rows as u64;
            }
            (
                GroupIds::PerRow {
                    groups,
                    counts: Some(counts),
                },
                None,
            ) => {
                for (&group, &value) in groups.iter().zip(numbers) {
                    self.totals[group as usize].add(value);
                }
                self.counts
                    .iter_mut()
                    .zip(counts)
                    .for_each(|(count, &rows)| *count += u64::from(rows));
            }
            (groups, nulls) => groups.for_each(nulls, |group, row| {
                self.totals[group].add(numbers[row]);
                self.counts[group] += 1;
            }),
        }
        Ok(())
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.totals.arrange(order)?;
        self.counts.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        let from: &Self = same_kind(from);
        let groups = from.totals[first..].iter().zip(&from.counts[first..]);
        for ((&total, &count), &group) in groups.zip(map) {
            self.totals[group as usize].merge(total);
            self.counts[group as usize] += count;
        }
        Ok(())
    }

    fn finish(&self, data_type: &DataType) -> Result<ArrayRef, StateError> {
        let nulls = NullBuffer::from_iter(self.counts.iter().map(|&count| count > 0));
        S::to_array(&self.totals, nulls, data_type)
    }
}

impl<T: ArrowPrimitiveType, S: Total<T::Native>> Sums for SumState<T, S> {
    fn doubles(&self) -> Vec<f64> {
        self.totals.iter().map(|total| total.to_double()).collect()
    }

    fn counts(&self) -> &[u64] {
        &self.counts
    }

    fn scale(&self) -> i8 {
        self.scale
    }
}

impl<T: ArrowPrimitiveType> Sums for ExactSum<T> {
    fn doubles(&self) -> Vec<f64> {
        self.doubles().collect()
    }

    fn counts(&self) -> &[u64] {
        self.counts()
    }

    fn scale(&self) -> i8 {
        self.scale()
    }
}

/// A sum in 320 bits: `low + carry * 2^256`. Six of the largest decimals exceed 256 bits; their
/// average does not.
#[derive(Clone, Copy, Debug, Default)]
struct Wide {
    low: i256,
    carry: i64,
}

impl Total<i256> for Wide {
    const IS_EXACT: bool = true;

    fn add(&mut self, value: i256) {
        match self.low.checked_add(value) {
            Some(sum) => self.low = sum,
            None => {
                self.low = self.low.wrapping_add(value);
                self.carry += if value.is_negative() { -1 } else { 1 };
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.add(other.low);
        self.carry += other.carry;
    }

    fn to_double(self) -> f64 {
        // Arrow's own conversion cuts the bits past 128.
        let low = self.low.to_string().parse().unwrap_or(f64::NAN);
        low + self.carry as f64 * 2f64.powi(256)
    }

    fn to_array(totals: &[Self], nulls: NullBuffer, data_type: &DataType) -> Result<ArrayRef, StateError> {
        let fits = |value: i256| Decimal256Type::is_valid_decimal_precision(value, DECIMAL256_MAX_PRECISION);
        if totals.iter().any(|total| total.carry != 0 || !fits(total.low)) {
            return Err(StateError::Overflow);
        }
        let sums: Vec<i256> = totals.iter().map(|total| total.low).collect();
        Ok(shared(
            Decimal256Array::new(sums.into(), Some(nulls)).with_data_type(data_type.clone()),
        ))
    }
}

impl Total<f64> for f64 {
    const IS_EXACT: bool = false;

    fn add(&mut self, value: f64) {
        *self += value;
    }

    fn merge(&mut self, other: Self) {
        *self += other;
    }

    fn to_double(self) -> f64 {
        self
    }

    fn to_array(totals: &[Self], nulls: NullBuffer, _: &DataType) -> Result<ArrayRef, StateError> {
        Ok(shared(Float64Array::new(totals.to_vec().into(), Some(nulls))))
    }
}
