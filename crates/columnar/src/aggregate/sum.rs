//! `sum` and `avg`: exact for integers and decimals, in fixed order for floats.
//!
//! A sum of 64-bit integers or 128-bit decimals is kept as a 128-bit value and a count of how often it left that range,
//! which is the sum in 192 bits. So the order of the rows never decides whether a sum overflows; only its value does.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type,
    Decimal256Type, DecimalType, Float64Type, Int64Type, i256,
};

use super::groups::GroupIds;
use super::{AggregateState, StateError, same_kind, shared};
use crate::charged::ChargedVec;
use crate::quota::{Quota, QuotaExceeded};

/// The type of a sum of values of `argument`: `Int64`, a decimal, or `Float64`.
pub(super) fn sum_type(argument: &DataType) -> DataType {
    match argument {
        DataType::Decimal128(_, scale) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale),
        DataType::Decimal256(_, scale) => DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale),
        DataType::Float64 => DataType::Float64,
        _ => DataType::Int64,
    }
}

pub(super) fn new_state(argument: &DataType, quota: Option<&Arc<Quota>>) -> Box<dyn AggregateState> {
    let scale = match argument {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    match argument {
        DataType::Decimal128(..) => Box::new(SumState::<Decimal128Type, Exact>::new(scale, quota)),
        DataType::Decimal256(..) => Box::new(SumState::<Decimal256Type, Wide>::new(scale, quota)),
        DataType::Float64 => Box::new(SumState::<Float64Type, f64>::new(scale, quota)),
        _ => Box::new(SumState::<Int64Type, Exact>::new(scale, quota)),
    }
}

/// A sum of some values.
trait Total<N>: Copy + Debug + Default + Send + Sync + 'static {
    /// Whether the order of additions can never be seen.
    const IS_EXACT: bool;

    fn add(&mut self, value: N);
    fn merge(&mut self, other: Self);
    /// The sum as a double, the decimal point not yet set.
    fn to_double(self) -> f64;
    /// The sums as an array of `data_type`.
    fn to_array(totals: &[Self], nulls: NullBuffer, data_type: &DataType) -> Result<ArrayRef, StateError>;
}

#[derive(Debug)]
struct SumState<T: ArrowPrimitiveType, S: Total<T::Native>> {
    totals: ChargedVec<S>,
    /// Values that are not NULL.
    counts: ChargedVec<u64>,
    scale: i8,
    argument: std::marker::PhantomData<fn(T)>,
}

impl<T: ArrowPrimitiveType, S: Total<T::Native>> SumState<T, S> {
    fn new(scale: i8, quota: Option<&Arc<Quota>>) -> Self {
        Self {
            totals: ChargedVec::new(quota),
            counts: ChargedVec::new(quota),
            scale,
            argument: std::marker::PhantomData,
        }
    }
}

impl<T: ArrowPrimitiveType, S: Total<T::Native>> AggregateState for SumState<T, S> {
    fn is_exact(&self) -> bool {
        S::IS_EXACT
    }

    fn resize(&mut self, groups: usize) -> Result<(), QuotaExceeded> {
        self.totals.resize(groups, S::default())?;
        self.counts.resize(groups, 0)
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), QuotaExceeded> {
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

    fn arrange(&mut self, order: &[u32]) -> Result<(), QuotaExceeded> {
        self.totals.arrange(order)?;
        self.counts.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), QuotaExceeded> {
        let from: &Self = same_kind(from);
        let groups = from.totals[first..].iter().zip(&from.counts[first..]);
        for ((&total, &count), &group) in groups.zip(map) {
            self.totals[group as usize].merge(total);
            self.counts[group as usize] += count;
        }
        Ok(())
    }

    fn finish(&self, data_type: &DataType, average: bool) -> Result<ArrayRef, StateError> {
        if average {
            let unit = 10f64.powi(i32::from(self.scale));
            let average =
                |(&total, &count): (&S, &u64)| (count > 0).then(|| total.to_double() / (count as f64 * unit));
            return Ok(shared(Float64Array::from_iter(
                self.totals.iter().zip(self.counts.iter()).map(average),
            )));
        }
        let nulls = NullBuffer::from_iter(self.counts.iter().map(|&count| count > 0));
        S::to_array(&self.totals, nulls, data_type)
    }
}

/// A sum in 192 bits: `low + carry * 2^128`.
#[derive(Clone, Copy, Debug, Default)]
struct Exact {
    low: i128,
    carry: i64,
}

impl Exact {
    #[inline]
    fn add_low(&mut self, value: i128) {
        let (low, left_the_range) = self.low.overflowing_add(value);
        self.low = low;
        if left_the_range {
            self.carry += if value > 0 { 1 } else { -1 };
        }
    }

    /// The sum, if it is in the range of 128 bits.
    fn value(self) -> Option<i128> {
        (self.carry == 0).then_some(self.low)
    }

    fn merge_exact(&mut self, other: Self) {
        self.add_low(other.low);
        self.carry += other.carry;
    }

    fn double(self) -> f64 {
        self.low as f64 + self.carry as f64 * 2f64.powi(128)
    }
}

impl Total<i64> for Exact {
    const IS_EXACT: bool = true;

    #[inline]
    fn add(&mut self, value: i64) {
        self.add_low(i128::from(value));
    }

    fn merge(&mut self, other: Self) {
        self.merge_exact(other);
    }

    fn to_double(self) -> f64 {
        self.double()
    }

    fn to_array(totals: &[Self], nulls: NullBuffer, _: &DataType) -> Result<ArrayRef, StateError> {
        let fit = |total: &Self| total.value().and_then(|value| i64::try_from(value).ok());
        let sums: Option<Vec<i64>> = totals.iter().map(fit).collect();
        Ok(shared(Int64Array::new(
            sums.ok_or(StateError::Overflow)?.into(),
            Some(nulls),
        )))
    }
}

impl Total<i128> for Exact {
    const IS_EXACT: bool = true;

    #[inline]
    fn add(&mut self, value: i128) {
        self.add_low(value);
    }

    fn merge(&mut self, other: Self) {
        self.merge_exact(other);
    }

    fn to_double(self) -> f64 {
        self.double()
    }

    fn to_array(totals: &[Self], nulls: NullBuffer, data_type: &DataType) -> Result<ArrayRef, StateError> {
        let fits =
            |value: &i128| Decimal128Type::is_valid_decimal_precision(*value, DECIMAL128_MAX_PRECISION);
        let sums: Option<Vec<i128>> = totals.iter().map(|total| total.value().filter(fits)).collect();
        let sums = Decimal128Array::new(sums.ok_or(StateError::Overflow)?.into(), Some(nulls));
        Ok(shared(sums.with_data_type(data_type.clone())))
    }
}

/// A sum in 256 bits, and whether it left them.
#[derive(Clone, Copy, Debug, Default)]
struct Wide {
    value: i256,
    overflowed: bool,
}

impl Total<i256> for Wide {
    /// Whether a sum leaves 256 bits on the way depends on the way.
    const IS_EXACT: bool = false;

    fn add(&mut self, value: i256) {
        match self.value.checked_add(value) {
            Some(sum) => self.value = sum,
            None => self.overflowed = true,
        }
    }

    fn merge(&mut self, other: Self) {
        self.add(other.value);
        self.overflowed |= other.overflowed;
    }

    fn to_double(self) -> f64 {
        self.value.to_string().parse().unwrap_or(f64::NAN)
    }

    fn to_array(totals: &[Self], nulls: NullBuffer, data_type: &DataType) -> Result<ArrayRef, StateError> {
        let fits = |value: i256| Decimal256Type::is_valid_decimal_precision(value, DECIMAL256_MAX_PRECISION);
        if totals.iter().any(|total| total.overflowed || !fits(total.value)) {
            return Err(StateError::Overflow);
        }
        let sums: Vec<i256> = totals.iter().map(|total| total.value).collect();
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
