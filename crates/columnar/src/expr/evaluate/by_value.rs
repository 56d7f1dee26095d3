//! Conditions and conversions of one column that is held as codes: made once for each value, then
//! looked up for each row.

use arrow::array::BooleanArray;

use crate::error::ExecError;
use crate::expr::answers::{Answers, VALUES_MAX};
use crate::expr::node::{Expr, Node};
use crate::expr::source::{ColumnSource, Values};
use crate::expr::types::{conversion_can_fail, converted};
use crate::table::Codes;

/// `None` if the condition reads other columns, can fail, or there are too many values.
pub(super) fn answers(condition: &Expr, rows: &dyn ColumnSource) -> Result<Option<BooleanArray>, ExecError> {
    let Some(column) = condition.only_column().filter(|_| !condition.can_fail()) else {
        return Ok(None);
    };
    let Some(codes) = rows.codes(column)? else {
        return Ok(None);
    };
    let kept = rows.answered();
    if let Some(answers) = kept.and_then(|kept| kept.find(condition, &codes)) {
        return Ok(Some(answers.of_rows(&codes)));
    }
    if codes.values().len() > VALUES_MAX.min(rows.rows()) {
        return Ok(None);
    }
    let answers = condition.evaluate_condition(&Values::of(column, &codes)?)?;
    let answers = Answers::new(&answers, &codes);
    let found = answers.of_rows(&codes);
    if let Some(kept) = kept {
        kept.keep(condition, answers);
    }
    Ok(Some(found))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, UInt8Array, UInt16Array, UInt32Array};
    use arrow::compute::cast;
    use arrow::datatypes::{DataType, Field};
    use proptest::prelude::*;

    use super::*;
    use crate::expr::operand::implicit_cast;
    use crate::expr::{Answered, Comparison};

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

    struct Chunk<'a>(Rows, &'a Answered);

    impl ColumnSource for Chunk<'_> {
        fn rows(&self) -> usize {
            self.0.rows()
        }

        fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
            self.0.column(index)
        }

        fn codes(&self, index: usize) -> Result<Option<Codes>, ExecError> {
            self.0.codes(index)
        }

        fn answered(&self) -> Option<&Answered> {
            Some(self.1)
        }
    }

    #[test]
    fn answers_are_kept_for_the_same_condition_and_values_and_for_null_if_there_was_one() {
        let numbers = |from: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(from..from + 4)) };
        let (values, others) = (numbers(0), numbers(-2));
        let all = || UInt8Array::from(vec![0, 1, 2, 3]);
        let chunks = [
            (all(), &values),
            (UInt8Array::from(vec![Some(3), None, Some(0), None]), &values),
            // Fewer rows than values: those that are known.
            (UInt8Array::from(vec![1]), &values),
            (all(), &others),
        ];
        let n = Expr::column(0, &Field::new("n", DataType::Int64, true));
        let less = Expr::compare(Comparison::Less, n.clone(), Expr::int64(2)).unwrap();
        let or_null = Expr::or(less.clone(), Expr::is_null(n)).unwrap();
        let answered = Answered::default();
        for (rows, values) in chunks {
            let chunk = Chunk(
                Rows(Codes::try_new(Arc::new(rows), values.clone()).unwrap()),
                &answered,
            );
            for condition in [&less, &or_null] {
                let found = answers(condition, &chunk).unwrap().expect("at most four values");
                let expected = condition.evaluate_condition(&Decoded(&chunk.0)).unwrap();
                assert_eq!(found, expected, "{condition}");
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
            rows in proptest::collection::vec(proptest::option::weighted(0.8, 0u32..25), 25..200),
            bound in 0i64..26,
            of_null: bool,
            width in proptest::sample::select(vec![DataType::UInt8, DataType::UInt16, DataType::UInt32]),
        ) {
            // The values below a bound have codes in one run, in several, or in more than are compared.
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values((0..25).map(|n| n * 7 % 25)));
            let rows = cast(&UInt32Array::from(rows), &width).unwrap();
            let rows = Rows(Codes::try_new(rows, values).unwrap());
            let n = Expr::column(0, &Field::new("n", DataType::Int64, true));
            let less = Expr::compare(Comparison::Less, n.clone(), Expr::int64(bound)).unwrap();
            let condition = match of_null {
                true => Expr::or(less, Expr::is_null(n)).unwrap(),
                false => Expr::not(less).unwrap(),
            };
            let found = answers(&condition, &rows).unwrap().expect("no more values than rows");
            prop_assert_eq!(found, condition.evaluate_condition(&Decoded(&rows)).unwrap());
        }
    }
}
