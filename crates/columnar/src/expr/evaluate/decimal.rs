//! Decimals that fit 64 bits, as most prices do. Their products and sums fit 128 bits without a
//! check of each row, and often 64.
//!
//! One pass over a chunk shows how many bits its values take. Beyond 64, arrow's checked kernels
//! compute.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal64Array};
use arrow::compute::{binary, unary};
use arrow::datatypes::{DataType, Decimal64Type, Decimal128Type, DecimalType};
use arrow::error::ArrowError;

use super::value::Value;
use crate::expr::node::Arithmetic;
use crate::narrow::{bits, is_narrow, narrow_type, narrowed};

/// Decimal digits of a shift at most: the shifted 64-bit value has less than 124 bits.
const MAX_SHIFT: u32 = 18;

/// A sum, difference or product of operands that fit 64 bits. It is narrow if it fits as well.
pub(super) fn narrow(
    op: Arithmetic,
    left: &Value,
    right: &Value,
    data_type: &DataType,
) -> Option<Result<ArrayRef, ArrowError>> {
    let DataType::Decimal128(_, scale) = data_type else {
        return None;
    };
    let (a, b) = (Operand::of(left)?, Operand::of(right)?);
    let narrow = narrow_type(*scale);
    Some(match op {
        Arithmetic::Multiply if fits(a.bits() + b.bits()) => {
            combined::<Decimal64Type>(&a, &b, &narrow, |x, y| x * y)
        }
        // Below 2^126, which is less than 10^38.
        Arithmetic::Multiply => {
            combined::<Decimal128Type>(&a, &b, data_type, |x, y| i128::from(x) * i128::from(y))
        }
        Arithmetic::Add | Arithmetic::Subtract => {
            let m = a.shift_to(*scale)?;
            let n = match op {
                Arithmetic::Add => b.shift_to(*scale)?,
                _ => -b.shift_to(*scale)?,
            };
            if fits((a.bits() + bits(&[m])).max(b.bits() + bits(&[n])) + 1) {
                combined::<Decimal64Type>(&a, &b, &narrow, |x, y| x * m + y * n)
            } else {
                combined::<Decimal128Type>(&a, &b, data_type, |x, y| {
                    i128::from(x) * i128::from(m) + i128::from(y) * i128::from(n)
                })
            }
        }
        Arithmetic::Divide | Arithmetic::Remainder => return None,
    })
}

/// Operands of a comparison, with the types of their expressions: both narrow, or both not.
pub(super) fn alike(left: (Value, &DataType), right: (Value, &DataType)) -> (Value, Value) {
    let is_narrow = |side: &(Value, &DataType)| is_narrow(side.0.array().data_type(), side.1);
    if !is_narrow(&left) && !is_narrow(&right) {
        return (left.0, right.0);
    }
    let narrow = |side: &(Value, &DataType)| {
        let is_cheap = is_narrow(side) || side.0.is_constant();
        is_cheap.then(|| Operand::of(&side.0)).flatten()
    };
    match (narrow(&left), narrow(&right)) {
        (Some(left), Some(right)) => (left.into_value(), right.into_value()),
        _ => (left.0.widened(left.1), right.0.widened(right.1)),
    }
}

/// Decimals that fit 64 bits.
struct Operand {
    values: Decimal64Array,
    is_constant: bool,
}

impl Operand {
    /// The kernels handle a constant NULL.
    fn of(value: &Value) -> Option<Self> {
        let array = value.array();
        if value.is_constant() && array.is_null(0) {
            return None;
        }
        let values = match array.as_primitive_opt::<Decimal64Type>() {
            Some(narrow) => narrow.clone(),
            None => narrowed(array.as_primitive_opt()?)?,
        };
        Some(Self {
            values,
            is_constant: value.is_constant(),
        })
    }

    fn bits(&self) -> u32 {
        bits(self.values.values())
    }

    /// The factor that gives values of this scale.
    fn shift_to(&self, scale: i8) -> Option<i64> {
        let digits = u32::try_from(i32::from(scale) - i32::from(self.values.scale())).ok()?;
        (digits <= MAX_SHIFT).then(|| 10i64.pow(digits))
    }

    fn into_value(self) -> Value {
        let scale = self.values.scale();
        let values = Arc::new(self.values.with_data_type(narrow_type(scale)));
        match self.is_constant {
            true => Value::Constant(values),
            false => Value::Rows(values),
        }
    }
}

/// Whether values no further from zero than this power of two have 64 bits.
fn fits(bits: u32) -> bool {
    bits < i64::BITS - 1
}

fn combined<T: DecimalType>(
    a: &Operand,
    b: &Operand,
    data_type: &DataType,
    op: impl Fn(i64, i64) -> T::Native,
) -> Result<ArrayRef, ArrowError> {
    let combined = match (a.is_constant, b.is_constant) {
        (true, false) => {
            let x = a.values.value(0);
            unary::<_, _, T>(&b.values, |y| op(x, y))
        }
        (false, true) => {
            let y = b.values.value(0);
            unary::<_, _, T>(&a.values, |x| op(x, y))
        }
        _ => binary::<_, _, _, T>(&a.values, &b.values, op)?,
    };
    Ok(Arc::new(combined.with_data_type(data_type.clone())))
}

#[cfg(test)]
mod tests {
    use arrow::array::Decimal128Array;
    use arrow::compute::kernels::numeric;
    use proptest::prelude::*;

    use super::*;
    use crate::narrow::widened;

    const OPS: [Arithmetic; 3] = [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply];

    fn rows(values: &[Option<i64>], scale: i8) -> Value {
        let array = Decimal128Array::from_iter(values.iter().map(|value| value.map(i128::from)));
        Value::Rows(Arc::new(array.with_precision_and_scale(20, scale).unwrap()))
    }

    proptest! {
        #[test]
        fn narrow_results_are_those_of_the_checked_kernel(
            pairs in proptest::collection::vec((proptest::option::of(any::<i64>()), proptest::option::of(any::<i64>())), 1..40),
            (p, q) in (0i8..10, 0i8..10),
            constant in any::<bool>(),
        ) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let left = rows(&a, p);
            let right = match rows(&b, q) {
                Value::Rows(array) if constant => Value::Constant(array.slice(0, 1)),
                rows => rows,
            };
            for op in OPS {
                let scale = if op == Arithmetic::Multiply { p + q } else { p.max(q) };
                let data_type = DataType::Decimal128(38, scale);
                let Some(found) = narrow(op, &left, &right, &data_type) else {
                    prop_assert!(constant && b[0].is_none());
                    continue;
                };
                let checked = match op {
                    Arithmetic::Add => numeric::add(&left, &right),
                    Arithmetic::Subtract => numeric::sub(&left, &right),
                    _ => numeric::mul(&left, &right),
                };
                let checked = checked.unwrap().as_primitive::<Decimal128Type>().clone().with_data_type(data_type);
                let found = widened(found.unwrap(), checked.data_type());
                prop_assert_eq!(found.as_primitive::<Decimal128Type>(), &checked);
            }
        }
    }

    #[test]
    fn a_value_of_more_than_64_bits_is_left_to_the_checked_kernel() {
        let wide = Value::Rows(Arc::new(Decimal128Array::from(vec![i128::from(i64::MAX) + 1])));
        let one = rows(&[Some(1)], 0);
        assert!(narrow(Arithmetic::Multiply, &wide, &one, &DataType::Decimal128(38, 0)).is_none());
    }
}
