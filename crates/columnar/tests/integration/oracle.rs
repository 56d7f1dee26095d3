//! Any rows, grouped by any keys on 1, 2, 3 and 8 threads, have one answer: that of an oracle over
//! a `HashMap`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, Int16Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use columnar::{Aggregate, AggregateFunction, ExecError, SelectPlan};
use proptest::prelude::*;

use crate::scan::{column, grouped, integers, run_on, with_codes};

type Row = (Option<i64>, Option<i64>, Option<i64>);

#[derive(Clone, Copy, Debug)]
enum Draw {
    OneKey,
    Few,
    /// From a range that widens on both sides.
    Wide,
    Hot,
    AllNew,
    Extremes,
}

fn draw() -> impl Strategy<Value = Draw> {
    prop_oneof![
        Just(Draw::OneKey),
        Just(Draw::Few),
        Just(Draw::Wide),
        Just(Draw::Hot),
        Just(Draw::AllNew),
        Just(Draw::Extremes),
    ]
}

fn table(rows: &[Row], draw: Draw) -> RecordBatch {
    let number = |(at, row): (usize, &Row)| {
        let at = at as i64;
        row.0.map(|n| match draw {
            Draw::OneKey => 7,
            Draw::Few => n % 4,
            Draw::Wide => (n % 3 - 1) * at * at,
            Draw::Hot if n % 3 > 0 => -1,
            Draw::Hot | Draw::AllNew => 3 * at,
            Draw::Extremes => [i64::MIN, i64::MAX, 0, -1][(n % 4) as usize],
        })
    };
    let numbers: Vec<Option<i64>> = rows.iter().enumerate().map(number).collect();
    let text = |row: &Row| {
        row.1.map(|n| match n % 5 {
            0 => format!("a text that has no place in a word {}", n % 20),
            _ => format!("{}", n % 20),
        })
    };
    let other = |row: &Row| {
        row.0
            .map(|n| format!("another text without a place in a word {}", n % 30))
    };
    let columns: [(&str, ArrayRef); 6] = [
        ("n", integers(numbers)),
        ("t", Arc::new(StringArray::from_iter(rows.iter().map(text)))),
        ("u", Arc::new(StringArray::from_iter(rows.iter().map(other)))),
        (
            "b",
            Arc::new(BooleanArray::from_iter(
                rows.iter().map(|row| row.1.map(|n| n % 2 > 0)),
            )),
        ),
        (
            "s",
            Arc::new(Int16Array::from_iter(
                rows.iter().map(|row| row.0.map(|n| (n * 331 % 70_000) as i16)),
            )),
        ),
        ("v", integers(rows.iter().map(|row| row.2))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap()
}

/// The morsels whose texts come as codes. The first rows decide what keys are made of.
fn has_codes() -> impl Strategy<Value = fn(usize) -> bool> {
    let some: [fn(usize) -> bool; 4] = [
        |_morsel| false,
        |_morsel| true,
        |morsel| morsel.is_multiple_of(2),
        |morsel| !morsel.is_multiple_of(2),
    ];
    proptest::sample::select(some.to_vec())
}

fn scan(batch: &RecordBatch, keys: &[&str], morsel_rows: usize, has_codes: fn(usize) -> bool) -> SelectPlan {
    let table = with_codes(batch.clone(), morsel_rows, has_codes);
    let value = column(table.as_ref(), "v");
    let of = |function| Aggregate::new(function, Some(value.clone())).unwrap();
    let aggregates = vec![
        of(AggregateFunction::Sum),
        Aggregate::new(AggregateFunction::Count, None).unwrap(),
        of(AggregateFunction::Count),
        of(AggregateFunction::Min),
        of(AggregateFunction::Max),
    ];
    let keys = keys.iter().map(|name| column(table.as_ref(), name)).collect();
    grouped(table, keys, aggregates)
}

/// Keys as text, then aggregates.
type Group = (Vec<Option<String>>, [Option<i128>; 5]);

fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    let texts = cast(column, &DataType::Utf8).unwrap();
    texts
        .as_string::<i32>()
        .iter()
        .map(|text| text.map(str::to_owned))
        .collect()
}

fn expected(batch: &RecordBatch, keys: &[&str]) -> Vec<Group> {
    let columns: Vec<_> = keys
        .iter()
        .map(|name| texts(batch.column_by_name(name).unwrap()))
        .collect();
    let values = batch.column_by_name("v").unwrap().as_primitive::<Int64Type>();
    let mut places = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for row in 0..batch.num_rows() {
        let key: Vec<_> = columns.iter().map(|column| column[row].clone()).collect();
        let place = *places.entry(key.clone()).or_insert_with(|| {
            groups.push((key, [None, Some(0), Some(0), None, None]));
            groups.len() - 1
        });
        let [sum, rows, values_of, least, most] = &mut groups[place].1;
        *rows = rows.map(|n| n + 1);
        if values.is_valid(row) {
            let value = i128::from(values.value(row));
            *sum = Some(sum.unwrap_or(0) + value);
            *values_of = values_of.map(|n| n + 1);
            *least = Some(least.map_or(value, |known| known.min(value)));
            *most = Some(most.map_or(value, |known| known.max(value)));
        }
    }
    groups
}

fn groups(batch: &RecordBatch, keys: usize) -> Vec<Group> {
    let columns: Vec<_> = batch.columns()[..keys].iter().map(texts).collect();
    let number = |at: usize, row: usize| {
        let values = batch.column(keys + at).as_primitive::<Int64Type>();
        values.is_valid(row).then(|| i128::from(values.value(row)))
    };
    (0..batch.num_rows())
        .map(|row| {
            let key = columns.iter().map(|column| column[row].clone()).collect();
            (key, [0, 1, 2, 3, 4].map(|at| number(at, row)))
        })
        .collect()
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let some = |bound: i64| proptest::option::weighted(0.9, 0..bound);
    // Partial sums leave 64 bits, the result does not.
    let value = prop_oneof![
        8 => proptest::option::weighted(0.8, -1_000i64..1_000),
        1 => prop_oneof![Just(Some(i64::MAX / 64)), Just(Some(i64::MIN / 64))],
    ];
    let row = (some(1_000), some(1_000), value);
    prop_oneof![
        1 => Just(Vec::new()),
        4 => proptest::collection::vec(row.clone(), 1..40),
        4 => proptest::collection::vec(row, 500..2_000),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_grouping_is_that_of_a_plain_loop_on_any_number_of_threads(
        rows in rows(),
        draw in draw(),
        keys in prop_oneof![
            Just(vec!["n"]),
            Just(vec!["t"]),
            Just(vec!["b"]),
            Just(vec!["s"]),
            Just(vec!["n", "t"]),
            Just(vec!["s", "t", "u"]),
            Just(vec!["b", "s", "t"]),
            Just(vec!["n", "s", "b", "t"]),
        ],
        morsel_rows in 1usize..700,
        has_codes in has_codes(),
    ) {
        let batch = table(&rows, draw);
        // Morsels of one row would make thousands of slots.
        let scan = scan(&batch, &keys, morsel_rows.max(rows.len() / 50).max(1), has_codes);
        let expected = expected(&batch, &keys);
        let is_outside = |group: &Group| group.1[0].is_some_and(|sum| i64::try_from(sum).is_err());
        let overflows = expected.iter().any(is_outside);
        let mut one: Option<RecordBatch> = None;
        for threads in [1, 2, 3, 8] {
            let result = run_on(scan.clone(), threads);
            if overflows {
                let is_overflow = matches!(result, Err(ExecError::Overflow { .. }));
                prop_assert!(is_overflow);
                continue;
            }
            let result = result.unwrap();
            if let Some(one) = &one {
                prop_assert_eq!(one, &result);
                continue;
            }
            prop_assert_eq!(groups(&result, keys.len()), expected.clone());
            one = Some(result);
        }
    }
}
