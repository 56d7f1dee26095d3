//! Exact sums of integers and decimals: in 64 bits, or in 192 if needed.
//!
//! ```text
//!   chunk ─► how far its values are from zero ─► can a sum leave 64 bits?
//!                                                   no ─► narrow[group] += value
//!                                                  yes ─► wide[group] += narrow[group], which restarts at zero
//! ```
//!
//! A chunk adds at most the bound of its values times its rows.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal64Type, Decimal128Type, DecimalType, Int64Type,
};

use super::coded_sum::sum_of_codes;
use super::group_ids::GroupIds;
use super::state::{AggregateState, StateError, same_kind, shared};
use super::vectorised::add_all;
use crate::memory::{MemoryExceeded, MemoryPool, ReservedVec};
use crate::narrow;
use crate::table::{Codes, by_width};

trait Exactly: Copy {
    /// The number, if it has 64 bits; otherwise any value.
    fn low(self) -> i64;
    fn whole(self) -> i128;
    /// The bit from which all numbers have only sign bits: 64 if some exceed 64 bits.
    fn bits(numbers: &[Self]) -> u32;
    /// The sum, which wraps, and a bit as of [`bits`](Self::bits) or a higher one.
    fn sum_and_bits(numbers: &[Self]) -> (i64, u32) {
        let sum = numbers.iter().fold(0i64, |sum, n| sum.wrapping_add(n.low()));
        (sum, Self::bits(numbers))
    }
}

/// Bits of numbers that count as small: a hundred million of them have a sum of 64 bits.
const SMALL: u32 = 36;

impl Exactly for i64 {
    #[inline]
    fn low(self) -> i64 {
        self
    }

    #[inline]
    fn whole(self) -> i128 {
        i128::from(self)
    }

    fn bits(numbers: &[Self]) -> u32 {
        narrow::bits(numbers)
    }

    /// Whether all numbers are small is found beside their sum, by an addition for each.
    fn sum_and_bits(numbers: &[Self]) -> (i64, u32) {
        let (sum, all) = numbers.iter().fold((0i64, 0), |(sum, all), &number| {
            (sum.wrapping_add(number), all | number.wrapping_add(1 << SMALL))
        });
        match (all as u64) >> (SMALL + 1) {
            0 => (sum, SMALL),
            _ => (sum, narrow::bits(numbers)),
        }
    }
}

impl Exactly for i128 {
    #[inline]
    fn low(self) -> i64 {
        self as i64
    }

    #[inline]
    fn whole(self) -> i128 {
        self
    }

    fn bits(numbers: &[Self]) -> u32 {
        let folded = numbers
            .iter()
            .fold(0, |all, &number| all | (number ^ number >> 127));
        (i128::BITS - folded.leading_zeros()).min(i64::BITS)
    }
}

/// Values that rows are looked up in at most: 8 KiB of a core's first cache.
const VALUES_MAX: usize = 1_024;

#[derive(Debug)]
pub(super) struct ExactSum<T: ArrowPrimitiveType> {
    narrow: ReservedVec<i64>,
    /// The greatest magnitude of a narrow sum.
    bound: u64,
    /// Empty until a sum might exceed 64 bits; then each sum is narrow plus wide.
    wide: ReservedVec<Wide>,
    counts: ReservedVec<u64>,
    scale: i8,
    argument: PhantomData<fn(T)>,
}

impl<T: ArrowPrimitiveType> ExactSum<T> {
    pub(super) fn new(scale: i8, pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            narrow: ReservedVec::new(pool),
            bound: 0,
            wide: ReservedVec::new(pool),
            counts: ReservedVec::new(pool),
            scale,
            argument: PhantomData,
        }
    }

    /// Moves to wide sums if necessary. False if narrow ones cannot take `more`.
    fn make_room(&mut self, more: Option<u64>) -> Result<bool, MemoryExceeded> {
        let fits = |bound: u64| {
            let sum = bound.checked_add(more?)?;
            (sum <= i64::MAX as u64).then_some(sum)
        };
        let room = match fits(self.bound) {
            Some(sum) => Some(sum),
            None => {
                self.widen()?;
                fits(0)
            }
        };
        self.bound = room.unwrap_or(0);
        Ok(room.is_some())
    }

    fn widen(&mut self) -> Result<(), MemoryExceeded> {
        if self.bound == 0 && self.wide.len() == self.narrow.len() {
            return Ok(());
        }
        self.wide.resize(self.narrow.len(), Wide::default())?;
        for (wide, narrow) in self.wide.iter_mut().zip(self.narrow.iter_mut()) {
            wide.add(i128::from(std::mem::take(narrow)));
        }
        self.bound = 0;
        Ok(())
    }

    fn add<N: Exactly>(
        &mut self,
        numbers: &[N],
        nulls: Option<&NullBuffer>,
        groups: GroupIds<'_>,
    ) -> Result<(), MemoryExceeded> {
        let (sum, bits) = match (groups, nulls) {
            (GroupIds::Single { .. }, None) => Exactly::sum_and_bits(numbers),
            // Values behind NULLs can only raise the bound.
            _ => (0, Exactly::bits(numbers)),
        };
        let is_narrow = self.make_room(bound(bits, numbers.len()))?;
        match (groups, nulls) {
            (GroupIds::Single { rows }, None) if is_narrow => {
                self.narrow[0] += sum;
                self.counts[0] += rows as u64;
            }
            (GroupIds::PerRow { groups, counts }, None) if is_narrow => {
                add_all(&mut self.narrow, groups, numbers, |number| number.low());
                match counts {
                    Some(counts) => self
                        .counts
                        .iter_mut()
                        .zip(counts)
                        .for_each(|(count, &rows)| *count += u64::from(rows)),
                    None => groups.iter().for_each(|&group| self.counts[group as usize] += 1),
                }
            }
            (groups, nulls) if is_narrow => groups.for_each(nulls, |group, row| {
                self.narrow[group] += numbers[row].low();
                self.counts[group] += 1;
            }),
            (groups, nulls) => groups.for_each(nulls, |group, row| {
                self.wide[group].add(numbers[row].whole());
                self.counts[group] += 1;
            }),
        }
        Ok(())
    }

    /// False if there are NULLs, many values, or sums that exceed 64 bits.
    fn add_by_codes<N: Exactly>(&mut self, values: &[N], rows: &ArrayRef) -> Result<bool, MemoryExceeded> {
        if values.len() > VALUES_MAX || rows.null_count() > 0 {
            return Ok(false);
        }
        if !self.make_room(bound(Exactly::bits(values), rows.len()))? {
            return Ok(false);
        }
        let mut table = [0i64; VALUES_MAX];
        table
            .iter_mut()
            .zip(values)
            .for_each(|(place, value)| *place = value.low());
        self.narrow[0] += by_width!(rows, |codes| sum_of_codes(codes, values.len(), &table));
        self.counts[0] += rows.len() as u64;
        Ok(true)
    }

    fn sum(&self, group: usize) -> Wide {
        let mut sum = self.wide.get(group).copied().unwrap_or_default();
        sum.add(i128::from(self.narrow[group]));
        sum
    }

    fn sums(&self) -> impl Iterator<Item = Wide> {
        (0..self.narrow.len()).map(|group| self.sum(group))
    }

    /// In units of `10^-scale`.
    pub(super) fn doubles(&self) -> impl Iterator<Item = f64> {
        self.sums().map(|sum| sum.double())
    }

    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }

    pub(super) fn scale(&self) -> i8 {
        self.scale
    }
}

impl<T: ArrowPrimitiveType<Native: Exactly>> AggregateState for ExactSum<T>
where
    Self: FinishSums,
{
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.narrow.resize(groups, 0)?;
        if !self.wide.is_empty() {
            self.wide.resize(groups, Wide::default())?;
        }
        self.counts.resize(groups, 0)
    }

    fn takes_narrow(&self) -> bool {
        true
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = values.expect("a sum has an argument");
        let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(match values.as_primitive_opt::<Decimal64Type>() {
            Some(narrow) => self.add(narrow.values(), nulls, groups),
            None => self.add::<T::Native>(values.as_primitive::<T>().values(), nulls, groups),
        }?)
    }

    fn codes_max(&self) -> usize {
        VALUES_MAX
    }

    fn update_by_codes(&mut self, codes: &Codes) -> Result<bool, StateError> {
        let values = codes.values();
        Ok(match values.as_primitive_opt::<Decimal64Type>() {
            Some(narrow) => self.add_by_codes(narrow.values(), codes.rows()),
            None => self.add_by_codes::<T::Native>(values.as_primitive::<T>().values(), codes.rows()),
        }?)
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.narrow.arrange(order)?;
        if !self.wide.is_empty() {
            self.wide.arrange(order)?;
        }
        self.counts.arrange(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        let from: &Self = same_kind(from);
        let more = from.wide.is_empty().then_some(from.bound);
        if self.make_room(more)? {
            for (&sum, &group) in from.narrow[first..].iter().zip(map) {
                self.narrow[group as usize] += sum;
            }
        } else {
            for (at, &group) in map.iter().enumerate() {
                self.wide[group as usize].merge(from.sum(first + at));
            }
        }
        for (&count, &group) in from.counts[first..].iter().zip(map) {
            self.counts[group as usize] += count;
        }
        Ok(())
    }

    fn finish(&self, data_type: &DataType) -> Result<ArrayRef, StateError> {
        let nulls = NullBuffer::from_iter(self.counts.iter().map(|&count| count > 0));
        self.finish_sums(nulls, data_type)
    }
}

/// How far from zero the sum of numbers below a bit may be, if 64 bits hold it.
fn bound(bits: u32, numbers: usize) -> Option<u64> {
    1u64.checked_shl(bits)?.checked_mul(numbers as u64)
}

trait FinishSums {
    fn finish_sums(&self, nulls: NullBuffer, data_type: &DataType) -> Result<ArrayRef, StateError>;
}

impl FinishSums for ExactSum<Int64Type> {
    fn finish_sums(&self, nulls: NullBuffer, _: &DataType) -> Result<ArrayRef, StateError> {
        let sums = if self.wide.is_empty() {
            self.narrow.to_vec()
        } else {
            let fit = |sum: Wide| sum.value().and_then(|value| i64::try_from(value).ok());
            let sums: Option<Vec<i64>> = self.sums().map(fit).collect();
            sums.ok_or(StateError::Overflow)?
        };
        Ok(shared(Int64Array::new(sums.into(), Some(nulls))))
    }
}

impl FinishSums for ExactSum<Decimal128Type> {
    fn finish_sums(&self, nulls: NullBuffer, data_type: &DataType) -> Result<ArrayRef, StateError> {
        let fits =
            |value: &i128| Decimal128Type::is_valid_decimal_precision(*value, DECIMAL128_MAX_PRECISION);
        let sums: Option<Vec<i128>> = self.sums().map(|sum| sum.value().filter(fits)).collect();
        let sums = Decimal128Array::new(sums.ok_or(StateError::Overflow)?.into(), Some(nulls));
        Ok(shared(sums.with_data_type(data_type.clone())))
    }
}

/// A sum in 192 bits: `low + carry * 2^128`.
#[derive(Clone, Copy, Debug, Default)]
struct Wide {
    low: i128,
    carry: i64,
}

impl Wide {
    #[inline]
    fn add(&mut self, value: i128) {
        let (low, left_the_range) = self.low.overflowing_add(value);
        self.low = low;
        if left_the_range {
            self.carry += if value > 0 { 1 } else { -1 };
        }
    }

    fn merge(&mut self, other: Self) {
        self.add(other.low);
        self.carry += other.carry;
    }

    fn value(self) -> Option<i128> {
        (self.carry == 0).then_some(self.low)
    }

    fn double(self) -> f64 {
        self.low as f64 + self.carry as f64 * 2f64.powi(128)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::UInt32Array;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bits_are_those_that_differ_from_the_sign() {
        assert_eq!(i64::bits(&[]), 0);
        assert_eq!(i64::bits(&[0, -1]), 0);
        assert_eq!(i64::bits(&[1, -2]), 1);
        assert_eq!(i64::bits(&[i64::MIN]), 63);
        assert_eq!(i128::bits(&[255, -256]), 8);
        assert_eq!(i128::bits(&[1 << 64]), 64);
    }

    #[test]
    fn numbers_are_small_up_to_a_power_of_two_on_both_sides_of_zero() {
        let end = 1i64 << SMALL;
        let of = |numbers: &[i64]| Exactly::sum_and_bits(numbers);
        assert_eq!(of(&[]), (0, SMALL));
        assert_eq!(of(&[end - 1, -end]), (-1, SMALL));
        assert_eq!(of(&[1, end]), (end + 1, SMALL + 1));
        assert_eq!(of(&[1, -end - 1]), (-end, SMALL + 1));
        assert_eq!(of(&[i64::MAX, 1]), (i64::MIN, 63));
    }

    #[test]
    fn rows_are_added_by_their_codes_unless_one_is_null_or_values_are_many_or_large() {
        let mut sum = ExactSum::<Int64Type>::new(0, None);
        sum.resize(1).unwrap();
        let mut add = |rows: Vec<Option<u32>>, values: Vec<i64>| {
            let values: ArrayRef = Arc::new(Int64Array::from(values));
            let codes = Codes::try_new(Arc::new(UInt32Array::from(rows)), values).unwrap();
            let is_added = sum.update_by_codes(&codes).unwrap();
            (is_added, sum.sum(0).value().unwrap(), sum.counts[0])
        };
        let some = |codes: [u32; 3]| codes.map(Some).to_vec();
        assert_eq!(add(some([1, 0, 1]), vec![-5, 7]), (true, 9, 3));
        assert_eq!(add(vec![Some(1), None], vec![-5, 7]), (false, 9, 3));
        let many: Vec<i64> = (0..=VALUES_MAX as i64).collect();
        assert_eq!(add(some([1, 2, 3]), many.clone()), (false, 9, 3));
        assert_eq!(
            add(some([VALUES_MAX as u32 - 1; 3]), many[..VALUES_MAX].to_vec()),
            (true, 9 + 3 * 1_023, 6)
        );
        assert_eq!(add(some([0; 3]), vec![i64::MAX]), (false, 9 + 3 * 1_023, 6));
    }

    proptest! {
        #[test]
        fn sums_are_those_of_a_plain_loop(
            slots in proptest::collection::vec(
                proptest::collection::vec(
                    (0u32..200, prop_oneof![4 => -1_000i64..1_000, 1 => -(2i64 << SMALL)..2 << SMALL, 1 => any::<i64>()], proptest::bool::weighted(0.9)),
                    0..60,
                ),
                1..8,
            ),
            groups in prop_oneof![Just(1u32), Just(5), Just(64), Just(200)],
            has_nulls: bool,
        ) {
            let mut expected = vec![(0i128, 0u64); groups as usize];
            let mut merged = ExactSum::<Int64Type>::new(0, None);
            merged.resize(groups as usize).unwrap();
            let map: Vec<u32> = (0..groups).collect();
            for (number, rows) in slots.iter().enumerate() {
                let values = rows.iter().map(|&(_, value, valid)| (valid || !has_nulls).then_some(value));
                let values: ArrayRef = Arc::new(Int64Array::from_iter(values));
                let of_row: Vec<u32> = rows.iter().map(|row| row.0 % groups).collect();
                for (row, &group) in of_row.iter().enumerate() {
                    if values.is_valid(row) {
                        expected[group as usize].0 += i128::from(rows[row].1);
                        expected[group as usize].1 += 1;
                    }
                }
                let ids = match groups {
                    1 => GroupIds::Single { rows: rows.len() },
                    _ => GroupIds::PerRow { groups: &of_row, counts: None },
                };
                if number % 2 == 0 {
                    merged.update(Some(&values), ids).unwrap();
                } else {
                    let mut slot = ExactSum::<Int64Type>::new(0, None);
                    slot.resize(groups as usize).unwrap();
                    slot.update(Some(&values), ids).unwrap();
                    merged.merge(&slot, 0, &map).unwrap();
                }
            }
            for (group, &(sum, count)) in expected.iter().enumerate() {
                prop_assert_eq!(merged.sum(group).value(), Some(sum));
                prop_assert_eq!(merged.counts[group], count);
            }
        }
    }
}
