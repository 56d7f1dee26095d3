//! `var_samp` and `stddev_samp`, from exact sums of values and squares.
//!
//! With n values, their sum S and sum of squares Q, the variance is (n·Q − S²) / (n·(n − 1)). The
//! numerator is exact in any order of rows. Numerator, denominator, quotient and square root are
//! each rounded to a double; decimals are divided by one more rounded power of ten. The result is
//! NaN if a value is infinite or NaN.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Float64Array, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, i256};

use super::definition::Definition;
use super::exact_real::{ExactReal, Term};
use super::group_ids::GroupIds;
use super::state::{AggregateState, StateError, same_kind, shared};
use crate::expr::Expr;
use crate::memory::{MemoryExceeded, MemoryPool, Reservation, ReservedVec};

pub(super) struct Variance;

/// Shares the state of `var_samp`.
pub(super) struct StandardDeviation;

impl Definition for Variance {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        Some((argument.summable()?, DataType::Float64))
    }

    fn state_kind(&self) -> &'static str {
        "variance"
    }

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        let scale = match argument {
            Some(DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale)) => *scale,
            _ => 0,
        };
        Box::new(VarianceState {
            groups: ReservedVec::new(pool),
            digits: Reservation::of(pool.cloned()),
            scale,
        })
    }
}

impl Definition for StandardDeviation {
    fn bind(&self, argument: Expr) -> Option<(Expr, DataType)> {
        Variance.bind(argument)
    }

    fn state_kind(&self) -> &'static str {
        Variance.state_kind()
    }

    fn new_state(
        &self,
        argument: Option<&DataType>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Box<dyn AggregateState> {
        Variance.new_state(argument, pool)
    }

    fn finish(
        &self,
        state: &dyn AggregateState,
        _argument: Option<&DataType>,
        _result: &DataType,
    ) -> Result<ArrayRef, StateError> {
        Ok(same_kind::<VarianceState>(state).results(true))
    }
}

#[derive(Debug)]
struct VarianceState {
    groups: ReservedVec<Moments>,
    digits: Reservation,
    scale: i8,
}

#[derive(Clone, Debug, Default)]
struct Moments {
    count: u64,
    sum: ExactReal,
    squares: ExactReal,
    is_nan: bool,
}

trait Number {
    /// The number and its square as sums; `None` if not finite.
    fn terms(self) -> Option<([Term; 1], [Term; 2])>;
}

impl Number for i64 {
    fn terms(self) -> Option<([Term; 1], [Term; 2])> {
        let magnitude = u128::from(self.unsigned_abs());
        let square = Term::new(false, magnitude * magnitude, 0);
        Some(([Term::new(self < 0, magnitude, 0)], [square, Term::ZERO]))
    }
}

impl Number for i128 {
    fn terms(self) -> Option<([Term; 1], [Term; 2])> {
        let term = Term::new(self < 0, self.unsigned_abs(), 0);
        Some(([term], [term.squared(), Term::ZERO]))
    }
}

impl Number for i256 {
    fn terms(self) -> Option<([Term; 1], [Term; 2])> {
        let term = Term::of_bytes(self.is_negative(), self.wrapping_abs().to_le_bytes());
        Some(([term], [term.squared(), Term::ZERO]))
    }
}

impl Number for f64 {
    fn terms(self) -> Option<([Term; 1], [Term; 2])> {
        /// Bits of the fraction, and the offset from the exponent field to its last bit's exponent.
        const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
        const BIAS: i32 = 1_075;
        if !self.is_finite() {
            return None;
        }
        let bits = self.to_bits();
        let fraction = bits & ((1 << FRACTION) - 1);
        let (mantissa, exponent) = match (bits >> FRACTION) as i32 & 0x7ff {
            0 => (fraction, 1 - BIAS),
            field => (fraction | 1 << FRACTION, field - BIAS),
        };
        let square = u128::from(mantissa) * u128::from(mantissa);
        // Aligned to a digit, the whole square would exceed 128 bits.
        let low = Term::new(false, square & u128::from(u64::MAX), 2 * exponent);
        let high = Term::new(false, square >> 64, 2 * exponent + 64);
        Some((
            [Term::new(self < 0.0, u128::from(mantissa), exponent)],
            [low, high],
        ))
    }
}

impl Moments {
    fn add(&mut self, value: impl Number, digits: &mut Reservation) -> Result<(), MemoryExceeded> {
        self.count += 1;
        let Some((number, square)) = value.terms() else {
            self.is_nan = true;
            return Ok(());
        };
        number.iter().try_for_each(|term| self.sum.add(term, digits))?;
        square.iter().try_for_each(|term| self.squares.add(term, digits))
    }

    fn merge(&mut self, other: &Self, digits: &mut Reservation) -> Result<(), MemoryExceeded> {
        self.count += other.count;
        self.is_nan |= other.is_nan;
        self.sum.merge(&other.sum, digits)?;
        self.squares.merge(&other.squares, digits)
    }

    /// Values are in units of `10^-scale`.
    fn variance(&self, scale: i8, is_root: bool) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        if self.is_nan {
            return Some(f64::NAN);
        }
        let numerator = self.squares.magnitude().times(self.count);
        let numerator = numerator.minus(&self.sum.magnitude().squared());
        let (mantissa, exponent) = numerator.double();
        let unit: f64 = format!("1e{}", 2 * i32::from(scale))
            .parse()
            .expect("a power of ten");
        let pairs = u128::from(self.count) * u128::from(self.count - 1);
        let quotient = mantissa / (pairs as f64 * unit);
        Some(match (is_root, exponent.rem_euclid(2)) {
            (false, _) => scaled(quotient, exponent),
            (true, 0) => scaled(quotient.sqrt(), exponent / 2),
            (true, _) => scaled((2.0 * quotient).sqrt(), (exponent - 1) / 2),
        })
    }
}

/// `value · 2^exponent`.
fn scaled(mut value: f64, mut exponent: i32) -> f64 {
    /// Binary exponents per step at most: these powers of two are exact.
    const STEP: i32 = 1_000;
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-STEP, STEP);
        value *= f64::from_bits(((1_023 + step) as u64) << 52);
        exponent -= step;
    }
    value
}

impl VarianceState {
    fn add_all<T: ArrowPrimitiveType<Native: Number>>(
        &mut self,
        values: &PrimitiveArray<T>,
        groups: GroupIds<'_>,
    ) -> Result<(), MemoryExceeded> {
        groups.try_for_each(values.nulls(), |group, row| {
            self.groups[group].add(values.value(row), &mut self.digits)
        })
    }

    fn results(&self, is_root: bool) -> ArrayRef {
        let result = |group: &Moments| group.variance(self.scale, is_root);
        shared(Float64Array::from_iter(self.groups.iter().map(result)))
    }
}

impl AggregateState for VarianceState {
    fn is_exact(&self) -> bool {
        true
    }

    fn resize(&mut self, groups: usize) -> Result<(), MemoryExceeded> {
        self.groups.resize(groups, Moments::default())
    }

    fn update(&mut self, values: Option<&ArrayRef>, groups: GroupIds<'_>) -> Result<(), StateError> {
        let values = values.expect("a variance has an argument");
        match values.data_type() {
            DataType::Decimal128(..) => self.add_all(values.as_primitive::<Decimal128Type>(), groups)?,
            DataType::Decimal256(..) => self.add_all(values.as_primitive::<Decimal256Type>(), groups)?,
            DataType::Float64 => self.add_all(values.as_primitive::<Float64Type>(), groups)?,
            _ => self.add_all(values.as_primitive::<Int64Type>(), groups)?,
        }
        Ok(())
    }

    fn arrange(&mut self, order: &[u32]) -> Result<(), MemoryExceeded> {
        self.groups.arrange_owned(order)
    }

    fn merge(&mut self, from: &dyn AggregateState, first: usize, map: &[u32]) -> Result<(), StateError> {
        for (moments, &group) in same_kind::<Self>(from).groups[first..].iter().zip(map) {
            self.groups[group as usize].merge(moments, &mut self.digits)?;
        }
        Ok(())
    }

    fn finish(&self, _data_type: &DataType) -> Result<ArrayRef, StateError> {
        Ok(self.results(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variance<N: Number + Copy>(values: &[N], scale: i8) -> Option<f64> {
        let mut moments = Moments::default();
        let mut digits = Reservation::none();
        values
            .iter()
            .try_for_each(|&value| moments.add(value, &mut digits))
            .unwrap();
        moments.variance(scale, false)
    }

    #[test]
    fn the_variance_of_one_value_is_null_and_of_equal_values_zero() {
        assert_eq!(variance::<i64>(&[], 0), None);
        assert_eq!(variance(&[7i64], 0), None);
        assert_eq!(variance(&[0.1f64; 1_000], 0), Some(0.0));
        assert_eq!(variance(&[i64::MIN, i64::MIN], 0), Some(0.0));
    }

    #[test]
    fn no_digit_is_lost_beside_large_numbers() {
        assert_eq!(variance(&[1e15 + 1.0, 1e15 + 2.0, 1e15 + 3.0], 0), Some(1.0));
        assert_eq!(variance(&[i64::MAX, i64::MAX - 2], 0), Some(2.0));
        assert_eq!(variance(&[10i128.pow(38) - 1, 10i128.pow(38) - 3], 0), Some(2.0));
        let wide = i256::from_i128(10).wrapping_pow(75);
        assert_eq!(
            variance(&[wide, wide.wrapping_sub(i256::from_i128(2))], 0),
            Some(2.0)
        );
        assert_eq!(variance(&[150i128, 250], 2), Some(0.5));
    }

    #[test]
    fn doubles_of_any_size_have_a_variance() {
        assert_eq!(variance(&[1e200, -1e200], 0), Some(f64::INFINITY));
        let mut moments = Moments::default();
        for value in [1e200, -1e200] {
            moments.add(value, &mut Reservation::none()).unwrap();
        }
        let root = moments.variance(0, true).unwrap();
        assert!((root / (2f64.sqrt() * 1e200) - 1.0).abs() < 1e-15, "{root}");
        let least = f64::from_bits(1);
        assert_eq!(variance(&[least, -least], 0), Some(0.0), "below the least double");
        assert!(variance(&[1.0, f64::INFINITY], 0).unwrap().is_nan());
    }
}
