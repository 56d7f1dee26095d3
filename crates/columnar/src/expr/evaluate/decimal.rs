//! Decimals that fit 64 bits, as most prices do. Their products and sums fit 128 bits without a
//! check of each row.
//!
//! One pass over a chunk shows whether they fit. Otherwise arrow's checked kernels compute.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array};
use arrow::compute::{binary, unary};
use arrow::datatypes::{DataType, Decimal128Type};
use arrow::error::ArrowError;

use super::value::Value;
use crate::expr::node::Arithmetic;

/// Decimal digits of a shift at most: the shifted 64-bit value has less than 124 bits.
const MAX_SHIFT: u32 = 18;

/// For a sum, difference or product of operands that fit 64 bits.
pub(super) fn narrow(
    op: Arithmetic,
    left: &Value,
    right: &Value,
    data_type: &DataType,
) -> Option<Result<ArrayRef, ArrowError>> {
    let DataType::Decimal128(_, scale) = data_type else {
        return None;
    };
    let (a, b) = (operand(left)?, operand(right)?);
    let shift = |operand: &Decimal128Array| {
        let digits = u32::try_from(i32::from(*scale) - i32::from(operand.scale())).ok()?;
        (digits <= MAX_SHIFT).then(|| 10i64.pow(digits))
    };
    let result = match op {
        // Below 2^126, which is less than 10^38.
        Arithmetic::Multiply => combine(left, a, right, b, |x, y| i128::from(x) * i128::from(y)),
        Arithmetic::Add => {
            let (m, n) = (shift(a)?, shift(b)?);
            combine(left, a, right, b, |x, y| {
                i128::from(x) * i128::from(m) + i128::from(y) * i128::from(n)
            })
        }
        Arithmetic::Subtract => {
            let (m, n) = (shift(a)?, shift(b)?);
            combine(left, a, right, b, |x, y| {
                i128::from(x) * i128::from(m) - i128::from(y) * i128::from(n)
            })
        }
        Arithmetic::Divide | Arithmetic::Remainder => return None,
    };
    Some(result.map(|array| Arc::new(array.with_data_type(data_type.clone())) as ArrayRef))
}

/// The kernel handles a constant NULL.
fn operand(value: &Value) -> Option<&Decimal128Array> {
    let array = value.array().as_primitive_opt::<Decimal128Type>()?;
    if value.is_constant() && array.is_null(0) {
        return None;
    }
    // Values beneath NULLs count too; arrow makes them zero.
    let high = array
        .values()
        .iter()
        .fold(0, |high, &value| high | (value ^ i128::from(value as i64)));
    (high == 0).then_some(array)
}

fn combine(
    left: &Value,
    a: &Decimal128Array,
    right: &Value,
    b: &Decimal128Array,
    op: impl Fn(i64, i64) -> i128,
) -> Result<Decimal128Array, ArrowError> {
    type Native = <Decimal128Type as ArrowPrimitiveType>::Native;
    match (left.is_constant(), right.is_constant()) {
        (true, false) => {
            let x = a.value(0) as i64;
            Ok(unary(b, |y: Native| op(x, y as i64)))
        }
        (false, true) => {
            let y = b.value(0) as i64;
            Ok(unary(a, |x: Native| op(x as i64, y)))
        }
        _ => binary(a, b, |x: Native, y: Native| op(x as i64, y as i64)),
    }
}

#[cfg(test)]
mod tests {
    use arrow::compute::kernels::numeric;
    use proptest::prelude::*;

    use super::*;

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
                let found = found.unwrap();
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
