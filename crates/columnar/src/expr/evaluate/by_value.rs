//! Conditions and conversions of one column that is held as codes: made once for each value, then
//! looked up for each row.

use std::ops::Range;

use arrow::array::{Array as _, BooleanArray};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};

use crate::error::ExecError;
use crate::expr::node::{Expr, Node};
use crate::expr::source::{ColumnSource, Values};
use crate::expr::types::{conversion_can_fail, converted};
use crate::table::{Code, Codes, by_width};

/// Values of a column's codes at most: a byte for each is 16 KiB of a core's cache.
const VALUES_MAX: usize = 16_384;

/// `None` if the condition reads other columns, can fail, or there are too many values.
pub(super) fn answers(condition: &Expr, rows: &dyn ColumnSource) -> Result<Option<BooleanArray>, ExecError> {
    let Some(column) = condition.only_column().filter(|_| !condition.can_fail()) else {
        return Ok(None);
    };
    let Some(codes) = rows.codes(column)? else {
        return Ok(None);
    };
    if codes.values().len() > VALUES_MAX.min(rows.rows()) {
        return Ok(None);
    }
    let answers = condition.evaluate_condition(&Values::of(column, &codes)?)?;
    let nulls = answers.nulls().filter(|nulls| nulls.null_count() > 0);
    let nulls = nulls.map(|nulls| NullBuffer::new(looked_up(&codes, nulls.inner())));
    Ok(Some(BooleanArray::new(
        looked_up(&codes, answers.values()),
        nulls,
    )))
}

/// The rows of a column, or of its conversion, as codes. `None` for other expressions, if the column
/// is not held so, if a value that no row may have cannot be converted, or if there are more values
/// than `values_max` or than rows.
pub(super) fn codes(
    expr: &Expr,
    rows: &dyn ColumnSource,
    values_max: usize,
) -> Result<Option<Codes>, ExecError> {
    let (value, to) = match expr.node() {
        Node::Cast(value) => (value, Some(expr.data_type())),
        _ => (expr, None),
    };
    let Node::Column { index, .. } = *value.node() else {
        return Ok(None);
    };
    if to.is_some_and(|to| conversion_can_fail(value.data_type(), to)) {
        return Ok(None);
    }
    let are_few = |codes: &Codes| codes.values().len() <= values_max.min(rows.rows());
    let Some(codes) = rows.codes(index)?.filter(are_few) else {
        return Ok(None);
    };
    let Some(to) = to else {
        return Ok(Some(codes));
    };
    let values = converted(codes.values(), value.data_type(), to);
    let values = values.map_err(|error| ExecError::of(expr, error))?;
    Ok(Some(codes.with_values(values)))
}

/// The bit of each row's value. The one behind those of the values is for NULL.
fn looked_up(codes: &Codes, bits: &BooleanBuffer) -> BooleanBuffer {
    let (null, rows) = (codes.values().len(), codes.rows());
    let of_values = bits.slice(0, null);
    let bytes = match Run::of(&of_values) {
        Some(run) => by_width!(rows, |codes| run.bits(codes)),
        None => by_width!(rows, |codes| looked_up_in(&of_values, codes)),
    };
    let found = BooleanBuffer::new(Buffer::from(bytes), 0, rows.len());
    match rows.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => found,
        Some(nulls) if bits.value(null) => &found | &!nulls.inner(),
        Some(nulls) => &found & nulls.inner(),
    }
}

/// Codes one behind the other: those whose bit is set, or those whose bit is not.
struct Run {
    codes: Range<u32>,
    is_set: bool,
}

impl Run {
    /// `None` if the bits change more than twice.
    fn of(bits: &BooleanBuffer) -> Option<Self> {
        let of = |bits: &BooleanBuffer| {
            let mut runs = bits.set_slices();
            let (begin, end) = runs.next().unwrap_or_default();
            runs.next().is_none().then_some(begin as u32..end as u32)
        };
        let set = of(bits).map(|codes| Self { codes, is_set: true });
        set.or_else(|| {
            let codes = of(&!bits)?;
            Some(Self { codes, is_set: false })
        })
    }

    /// The bits of the rows that have `codes`, eight in a byte.
    fn bits<C: Code>(&self, codes: &[C]) -> Vec<u8> {
        // There may be more values than codes.
        let end = self.codes.end.min(C::LAST.saturating_add(1));
        let Some(span) = end.checked_sub(self.codes.start + 1) else {
            let none = if self.is_set { 0 } else { u8::MAX };
            return vec![none; codes.len().div_ceil(8)];
        };
        let (begin, span) = (C::cut(self.codes.start), C::cut(span));
        let bit = |code: C| u8::from((code.minus(begin) <= span) == self.is_set);
        let mut bytes = Vec::with_capacity(codes.len().div_ceil(8));
        // A loop of a known length becomes instructions for several rows at once.
        let (whole, rest) = codes.as_chunks::<64>();
        for codes in whole {
            let mut bits = [0; 64];
            for (place, code) in bits.iter_mut().zip(codes) {
                *place = bit(*code);
            }
            let (groups, _) = bits.as_chunks::<8>();
            bytes.extend(groups.iter().map(|bits| packed(*bits)));
        }
        bytes.extend(rest.chunks(8).map(|codes| packed_rest(codes, bit)));
        bytes
    }
}

/// The bits of the rows that have `codes`, eight in a byte.
fn looked_up_in<C: Code>(bits: &BooleanBuffer, codes: &[C]) -> Vec<u8> {
    // The length that the compiler knows spares a check for each row.
    let mut table = [0u8; VALUES_MAX];
    bits.set_indices().for_each(|value| table[value] = 1);
    let bit = |code: C| table[code.into() as usize % VALUES_MAX];
    let mut bytes = Vec::with_capacity(codes.len().div_ceil(8));
    let (whole, rest) = codes.as_chunks::<8>();
    bytes.extend(whole.iter().map(|&[a, b, c, d, e, f, g, h]| {
        packed([bit(a), bit(b), bit(c), bit(d), bit(e), bit(f), bit(g), bit(h)])
    }));
    bytes.extend(rest.chunks(8).map(|codes| packed_rest(codes, bit)));
    bytes
}

/// The bits of less than eight rows.
fn packed_rest<C: Code>(codes: &[C], bit: impl Fn(C) -> u8) -> u8 {
    let mut bits = [0; 8];
    for (place, code) in bits.iter_mut().zip(codes) {
        *place = bit(*code);
    }
    packed(bits)
}

/// Eight bits in the order of the bytes that hold them.
pub(super) fn packed(bits: [u8; 8]) -> u8 {
    // The product's last byte adds each byte's bit at a place of its own, without a carry.
    (u64::from_le_bytes(bits).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, UInt8Array, UInt16Array, UInt32Array};
    use arrow::compute::cast;
    use arrow::datatypes::{DataType, Field};
    use proptest::prelude::*;

    use super::*;
    use crate::expr::Comparison;
    use crate::expr::operand::implicit_cast;

    struct Rows(Codes);

    impl ColumnSource for Rows {
        fn rows(&self) -> usize {
            self.0.rows().len()
        }

        fn column(&self, _index: usize) -> Result<ArrayRef, ExecError> {
            Ok(self.0.decoded().unwrap())
        }

        fn codes(&self, _index: usize) -> Result<Option<Codes>, ExecError> {
            Ok(Some(self.0.clone()))
        }
    }

    struct Decoded<'a>(&'a Rows);

    impl ColumnSource for Decoded<'_> {
        fn rows(&self) -> usize {
            self.0.rows()
        }

        fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
            self.0.column(index)
        }
    }

    #[test]
    fn a_conversion_of_a_column_is_made_for_its_values_if_none_can_fail() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![30, -1, 7]));
        let rows = UInt32Array::from(vec![Some(1), None, Some(0)]);
        let rows = Rows(Codes::try_new(Arc::new(rows), values).unwrap());
        let column = Expr::column(0, &Field::new("n", DataType::Int32, true));
        let of = |expr: &Expr| codes(expr, &rows, 3).unwrap();
        let as_rows = |codes: Option<Codes>| codes.unwrap().decoded().unwrap();
        let wide = implicit_cast(column.clone(), &DataType::Int64).unwrap();
        let expected = Int64Array::from(vec![Some(-1), None, Some(30)]);
        assert_eq!(as_rows(of(&wide)).as_ref(), &expected as &dyn Array);
        assert_eq!(wide.evaluate(&rows).unwrap().as_ref(), &expected as &dyn Array);
        assert_eq!(as_rows(of(&column)).as_ref(), rows.column(0).unwrap().as_ref());
        assert!(codes(&wide, &rows, 2).unwrap().is_none(), "three values");
        let decimal = implicit_cast(column, &DataType::Decimal128(3, 1)).unwrap();
        assert!(of(&decimal).is_none(), "1,000 has more digits");
    }

    #[test]
    fn eight_bytes_are_packed_in_their_order() {
        assert_eq!(packed([1, 0, 1, 1, 0, 0, 0, 1]), 0b1000_1101);
        assert_eq!(packed([1; 8]), u8::MAX);
    }

    #[test]
    fn values_behind_the_last_code_of_its_type_are_those_of_no_row() {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..300));
        let rows: ArrayRef = Arc::new(UInt8Array::from_iter_values((0..=u8::MAX).chain(0..60)));
        let rows = Rows(Codes::try_new(rows, values).unwrap());
        let n = Expr::column(0, &Field::new("n", DataType::Int64, true));
        for bound in [0, 1, 250, 255, 256, 290, 300] {
            let more = Expr::compare(Comparison::GreaterEqual, n.clone(), Expr::int64(bound)).unwrap();
            for condition in [more.clone(), Expr::not(more).unwrap()] {
                let found = answers(&condition, &rows)
                    .unwrap()
                    .expect("300 values in 316 rows");
                assert_eq!(
                    found,
                    condition.evaluate_condition(&Decoded(&rows)).unwrap(),
                    "{bound}"
                );
            }
        }
    }

    #[test]
    fn thousands_of_values_in_no_order_are_looked_up_row_by_row() {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values((0..9_973).map(|n| n * 577 % 9_973)));
        let rows: ArrayRef = Arc::new(UInt16Array::from_iter_values((0..9_973).chain(0..6_000)));
        let rows = Rows(Codes::try_new(rows, values).unwrap());
        let n = Expr::column(0, &Field::new("n", DataType::Int64, true));
        let less = Expr::compare(Comparison::Less, n, Expr::int64(5_000)).unwrap();
        let found = answers(&less, &rows).unwrap().expect("fewer values than rows");
        assert_eq!(found, less.evaluate_condition(&Decoded(&rows)).unwrap());
        assert!(found.true_count() > 0 && found.false_count() > 0);
    }

    proptest! {
        #[test]
        fn answers_are_those_of_the_rows(
            rows in proptest::collection::vec(proptest::option::weighted(0.8, 0u32..5), 5..200),
            bound in 0i64..6,
            of_null: bool,
            width in proptest::sample::select(vec![DataType::UInt8, DataType::UInt16, DataType::UInt32]),
        ) {
            let values: ArrayRef = Arc::new(Int64Array::from(vec![3, 0, 4, 1, 2]));
            let rows = cast(&UInt32Array::from(rows), &width).unwrap();
            let rows = Rows(Codes::try_new(rows, values).unwrap());
            let n = Expr::column(0, &Field::new("n", DataType::Int64, true));
            let less = Expr::compare(Comparison::Less, n.clone(), Expr::int64(bound)).unwrap();
            let condition = match of_null {
                true => Expr::or(less, Expr::is_null(n)).unwrap(),
                false => Expr::not(less).unwrap(),
            };
            let found = answers(&condition, &rows).unwrap().expect("one column of five values");
            prop_assert_eq!(found, condition.evaluate_condition(&Decoded(&rows)).unwrap());
        }
    }
}
