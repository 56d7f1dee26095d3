//! Variance, standard deviation, median and distinct values equal those of a plain evaluator, on
//! any number of threads.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Decimal128Array, Float64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{Float64Type, Int64Type};
use columnar::{Aggregate, AggregateFunction, SelectPlan, TableSource};
use proptest::prelude::*;

use crate::faults::Table;
use crate::scan::{column, grouped, integers, run, run_on, table};

/// A key, and the value behind all columns.
type Row = (Option<i64>, Option<i64>);

const FUNCTIONS: [AggregateFunction; 4] = [
    AggregateFunction::CountDistinct,
    AggregateFunction::VarSamp,
    AggregateFunction::StddevSamp,
    AggregateFunction::Median,
];

/// The argument's columns, each with the divisor of the row's value, exact in all of them.
const ARGUMENTS: [(&str, f64); 3] = [("i", 1.0), ("d", 100.0), ("f", 1_048_576.0)];

fn batch(rows: &[Row]) -> RecordBatch {
    let decimals = Decimal128Array::from_iter(rows.iter().map(|row| row.1.map(i128::from)));
    let doubles = rows
        .iter()
        .map(|row| row.1.map(|value| value as f64 / ARGUMENTS[2].1));
    let text = |row: &Row| {
        row.1
            .map(|value| format!("a text of more than a few letters {value}"))
    };
    let columns: [(&str, ArrayRef); 5] = [
        ("k", integers(rows.iter().map(|row| row.0))),
        ("i", integers(rows.iter().map(|row| row.1))),
        ("d", Arc::new(decimals.with_precision_and_scale(20, 2).unwrap())),
        ("f", Arc::new(Float64Array::from_iter(doubles))),
        ("t", Arc::new(StringArray::from_iter(rows.iter().map(text)))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap()
}

fn scan(batch: &RecordBatch, has_key: bool, morsel_rows: usize) -> SelectPlan {
    let table: Arc<dyn TableSource> = Arc::new(Table::undisturbed(batch.clone(), morsel_rows));
    let mut aggregates = Vec::new();
    for (name, _) in ARGUMENTS {
        let argument = column(table.as_ref(), name);
        aggregates
            .extend(FUNCTIONS.map(|function| Aggregate::new(function, Some(argument.clone())).unwrap()));
    }
    let text = column(table.as_ref(), "t");
    aggregates.push(Aggregate::new(AggregateFunction::CountDistinct, Some(text)).unwrap());
    let keys = if has_key {
        vec![column(table.as_ref(), "k")]
    } else {
        vec![]
    };
    grouped(table, keys, aggregates)
}

/// Distinct values, variance, standard deviation and median, in units of `1 / unit`.
fn expected(values: &[i64], unit: f64) -> (i64, [Option<f64>; 3]) {
    let distinct: HashSet<i64> = values.iter().copied().collect();
    let n = values.len() as i128;
    let sum: i128 = values.iter().map(|&value| i128::from(value)).sum();
    let squares: i128 = values.iter().map(|&value| i128::from(value).pow(2)).sum();
    let variance = (n > 1).then(|| (n * squares - sum * sum) as f64 / ((n * (n - 1)) as f64 * (unit * unit)));
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let median = (n > 0).then(|| {
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        (low + high) as f64 / (2.0 * unit)
    });
    (distinct.len() as i64, [variance, variance.map(f64::sqrt), median])
}

fn check(result: &RecordBatch, rows: &[Row], has_key: bool) {
    let keys: Vec<Option<i64>> = if has_key {
        result.column(0).as_primitive::<Int64Type>().iter().collect()
    } else {
        vec![None]
    };
    assert_eq!(result.num_rows(), keys.len());
    let first = usize::from(has_key);
    for (at, key) in keys.into_iter().enumerate() {
        let of_group = rows.iter().filter(|row| !has_key || row.0 == key);
        let values: Vec<i64> = of_group.filter_map(|row| row.1).collect();
        let count = |column: usize| result.column(column).as_primitive::<Int64Type>().value(at);
        for (argument, (name, unit)) in ARGUMENTS.into_iter().enumerate() {
            let first = first + argument * FUNCTIONS.len();
            let double = |place: usize| {
                let doubles = result.column(first + 1 + place).as_primitive::<Float64Type>();
                doubles.is_valid(at).then(|| doubles.value(at))
            };
            let (distinct, doubles) = expected(&values, unit);
            assert_eq!(count(first), distinct, "{name} of {key:?}");
            assert_eq!([0, 1, 2].map(double), doubles, "{name} of {key:?}");
        }
        let texts = first + ARGUMENTS.len() * FUNCTIONS.len();
        assert_eq!(count(texts), expected(&values, 1.0).0, "texts of {key:?}");
    }
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let key = prop_oneof![
        4 => proptest::option::weighted(0.9, 0i64..7),
        1 => proptest::option::weighted(0.9, 0i64..100_000),
    ];
    let value = prop_oneof![
        4 => -30i64..30,
        1 => -1_000_000_000i64..1_000_000_000,
    ];
    let row = (key, proptest::option::weighted(0.9, value));
    prop_oneof![
        1 => Just(Vec::new()),
        4 => proptest::collection::vec(row.clone(), 1..40),
        4 => proptest::collection::vec(row, 500..2_000),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn samples_are_those_of_a_plain_loop_on_any_number_of_threads(
        rows in rows(),
        has_key: bool,
        morsel_rows in 1usize..700,
    ) {
        let scan = scan(&batch(&rows), has_key, morsel_rows.max(rows.len() / 50).max(1));
        let one = run_on(scan.clone(), 1).unwrap();
        check(&one, &rows, has_key);
        for threads in [2, 3, 8] {
            prop_assert_eq!(&run_on(scan.clone(), threads).unwrap(), &one);
        }
    }
}

#[test]
fn many_groups_merged_in_ranges_have_the_same_samples() {
    // Almost every key is new, so rows pass through. One key is frequent.
    let rows: Vec<Row> = (0..60_000)
        .map(|row| {
            (
                Some(if row % 4 == 0 { -1 } else { row / 3 }),
                Some(row * 7_919 % 1_000),
            )
        })
        .collect();
    let scan = scan(&batch(&rows), true, 5_000);
    let one = run_on(scan.clone(), 1).unwrap();
    assert_eq!(run_on(scan, 3).unwrap(), one);
    let few: Vec<usize> = (0..one.num_rows()).step_by(997).collect();
    for at in few {
        check(&one.slice(at, 1), &rows, true);
    }
}

#[test]
fn both_zeros_are_one_value_and_nan_is_another() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, 1.0]));
    let table = table([("x", values)]);
    let x = column(table.as_ref(), "x");
    let aggregates = FUNCTIONS.map(|function| Aggregate::new(function, Some(x.clone())).unwrap());
    let result = run(grouped(table, vec![], aggregates.to_vec())).unwrap();
    assert_eq!(result.column(0).as_primitive::<Int64Type>().value(0), 3);
    let double = |at: usize| result.column(at).as_primitive::<Float64Type>().value(0);
    assert!(double(1).is_nan() && double(2).is_nan());
    assert_eq!(double(3), 1.0, "NaN is above all numbers");
}

#[test]
fn values_without_a_number_have_no_variance_and_no_median() {
    let table = table([("t", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]);
    let t = column(table.as_ref(), "t");
    for function in FUNCTIONS {
        let aggregate = Aggregate::new(function, Some(t.clone()));
        match function {
            AggregateFunction::CountDistinct => {
                assert_eq!(aggregate.unwrap().to_string(), "count(distinct t)");
            }
            _ => {
                let error = aggregate.unwrap_err().to_string();
                assert!(error.contains("does not take Utf8"), "{error}");
            }
        }
        assert!(Aggregate::new(function, None).is_err());
    }
}
