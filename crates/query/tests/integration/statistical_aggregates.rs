//! `count(distinct x)`, `median`, `var_samp` and `stddev_samp` give the results of plain loops.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, i256};
use columnar::TableSource;

use crate::differential::tiny_table::TinyTable;
use crate::run::{Cell, Row, assert_same_bits, catalog, executors, query, rows};

const ROWS: i64 = 3_000;
const MORSEL_ROWS: usize = 97;
const SPREAD: i64 = 201;

/// A row's number counts units of the type's last digit or, for floats, quarters.
struct Column {
    data_type: DataType,
    value: fn(i128) -> i128,
}

fn columns() -> Vec<Column> {
    let of = |data_type, value| Column { data_type, value };
    vec![
        of(DataType::Int8, |n| n),
        of(DataType::Int16, |n| n * 300),
        of(DataType::Int32, |n| n * 20_000_000 + 1),
        of(DataType::Int64, |n| n * 90_000_000_000_000_000 + 1),
        of(DataType::UInt8, |n| n + 100),
        of(DataType::UInt16, |n| (n + 100) * 300),
        of(DataType::UInt32, |n| (n + 100) * 20_000_000 + 1),
        // Values on both sides of the largest signed number.
        of(DataType::UInt64, |n| (1 << 63) + n * 90_000_000_000_000_000 + 1),
        of(DataType::Decimal32(6, 2), |n| n * 7),
        of(DataType::Decimal64(18, 4), |n| n * 1_000_000_000_000 + 1),
        of(DataType::Decimal128(38, 10), |n| n * 10i128.pow(35) + 1),
        of(DataType::Decimal256(76, 20), |n| n * 10i128.pow(35) + 1),
        of(DataType::Float16, |n| n),
        of(DataType::Float32, |n| n * 1_000 + 1),
        of(DataType::Float64, |n| n * 1_000_000_000 + 1),
    ]
}

impl Column {
    fn array(&self, values: &[Option<i128>]) -> ArrayRef {
        let wide = |scale| {
            let wide = arrow::array::Decimal256Array::from_iter(
                values.iter().map(|value| value.map(i256::from_i128)),
            );
            let wide = wide.with_precision_and_scale(76, scale);
            Arc::new(wide.expect("a type")) as ArrayRef
        };
        let array = match self.data_type {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Arc::new(Float64Array::from_iter(
                values.iter().map(|value| value.map(|value| value as f64 / 4.0)),
            )),
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => wide(scale),
            _ => wide(0),
        };
        let array = cast(&array, &self.data_type).expect("the type has the values");
        let nulls = values.iter().filter(|value| value.is_none()).count();
        assert_eq!(array.null_count(), nulls, "{}", self.data_type);
        array
    }

    fn double(&self, tenths: i128) -> f64 {
        match self.data_type {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => tenths as f64 / 40.0,
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => parsed(tenths, i32::from(scale) + 1),
            _ => parsed(tenths, 1),
        }
    }

    fn expected(&self, values: &[i128]) -> [Option<f64>; 5] {
        let distinct = values.iter().collect::<BTreeSet<_>>().len();
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let median = sorted.get(values.len() / 2).map(|&high| {
            let low = sorted[(values.len() - 1) / 2];
            self.double(match high.checked_add(low).and_then(|sum| sum.checked_mul(5)) {
                Some(tenths) => tenths,
                None => panic!("the test's values are small enough"),
            })
        });
        let n = values.len() as f64;
        let variance = (values.len() > 1).then(|| {
            // Differences from the first value lose no digit.
            let from_first = |value: &i128| (value - values[0]) as f64;
            let mean = values.iter().map(from_first).sum::<f64>() / n;
            let squares = values.iter().map(|value| (from_first(value) - mean).powi(2));
            let unit = self.double(10);
            squares.sum::<f64>() / (n - 1.0) * unit * unit
        });
        let deviation = variance.map(f64::sqrt);
        [Some(distinct as f64), median, variance, deviation, Some(n)]
    }
}

/// Rounded once.
fn parsed(digits: i128, scale: i32) -> f64 {
    format!("{digits}e{}", -scale).parse().expect("a number")
}

/// A row's group, and its number unless it is NULL.
fn row(row: i64) -> (i64, Option<i128>) {
    let number = i128::from(row * 7_919 % SPREAD - SPREAD / 2);
    match row {
        1_000 => (100, Some(number)),
        2_000 => (101, None),
        _ if row % 13 == 12 => (12, None),
        _ => (row % 13, (row % 7 != 0).then_some(number)),
    }
}

fn table() -> Arc<dyn TableSource> {
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|at| row(at).0)));
    let mut arrays = vec![("k".to_owned(), groups, true)];
    for (at, column) in columns().iter().enumerate() {
        let values: Vec<Option<i128>> = (0..ROWS).map(|at| row(at).1.map(column.value)).collect();
        arrays.push((format!("x{at}"), column.array(&values), true));
    }
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).expect("columns of one length");
    Arc::new(TinyTable::of(batch, MORSEL_ROWS))
}

fn functions(column: usize) -> String {
    [
        "count(distinct x)",
        "median(x)",
        "var_samp(x)",
        "stddev_samp(x)",
        "count(x)",
    ]
    .map(|call| call.replace('x', &format!("x{column}")))
    .join(", ")
}

/// Counts and medians match exactly, the others up to a few of a double's last digits.
fn assert_close(found: &[Cell], expected: [Option<f64>; 5], what: &str) {
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let what = format!("{what}, function {at}: {found:?} instead of {expected:?}");
        match (at, found, expected) {
            (0 | 4, Cell::Int(found), Some(expected)) => assert_eq!(*found as f64, expected, "{what}"),
            (1, Cell::Float(found), Some(expected)) => assert_eq!(*found, expected, "{what}"),
            (_, Cell::Float(found), Some(expected)) => {
                assert!((found - expected).abs() <= expected * 1e-12, "{what}")
            }
            (1..=3, Cell::Null, None) => {}
            _ => panic!("{what}"),
        }
    }
}

fn answer(sql: &str, table: &Arc<dyn TableSource>) -> Vec<Row> {
    let tables = catalog(Arc::clone(table));
    let answers: Vec<_> = executors()
        .iter()
        .map(|work| query(sql, &tables, work).unwrap_or_else(|error| panic!("{sql}: {error}")))
        .collect();
    for other in &answers[1..] {
        assert_same_bits(&answers[0], other, sql);
    }
    rows(&answers[0])
}

#[test]
fn of_groups_and_of_all_rows_they_are_those_of_a_plain_loop_for_every_numeric_type() {
    let table = table();
    for (at, column) in columns().iter().enumerate() {
        let mut groups: BTreeMap<i64, Vec<i128>> = BTreeMap::new();
        for (key, number) in (0..ROWS).map(row) {
            groups.entry(key).or_default().extend(number.map(column.value));
        }
        let sql = format!("select k, {} from t group by k order by k", functions(at));
        let found = answer(&sql, &table);
        assert_eq!(found.len(), groups.len(), "{sql}");
        for (found, (key, values)) in found.iter().zip(&groups) {
            assert_eq!(found[0], Cell::Int(*key), "{sql}");
            let what = format!("{}, group {key}", column.data_type);
            assert_close(&found[1..], column.expected(values), &what);
        }
        let all: Vec<i128> = groups.into_values().flatten().collect();
        let found = answer(&format!("select {} from t", functions(at)), &table);
        assert_close(&found[0], column.expected(&all), &column.data_type.to_string());
    }
}

#[test]
fn of_no_row_and_of_no_value_they_are_null_and_the_count_of_distinct_values_zero() {
    let table = table();
    for (at, column) in columns().iter().enumerate() {
        for condition in ["k < 0", "k = 101", "k = 12"] {
            let sql = format!("select {} from t where {condition}", functions(at));
            assert_close(&answer(&sql, &table)[0], column.expected(&[]), &sql);
        }
        let sql = format!("select k, {} from t where k < 0 group by k", functions(at));
        assert!(answer(&sql, &table).is_empty(), "{sql}");
        let sql = format!("select {} from t where k = 100", functions(at));
        let value = row(1_000).1.map(column.value).expect("it is not NULL");
        assert_close(&answer(&sql, &table)[0], column.expected(&[value]), &sql);
    }
}

#[test]
fn values_in_an_expression_and_beside_other_aggregates_are_the_same() {
    let table = table();
    let column = &columns()[3];
    let sql = "select median(x3 - 1), sum(k), var_samp(x3 - 1), count(distinct x3 - 1), median(x3) \
               from t where k = 3";
    let values: Vec<i128> = (0..ROWS)
        .map(row)
        .filter(|&(key, _)| key == 3)
        .filter_map(|(_, number)| number.map(column.value))
        .collect();
    let less: Vec<i128> = values.iter().map(|value| value - 1).collect();
    let found = &answer(sql, &table)[0];
    let [distinct, median, variance, _, _] = column.expected(&less);
    assert_eq!(found[0], Cell::Float(median.expect("there are values")));
    assert_eq!(found[3], Cell::Int(distinct.expect("a count") as i64));
    assert_eq!(
        found[4],
        Cell::Float(column.expected(&values)[1].expect("there are values"))
    );
    let Cell::Float(found) = found[2] else {
        panic!("no variance: {found:?}")
    };
    let variance = variance.expect("there are values");
    assert!(
        (found - variance).abs() <= variance * 1e-12,
        "{found} instead of {variance}"
    );
}
