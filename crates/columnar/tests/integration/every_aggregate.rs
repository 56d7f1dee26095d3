//! Every aggregate function has the results of a plain loop, with and without keys, on 1, 2, 3 and
//! 8 threads. It takes the types that its row of [`FUNCTIONS`] names, and no other.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, Decimal128Array, Float64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use columnar::{Aggregate, AggregateFunction, Expr, SelectPlan};
use proptest::prelude::*;

use crate::scan::{column, grouped, integers, run, run_on, table, table_in_morsels};

/// The function, the columns of [`batch`] that it takes, and its result.
type Function = (AggregateFunction, &'static [&'static str], fn(&Group) -> Value);

const ALL: &[&str] = &["i", "d", "f", "t", "b", "c"];
const NUMBERS: &[&str] = &["i", "d", "f"];
const BOOLEANS: &[&str] = &["b", "c"];

const FUNCTIONS: &[Function] = &[
    (AggregateFunction::Count, ALL, |group| count(&group.values)),
    (AggregateFunction::CountDistinct, ALL, |group| {
        let mut values = group.sorted();
        values.dedup();
        count(&values)
    }),
    (AggregateFunction::Sum, NUMBERS, |group| {
        group.reduce(|sum, value| match (sum, value) {
            (Value::Integer(sum), Value::Integer(value)) => Value::Integer(sum + value),
            (Value::Decimal(sum, 2), Value::Decimal(value, 2)) => Value::Decimal(sum + value, 2),
            (Value::Double(sum), Value::Double(value)) => Value::Double(sum + value),
            other => panic!("a sum of {other:?}"),
        })
    }),
    (AggregateFunction::Avg, NUMBERS, |group| {
        let sum: i64 = group.numbers.iter().sum();
        double(group, 1, |n| sum as f64 / (n as f64 * group.unit))
    }),
    (AggregateFunction::Min, ALL, |group| first(group.sorted())),
    (AggregateFunction::Max, ALL, |group| {
        first(group.sorted().into_iter().rev())
    }),
    (AggregateFunction::BoolAnd, BOOLEANS, |group| {
        group.reduce(|all, value| Value::Bool(all == TRUE && value == TRUE))
    }),
    (AggregateFunction::Median, NUMBERS, |group| {
        let mut sorted = group.numbers.clone();
        sorted.sort_unstable();
        double(group, 1, |n| {
            (sorted[(n - 1) / 2] + sorted[n / 2]) as f64 / (2.0 * group.unit)
        })
    }),
    (AggregateFunction::VarSamp, NUMBERS, |group| {
        double(group, 2, |_| variance(group))
    }),
    (AggregateFunction::StddevSamp, NUMBERS, |group| {
        double(group, 2, |_| variance(group).sqrt())
    }),
];

pub(crate) fn functions_of_doubles() -> impl Iterator<Item = AggregateFunction> {
    FUNCTIONS
        .iter()
        .filter(|(_, takes, _)| takes.contains(&"f"))
        .map(|row| row.0)
}

/// One column's values in a group, without NULLs.
struct Group {
    values: Vec<Value>,
    /// The rows' numbers; a value of a number column is its row's number divided by `unit`.
    numbers: Vec<i64>,
    unit: f64,
}

impl Group {
    const EMPTY: Self = Self {
        values: Vec::new(),
        numbers: Vec::new(),
        unit: 1.0,
    };

    fn sorted(&self) -> Vec<Value> {
        let mut values = self.values.clone();
        values.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
        values
    }

    fn reduce(&self, join: fn(Value, Value) -> Value) -> Value {
        self.values.iter().cloned().reduce(join).unwrap_or(Value::Null)
    }
}

#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    /// In units of `10^-scale`.
    Decimal(i128, i8),
    Double(f64),
    Text(String),
}

const TRUE: Value = Value::Bool(true);

impl Value {
    fn of(array: &ArrayRef, row: usize) -> Self {
        if array.is_null(row) {
            return Self::Null;
        }
        match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean().value(row)),
            DataType::Int64 => Self::Integer(array.as_primitive::<Int64Type>().value(row)),
            DataType::Decimal128(_, scale) => {
                Self::Decimal(array.as_primitive::<Decimal128Type>().value(row), *scale)
            }
            DataType::Float64 => Self::Double(array.as_primitive::<Float64Type>().value(row)),
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row).to_owned()),
            other => panic!("no function gives {other}"),
        }
    }
}

fn count(values: &[Value]) -> Value {
    Value::Integer(values.len() as i64)
}

fn first(values: impl IntoIterator<Item = Value>) -> Value {
    values.into_iter().next().unwrap_or(Value::Null)
}

/// NULL of fewer than `least` values.
fn double(group: &Group, least: usize, of_count: impl Fn(usize) -> f64) -> Value {
    match group.numbers.len() {
        n if n < least => Value::Null,
        n => Value::Double(of_count(n)),
    }
}

fn variance(group: &Group) -> f64 {
    let numbers = || group.numbers.iter().map(|&number| i128::from(number));
    let (n, sum) = (numbers().count() as i128, numbers().sum::<i128>());
    let squares: i128 = numbers().map(|number| number * number).sum();
    (n * squares - sum * sum) as f64 / ((n * (n - 1)) as f64 * (group.unit * group.unit))
}

/// A key, and the number of which the row's values are made.
type Row = (Option<i64>, Option<i64>);

fn unit(name: &str) -> f64 {
    match name {
        "d" => 100.0,
        "f" => 1_048_576.0,
        _ => 1.0,
    }
}

/// A key, integers, decimals, doubles, texts, mostly true and mostly false booleans.
fn batch(rows: &[Row]) -> RecordBatch {
    let numbers = || rows.iter().map(|row| row.1);
    let booleans = |of: fn(i64) -> bool| BooleanArray::from_iter(numbers().map(|number| number.map(of)));
    let decimals = Decimal128Array::from_iter(numbers().map(|number| number.map(i128::from)));
    let double = |number: i64| number as f64 / unit("f");
    let text = |number: i64| format!("a text of more than a few letters {number}");
    let columns: [(&str, ArrayRef); 7] = [
        ("k", integers(rows.iter().map(|row| row.0))),
        ("i", integers(numbers())),
        ("d", Arc::new(decimals.with_precision_and_scale(20, 2).unwrap())),
        (
            "f",
            Arc::new(Float64Array::from_iter(
                numbers().map(|number| number.map(double)),
            )),
        ),
        (
            "t",
            Arc::new(StringArray::from_iter(numbers().map(|number| number.map(text)))),
        ),
        ("b", Arc::new(booleans(|number| number % 50 != 8))),
        ("c", Arc::new(booleans(|number| number % 50 == 8))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap()
}

/// Every function of every column that it takes, in one plan: some share a state.
fn calls() -> impl Iterator<Item = (&'static Function, &'static str)> {
    FUNCTIONS
        .iter()
        .flat_map(|function| function.1.iter().map(move |&name| (function, name)))
}

fn plan(batch: &RecordBatch, has_key: bool, morsel_rows: usize) -> SelectPlan {
    let table = table_in_morsels(batch.clone(), morsel_rows);
    let column = |name: &str| column(table.as_ref(), name);
    let aggregates = calls().map(|(function, name)| Aggregate::new(function.0, Some(column(name))).unwrap());
    let aggregates = aggregates.collect();
    let keys = if has_key { vec![column("k")] } else { vec![] };
    grouped(table, keys, aggregates)
}

fn check(result: &RecordBatch, rows: &[Row], has_key: bool) {
    let batch = batch(rows);
    for at in 0..result.num_rows() {
        let key = has_key.then(|| Value::of(result.column(0), at));
        let is_in = |row: &Row| {
            let row = row.0.map_or(Value::Null, Value::Integer);
            key.as_ref().is_none_or(|key| *key == row)
        };
        let of_group: Vec<usize> = (0..rows.len())
            .filter(|&at| rows[at].1.is_some() && is_in(&rows[at]))
            .collect();
        for (place, (function, name)) in calls().enumerate() {
            let column = batch.column_by_name(name).unwrap();
            let group = Group {
                values: of_group.iter().map(|&row| Value::of(column, row)).collect(),
                numbers: of_group.iter().filter_map(|&row| rows[row].1).collect(),
                unit: unit(name),
            };
            let found = Value::of(result.column(usize::from(has_key) + place), at);
            assert_eq!(
                found,
                function.2(&group),
                "{:?} of {name}, key {key:?}",
                function.0
            );
        }
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
    fn results_are_those_of_a_plain_loop_on_any_number_of_threads(
        rows in rows(),
        has_key: bool,
        morsel_rows in 1usize..700,
    ) {
        let plan = plan(&batch(&rows), has_key, morsel_rows.max(rows.len() / 50).max(1));
        let one = run_on(plan.clone(), 1).unwrap();
        prop_assert!(has_key || one.num_rows() == 1);
        check(&one, &rows, has_key);
        for threads in [2, 3, 8] {
            prop_assert_eq!(&run_on(plan.clone(), threads).unwrap(), &one);
        }
    }
}

#[test]
fn many_groups_merged_in_ranges_have_the_same_results() {
    // Almost every key is new, so rows pass through. One key is frequent.
    let key = |row| if row % 4 == 0 { -1 } else { row / 3 };
    let rows: Vec<Row> = (0..60_000)
        .map(|row| (Some(key(row)), Some(row * 7_919 % 1_000)))
        .collect();
    let plan = plan(&batch(&rows), true, 5_000);
    let one = run_on(plan.clone(), 1).unwrap();
    assert_eq!(run_on(plan, 3).unwrap(), one);
    for at in (0..one.num_rows()).step_by(997) {
        check(&one.slice(at, 1), &rows, true);
    }
}

#[test]
fn a_function_takes_the_types_of_its_row_and_no_other() {
    let table = table_in_morsels(batch(&[]), 1);
    for (function, takes, _) in FUNCTIONS {
        for name in ALL {
            let column = column(table.as_ref(), name);
            let refusal = format!("{function} does not take {}", column.data_type());
            let distinct = if function.is_distinct() { "distinct " } else { "" };
            match Aggregate::new(*function, Some(column)) {
                Ok(aggregate) => {
                    assert!(takes.contains(name), "{aggregate}");
                    assert_eq!(aggregate.to_string(), format!("{function}({distinct}{name})"));
                }
                Err(error) => {
                    assert!(!takes.contains(name), "{error}");
                    assert!(error.to_string().contains(&refusal), "{error}");
                }
            }
        }
        let star = Aggregate::new(*function, None);
        assert_eq!(
            star.is_ok(),
            *function == AggregateFunction::Count,
            "{function:?}"
        );
    }
}

#[test]
fn null_without_a_type_is_no_value() {
    let table = table([("n", integers([Some(1)]))]);
    for (function, _, result) in FUNCTIONS {
        for keys in [vec![], vec![Expr::null()]] {
            let of_null = Aggregate::new(*function, Some(Expr::null())).unwrap();
            let place = keys.len();
            let found = run(grouped(table.clone(), keys, vec![of_null])).unwrap();
            assert_eq!(found.num_rows(), 1);
            let expected = result(&Group::EMPTY);
            assert_eq!(Value::of(found.column(place), 0), expected, "{function:?}");
        }
    }
}

#[test]
fn every_function_has_a_row() {
    for name in AggregateFunction::names() {
        assert!(
            FUNCTIONS.iter().any(|row| row.0.name() == name),
            "{name} has no row"
        );
    }
}
