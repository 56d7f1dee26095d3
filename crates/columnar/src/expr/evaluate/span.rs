//! Comparisons of whole numbers with constants, as one test of each row.
//!
//! `low <= n and n <= high` is one comparison of unsigned numbers: `n - low <= high - low`.

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};

use crate::expr::bits::bits_where;
use crate::expr::node::{Comparison, Expr, Node};

/// The numbers for which comparisons of one column with constants are true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) column: usize,
    low: i128,
    high: i128,
}

impl Span {
    /// `None` if `expr` is no comparison of a column of whole numbers, days or decimals with
    /// constants, or no conjunction of such comparisons.
    pub(super) fn of(expr: &Expr) -> Option<Self> {
        match expr.node() {
            Node::And(left, right) => {
                let (left, right) = (Self::of(left)?, Self::of(right)?);
                (left.column == right.column).then(|| Self {
                    column: left.column,
                    low: left.low.max(right.low),
                    high: left.high.min(right.high),
                })
            }
            Node::Compare { op, left, right } => match (left.as_column(), right.as_column()) {
                (Some(column), None) => Self::beside(column, *op, constant(right, left.data_type())?),
                (None, Some(column)) => {
                    Self::beside(column, op.swapped(), constant(left, right.data_type())?)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn beside(column: usize, op: Comparison, constant: i128) -> Option<Self> {
        let (low, high) = match op {
            Comparison::Equal => (constant, constant),
            Comparison::NotEqual => return None,
            Comparison::Less => (i128::MIN, constant.checked_sub(1)?),
            Comparison::LessEqual => (i128::MIN, constant),
            Comparison::Greater => (constant.checked_add(1)?, i128::MAX),
            Comparison::GreaterEqual => (constant, i128::MAX),
        };
        Some(Self { column, low, high })
    }

    /// NULL for NULL. `None` if the values are of another kind.
    pub(super) fn holds(&self, values: &ArrayRef) -> Option<BooleanArray> {
        let data = values.to_data();
        macro_rules! within {
            ($signed:ty, $unsigned:ty) => {{
                let rows = data.len();
                let values = ScalarBuffer::<$signed>::new(data.buffers()[0].clone(), data.offset(), rows);
                let (least, most) = (i128::from(<$signed>::MIN), i128::from(<$signed>::MAX));
                if self.low > self.high || self.high < least || self.low > most {
                    BooleanBuffer::new_unset(rows)
                } else {
                    // Both are in the type's range.
                    let low = self.low.max(least) as $signed;
                    let width = (self.high.min(most) as $signed).wrapping_sub(low) as $unsigned;
                    bits_where(&values, |value| {
                        value.wrapping_sub(low) as $unsigned <= width
                    })
                }
            }};
        }
        let answers = match data.data_type() {
            DataType::Int8 => within!(i8, u8),
            DataType::Int16 => within!(i16, u16),
            DataType::Int32 | DataType::Date32 => within!(i32, u32),
            DataType::Int64 | DataType::Timestamp(..) | DataType::Decimal64(..) => within!(i64, u64),
            DataType::UInt8 => within!(u8, u8),
            DataType::UInt16 => within!(u16, u16),
            DataType::UInt32 => within!(u32, u32),
            DataType::Decimal128(..) => within!(i128, u128),
            _ => return None,
        };
        Some(BooleanArray::new(answers, values.nulls().cloned()))
    }
}

/// A constant of the column's type; `None` for NULL.
fn constant(expr: &Expr, of: &DataType) -> Option<i128> {
    let value = expr.literal_value().filter(|value| value.is_valid(0))?;
    if value.data_type() != of {
        return None;
    }
    let data = value.to_data();
    let (buffer, at) = (&data.buffers().first()?.clone(), data.offset());
    fn first<N: ArrowNativeType>(buffer: &Buffer, at: usize) -> N {
        ScalarBuffer::<N>::new(buffer.clone(), at, 1)[0]
    }
    Some(match of {
        DataType::Int8 => first::<i8>(buffer, at).into(),
        DataType::Int16 => first::<i16>(buffer, at).into(),
        DataType::Int32 | DataType::Date32 => first::<i32>(buffer, at).into(),
        DataType::Int64 | DataType::Timestamp(..) => first::<i64>(buffer, at).into(),
        DataType::UInt8 => first::<u8>(buffer, at).into(),
        DataType::UInt16 => first::<u16>(buffer, at).into(),
        DataType::UInt32 => first::<u32>(buffer, at).into(),
        DataType::Decimal128(..) => first::<i128>(buffer, at),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Date32Array, Decimal64Array, Decimal128Array, Int8Array, Int64Array, UInt32Array};
    use arrow::compute::kernels::cmp;
    use arrow::datatypes::Field;
    use proptest::prelude::*;

    use super::*;

    const OPS: [Comparison; 5] = [
        Comparison::Equal,
        Comparison::Less,
        Comparison::LessEqual,
        Comparison::Greater,
        Comparison::GreaterEqual,
    ];

    fn by_arrow(op: Comparison, values: &ArrayRef, constant: &ArrayRef) -> BooleanArray {
        let constant = arrow::array::Scalar::new(constant.clone());
        let kernel = match op {
            Comparison::Equal => cmp::eq,
            Comparison::Less => cmp::lt,
            Comparison::LessEqual => cmp::lt_eq,
            Comparison::Greater => cmp::gt,
            _ => cmp::gt_eq,
        };
        kernel(values, &constant).unwrap()
    }

    /// Compares with one constant from either side, and with two.
    fn check(values: &ArrayRef, one: ArrayRef, other: ArrayRef) {
        let field = Field::new("n", values.data_type().clone(), true);
        let column = || Expr::column(0, &field);
        let expr =
            |op, constant: &ArrayRef| Expr::compare(op, column(), Expr::literal(constant.clone())).unwrap();
        for op in OPS {
            let expected = by_arrow(op, values, &one);
            let turned = Expr::compare(op.swapped(), Expr::literal(one.clone()), column()).unwrap();
            for comparison in [expr(op, &one), turned] {
                let Some(span) = Span::of(&comparison) else {
                    continue;
                };
                assert_eq!(span.holds(values).unwrap(), expected, "{comparison}");
            }
            for second in OPS {
                let both = Expr::and(expr(op, &one), expr(second, &other)).unwrap();
                let expected = arrow::compute::and(&expected, &by_arrow(second, values, &other)).unwrap();
                if let Some(span) = Span::of(&both) {
                    assert_eq!(span.holds(values).unwrap(), expected, "{both}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_span_holds_where_the_comparisons_do(
            numbers in proptest::collection::vec(proptest::option::of(-3i8..4), 1..200),
            extremes in proptest::collection::vec(any::<i8>(), 0..4),
            one in prop_oneof![-4i8..5, Just(i8::MIN), Just(i8::MAX)],
            other in prop_oneof![-4i8..5, Just(i8::MIN), Just(i8::MAX)],
            skipped in 0usize..5,
        ) {
            let numbers: Vec<Option<i8>> = numbers.into_iter().chain(extremes.into_iter().map(Some)).collect();
            let skipped = skipped.min(numbers.len());
            let wide = |number: i8| match number {
                i8::MIN => i64::MIN,
                i8::MAX => i64::MAX,
                number => i64::from(number),
            };
            let cut = |values: ArrayRef| values.slice(skipped, values.len() - skipped);
            check(&cut(Arc::new(Int8Array::from(numbers.clone()))), Arc::new(Int8Array::from(vec![one])), Arc::new(Int8Array::from(vec![other])));
            let longs = |numbers: &[Option<i8>]| -> ArrayRef {
                Arc::new(numbers.iter().map(|number| number.map(wide)).collect::<Int64Array>())
            };
            check(&cut(longs(&numbers)), longs(&[Some(one)]), longs(&[Some(other)]));
            let days = |numbers: &[Option<i8>]| -> ArrayRef {
                Arc::new(numbers.iter().map(|number| number.map(i32::from)).collect::<Date32Array>())
            };
            check(&cut(days(&numbers)), days(&[Some(one)]), days(&[Some(other)]));
            let counts = |numbers: &[Option<i8>]| -> ArrayRef {
                let counts = numbers.iter().map(|number| number.map(|number| u32::from(number.unsigned_abs())));
                Arc::new(counts.collect::<UInt32Array>())
            };
            check(&cut(counts(&numbers)), counts(&[Some(one)]), counts(&[Some(other)]));
            let prices = |numbers: &[Option<i8>]| -> ArrayRef {
                let prices = numbers.iter().map(|number| number.map(i128::from));
                Arc::new(prices.collect::<Decimal128Array>().with_precision_and_scale(38, 2).unwrap())
            };
            check(&cut(prices(&numbers)), prices(&[Some(one)]), prices(&[Some(other)]));
        }
    }

    #[test]
    fn narrow_decimals_are_compared_with_wide_constants() {
        let field = Field::new("price", DataType::Decimal128(15, 2), true);
        let constant = Decimal128Array::from(vec![150])
            .with_precision_and_scale(15, 2)
            .unwrap();
        let constant = Expr::literal(Arc::new(constant));
        let below = Expr::compare(Comparison::Less, Expr::column(0, &field), constant).unwrap();
        let narrow = Decimal64Array::from(vec![149, 150, i64::MIN]);
        let narrow: ArrayRef = Arc::new(narrow.with_precision_and_scale(15, 2).unwrap());
        let span = Span::of(&below).expect("a comparison with a constant");
        assert_eq!(
            span.holds(&narrow),
            Some(BooleanArray::from(vec![true, false, true]))
        );
    }

    #[test]
    fn other_conditions_are_no_span() {
        let number = |index| Expr::column(index, &Field::new("n", DataType::Int64, true));
        let text = Expr::column(0, &Field::new("t", DataType::Utf8, true));
        let less = |column| Expr::compare(Comparison::Less, column, Expr::int64(7)).unwrap();
        assert!(Span::of(&less(number(0))).is_some());
        for other in [
            Expr::and(less(number(0)), less(number(1))).unwrap(),
            Expr::or(less(number(0)), less(number(0))).unwrap(),
            Expr::not(less(number(0))).unwrap(),
            Expr::compare(Comparison::NotEqual, number(0), Expr::int64(7)).unwrap(),
            Expr::compare(Comparison::Less, number(0), number(1)).unwrap(),
            Expr::compare(Comparison::Less, text, Expr::text("a")).unwrap(),
        ] {
            assert_eq!(Span::of(&other), None, "{other}");
        }
    }
}
