//! Columns of each type can be compared with what a text says, grouped, ordered, and asked for their
//! extremes. Booleans have too few values for these tests.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::util::display::array_value_to_string;
use columnar::{Aggregate, AggregateFunction, Comparison, Expr, Output, SelectPlan, SortKey, TableSource};

use crate::scan::{column, grouped, integers, rows_where, run, scan, table, values};

/// The texts as a column of `data_type`; rows 0 to 4 are: middle, smallest, NULL, middle, largest.
fn column_of(data_type: &DataType, texts: [&str; 3]) -> ArrayRef {
    let [middle, smallest, largest] = texts.map(Some);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![middle, smallest, None, middle, largest]));
    match data_type {
        DataType::Dictionary(_, values) => cast(&cast(&texts, values).unwrap(), data_type).unwrap(),
        plain => cast(&texts, plain).unwrap(),
    }
}

fn types() -> Vec<(DataType, [&'static str; 3])> {
    let text = ["m", "a", "zebra"];
    let number = ["5", "-3", "70"];
    let natural = ["5", "3", "70"];
    let decimal = ["5.25", "-3.00", "70.50"];
    let moment = [
        "2000-01-01T00:00:00",
        "1969-12-31T23:59:59",
        "2040-02-29T12:00:00",
    ];
    let zone = [
        "2000-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2040-02-29T12:00:00Z",
    ];
    let timestamp = |unit| (DataType::Timestamp(unit, None), moment);
    vec![
        (DataType::Int8, number),
        (DataType::Int16, number),
        (DataType::Int32, number),
        (DataType::Int64, number),
        (DataType::UInt8, natural),
        (DataType::UInt16, natural),
        (DataType::UInt32, natural),
        (DataType::UInt64, natural),
        (DataType::Float32, decimal),
        (DataType::Float64, decimal),
        (DataType::Decimal32(9, 2), decimal),
        (DataType::Decimal64(18, 2), decimal),
        (DataType::Decimal128(15, 2), decimal),
        (DataType::Decimal256(50, 2), decimal),
        (DataType::Utf8, text),
        (DataType::LargeUtf8, text),
        (DataType::Utf8View, text),
        (
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            text,
        ),
        (DataType::Binary, text),
        (DataType::Date32, ["2000-01-01", "1969-12-31", "2040-02-29"]),
        (DataType::Date64, moment),
        timestamp(TimeUnit::Second),
        timestamp(TimeUnit::Millisecond),
        timestamp(TimeUnit::Microsecond),
        timestamp(TimeUnit::Nanosecond),
        (
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            zone,
        ),
    ]
}

fn groups(table: Arc<dyn TableSource>, keys: Vec<Expr>, aggregates: Vec<Aggregate>) -> RecordBatch {
    run(grouped(table, keys, aggregates)).unwrap()
}

fn text(batch: &RecordBatch, column: usize, row: usize) -> String {
    array_value_to_string(batch.column(column), row).unwrap()
}

#[test]
fn a_column_of_any_type_is_compared_with_what_a_text_says() {
    for (data_type, texts) in types() {
        let table = table([
            ("v", column_of(&data_type, texts)),
            ("row", integers((0..5).map(Some))),
        ]);
        let kept = |op, literal: &str| {
            let filter = Expr::compare(op, column(table.as_ref(), "v"), Expr::text(literal)).unwrap();
            values(&run(rows_where(&table, Some(filter), &["row"])).unwrap(), 0)
        };
        assert_eq!(
            kept(Comparison::Equal, texts[0]),
            [Some(0), Some(3)],
            "{data_type}"
        );
        assert_eq!(kept(Comparison::Less, texts[0]), [Some(1)], "{data_type}");
        assert_eq!(
            kept(Comparison::GreaterEqual, texts[0]),
            [Some(0), Some(3), Some(4)],
            "{data_type}"
        );
        assert_eq!(
            kept(Comparison::NotEqual, texts[2]),
            [Some(0), Some(1), Some(3)],
            "{data_type}"
        );
    }
}

#[test]
fn a_column_of_any_type_has_groups_and_extremes() {
    for (data_type, texts) in types() {
        let table = table([("v", column_of(&data_type, texts))]);
        let v = || column(table.as_ref(), "v");
        let of = |function| Aggregate::new(function, Some(v())).unwrap();
        let count = Aggregate::new(AggregateFunction::Count, None).unwrap();
        let by_value = groups(
            table.clone(),
            vec![v()],
            vec![count, of(AggregateFunction::Count)],
        );
        assert_eq!(
            values(&by_value, 1),
            [Some(2), Some(1), Some(1), Some(1)],
            "{data_type}"
        );
        assert_eq!(
            values(&by_value, 2),
            [Some(2), Some(1), Some(0), Some(1)],
            "{data_type}"
        );

        let extremes = groups(
            table.clone(),
            vec![],
            vec![of(AggregateFunction::Min), of(AggregateFunction::Max)],
        );
        for (aggregate, row) in [(0, 1), (1, 4)] {
            let plain = cast(
                &column_of(&data_type, texts),
                extremes.column(aggregate).data_type(),
            )
            .unwrap();
            let expected = array_value_to_string(&plain, row).unwrap();
            assert_eq!(text(&extremes, aggregate, 0), expected, "{data_type}");
        }
    }
}

#[test]
fn a_column_of_any_type_has_an_order() {
    for (data_type, texts) in types() {
        let table = table([
            ("v", column_of(&data_type, texts)),
            ("row", integers((0..5).map(Some))),
        ]);
        let mut scan = rows_where(&table, None, &["row"]);
        scan.order = vec![SortKey::new(column(table.as_ref(), "v"), true, false).unwrap()];
        let rows = values(&run(scan).unwrap(), 0);
        assert_eq!(rows, [Some(4), Some(0), Some(3), Some(1), Some(2)], "{data_type}");
    }
}

/// Rows of five values, many times, and what a limit takes of them: rows, and groups of one row.
#[test]
fn a_limit_takes_the_first_rows_and_groups_by_a_column_of_any_type() {
    const TIMES: usize = 20;
    for (data_type, texts) in types() {
        let five = column_of(&data_type, texts);
        let many = concat(&[five.as_ref(); TIMES]).unwrap();
        let numbers = integers((0..5 * TIMES as i64).map(Some));
        let table = table([("v", many), ("row", numbers)]);
        let key = |expr: Expr| vec![SortKey::new(expr, true, false).unwrap()];
        let expected: Vec<Option<i64>> = (0..3).map(|at| Some(5 * at + 4)).collect();

        let mut rows = rows_where(&table, None, &["row"]);
        rows.order = key(column(table.as_ref(), "v"));
        rows.limit = Some(3);
        assert_eq!(values(&run(rows).unwrap(), 0), expected, "{data_type}");

        let v = Some(column(table.as_ref(), "v"));
        let keys = vec![column(table.as_ref(), "row")];
        let greatest = Aggregate::new(AggregateFunction::Max, v).unwrap();
        let fields = SelectPlan::group_fields(&keys, std::slice::from_ref(&greatest)).unwrap();
        let output = Output::Groups {
            keys,
            aggregates: vec![greatest],
            having: None,
            columns: vec![("row".to_owned(), Expr::column(0, &fields[0]))],
        };
        let mut grouped = scan(table.clone(), None, output);
        grouped.order = key(Expr::column(1, &fields[1]));
        grouped.limit = Some(3);
        assert_eq!(values(&run(grouped).unwrap(), 0), expected, "{data_type}");
    }
}

#[test]
fn numbers_of_any_type_have_a_sum() {
    for (data_type, texts) in types() {
        let table = table([("v", column_of(&data_type, texts))]);
        let v = column(table.as_ref(), "v");
        match Aggregate::new(AggregateFunction::Avg, Some(v)) {
            Ok(average) => {
                let result = groups(table, vec![], vec![average]);
                let expected = (2.0 * texts[0].parse::<f64>().unwrap()
                    + texts[1].parse::<f64>().unwrap()
                    + texts[2].parse::<f64>().unwrap())
                    / 4.0;
                assert_eq!(
                    text(&result, 0, 0).parse::<f64>().unwrap(),
                    expected,
                    "{data_type}"
                );
            }
            Err(_) => assert!(!data_type.is_numeric(), "{data_type}"),
        }
    }
}

#[test]
fn null_of_no_type_is_selected_grouped_and_ordered() {
    let table = table([("n", integers((0..100).map(Some)))]);
    let n = column(table.as_ref(), "n");
    let output = Output::Rows {
        columns: vec![("nothing".to_owned(), Expr::null()), ("n".to_owned(), n.clone())],
    };
    let mut nothing = scan(table.clone(), None, output);
    nothing.order = vec![SortKey::new(Expr::null(), false, false).unwrap()];
    assert_eq!(run(nothing.clone()).unwrap().num_rows(), 100);
    nothing.limit = Some(2);
    assert_eq!(values(&run(nothing).unwrap(), 1), [Some(0), Some(1)]);

    let count = Aggregate::new(AggregateFunction::Count, None).unwrap();
    let result = groups(table.clone(), vec![Expr::null()], vec![count]);
    assert_eq!(values(&result, 1), [Some(100)]);

    let fields = SelectPlan::group_fields(std::slice::from_ref(&n), &[]).unwrap();
    let output = Output::Groups {
        keys: vec![n],
        aggregates: Vec::new(),
        having: None,
        columns: vec![("n".to_owned(), Expr::column(0, &fields[0]))],
    };
    let mut grouped = scan(table, None, output);
    grouped.order = vec![SortKey::new(Expr::null(), true, true).unwrap()];
    grouped.limit = Some(2);
    assert_eq!(values(&run(grouped).unwrap(), 0), [Some(0), Some(1)]);
}

#[test]
fn like_reads_text_in_every_layout() {
    for (data_type, texts) in types().into_iter().filter(|(_, texts)| texts[0] == "m") {
        if data_type == DataType::Binary {
            continue;
        }
        let table = table([
            ("v", column_of(&data_type, texts)),
            ("row", integers((0..5).map(Some))),
        ]);
        let like = Expr::like(column(table.as_ref(), "v"), Expr::text("%e_r%"), false).unwrap();
        assert_eq!(
            values(&run(rows_where(&table, Some(like), &["row"])).unwrap(), 0),
            [Some(4)],
            "{data_type}"
        );
    }
}
