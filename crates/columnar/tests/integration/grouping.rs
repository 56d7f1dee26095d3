//! GROUP BY with few and many groups, heavy hitters, and keys without a fixed-width form returns
//! what a plain loop does.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray};
use arrow::datatypes::{Float64Type, Int64Type};
use columnar::{
    Aggregate, AggregateFunction, Comparison, ExecError, Expr, MemoryTable, Output, ScanStage, SelectPlan,
    SortKey,
};

use crate::scan::{column, grouped, integers, run_alone, run_on, run_stage, table};

const ROWS: i64 = 150_000;

fn scrambled(n: i64) -> i64 {
    let mut x = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x >> 20) as i64
}

fn keys() -> Vec<(&'static str, ArrayRef)> {
    let numbers = |key: fn(i64) -> i64| integers((0..ROWS).map(|row| Some(key(row))));
    let texts =
        |key: fn(i64) -> Option<String>| -> ArrayRef { Arc::new(StringArray::from_iter((0..ROWS).map(key))) };
    vec![
        ("4 keys", numbers(|row| scrambled(row) % 4)),
        ("10,000 keys", numbers(|row| scrambled(row) % 10_000)),
        (
            "10,000 keys, and new ones all along",
            numbers(|row| {
                if row % 16 == 0 {
                    row + 10_000
                } else {
                    scrambled(row) % 10_000
                }
            }),
        ),
        ("runs of 4", numbers(|row| row / 4)),
        ("all different", numbers(|row| row * 7_919 % ROWS)),
        (
            "one hot key among different ones",
            numbers(|row| if row % 5 == 0 { -1 } else { row }),
        ),
        (
            "almost only one key",
            numbers(|row| if row % 50 == 0 { row } else { i64::MIN }),
        ),
        (
            "different ones, then few",
            numbers(|row| if row < ROWS / 2 { row } else { row % 3 }),
        ),
        (
            "NULL among different ones",
            integers((0..ROWS).map(|row| (row % 3 > 0).then_some(row))),
        ),
        (
            "short and long texts",
            texts(|row| match row % 3 {
                0 => Some(format!("{}", scrambled(row) % 30_000)),
                1 => Some(format!("a text too long for a word, {}", row / 7)),
                _ => (row % 2 == 0).then(|| format!("{row}")),
            }),
        ),
    ]
}

fn query(key: &ArrayRef) -> SelectPlan {
    let table = table([
        ("k", key.clone()),
        (
            "n",
            integers((0..ROWS).map(|row| (row % 11 > 0).then(|| scrambled(row) % 1_000 - 300))),
        ),
        (
            "x",
            Arc::new(Float64Array::from_iter_values(
                (0..ROWS).map(|row| scrambled(row) as f64 * 2f64.powi((row % 60) as i32 - 30)),
            )),
        ),
    ]);
    let of = |function, name: &str| Aggregate::new(function, Some(column(table.as_ref(), name))).unwrap();
    let aggregates = vec![
        of(AggregateFunction::Sum, "n"),
        Aggregate::new(AggregateFunction::Count, None).unwrap(),
        of(AggregateFunction::Min, "n"),
        of(AggregateFunction::Max, "n"),
    ];
    grouped(table.clone(), vec![column(table.as_ref(), "k")], aggregates)
}

/// A sum of floats, which must not be added in another order.
fn query_of_floats(key: &ArrayRef) -> SelectPlan {
    let mut scan = query(key);
    let sum = Aggregate::new(AggregateFunction::Sum, Some(column(scan.table.as_ref(), "x"))).unwrap();
    if let Output::Groups {
        keys,
        aggregates,
        columns,
        ..
    } = &mut scan.output
    {
        aggregates.push(sum);
        let fields = SelectPlan::group_fields(keys, aggregates).unwrap();
        *columns = fields
            .iter()
            .enumerate()
            .map(|(at, field)| (field.name().clone(), Expr::column(at, field)))
            .collect();
    }
    scan
}

/// Key, sum, count, smallest, largest.
type Row = (Option<String>, Option<i64>, i64, Option<i64>, Option<i64>);

/// In the order of first rows.
fn expected(key: &ArrayRef) -> Vec<Row> {
    let key = arrow::compute::cast(key, &arrow::datatypes::DataType::Utf8).unwrap();
    let key = key.as_string::<i32>();
    let mut place: HashMap<Option<&str>, usize> = HashMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for row in 0..ROWS {
        let at = row as usize;
        let text = key.is_valid(at).then(|| key.value(at));
        let group = *place.entry(text).or_insert_with(|| {
            rows.push((text.map(str::to_owned), None, 0, None, None));
            rows.len() - 1
        });
        let (_, sum, count, smallest, largest) = &mut rows[group];
        *count += 1;
        if row % 11 > 0 {
            let n = scrambled(row) % 1_000 - 300;
            *sum = Some(sum.unwrap_or(0) + n);
            *smallest = Some(smallest.map_or(n, |known: i64| known.min(n)));
            *largest = Some(largest.map_or(n, |known: i64| known.max(n)));
        }
    }
    rows
}

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let key = arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Utf8).unwrap();
    let key = key.as_string::<i32>();
    let number = |column: usize, row: usize| {
        let values = batch.column(column).as_primitive::<Int64Type>();
        values.is_valid(row).then(|| values.value(row))
    };
    (0..batch.num_rows())
        .map(|row| {
            (
                key.is_valid(row).then(|| key.value(row).to_owned()),
                number(1, row),
                number(2, row).expect("a count"),
                number(3, row),
                number(4, row),
            )
        })
        .collect()
}

#[test]
fn groups_in_any_order_are_the_same_groups() {
    for (name, key) in keys() {
        let mut expected = expected(&key);
        expected.sort_unstable();
        for threads in [1, 2, 8] {
            let stage = ScanStage::in_any_order(query(&key));
            let mut found = rows(&run_stage(stage, threads).unwrap());
            found.sort_unstable();
            assert!(found == expected, "{name}, {threads} threads");
        }
    }
}

#[test]
fn groups_of_any_number_are_those_of_a_plain_loop_in_the_order_of_their_first_row() {
    for (name, key) in keys() {
        let expected = expected(&key);
        for threads in [1, 2, 8] {
            let found = rows(&run_on(query(&key), threads).unwrap());
            assert!(found == expected, "{name}, {threads} threads");
        }
        assert!(
            rows(&run_alone(query(&key)).unwrap()) == expected,
            "{name}, alone"
        );
    }
}

#[test]
fn sums_of_floats_are_bit_identical_however_groups_are_merged() {
    for (name, key) in keys() {
        let alone = run_alone(query_of_floats(&key)).unwrap();
        assert!(rows(&alone) == expected(&key), "{name}");
        let bits = |batch: &RecordBatch| -> Vec<u64> {
            let sums = batch.column(5).as_primitive::<Float64Type>();
            sums.values().iter().map(|sum| sum.to_bits()).collect()
        };
        for threads in [1, 2, 8] {
            let found = run_on(query_of_floats(&key), threads).unwrap();
            assert!(bits(&found) == bits(&alone), "{name}, {threads} threads");
        }
    }
}

#[test]
fn having_order_and_limit_see_all_groups() {
    for (name, key) in keys() {
        let mut scan = query(&key);
        let Output::Groups {
            keys,
            aggregates,
            having,
            ..
        } = &mut scan.output
        else {
            unreachable!("it groups")
        };
        let fields = SelectPlan::group_fields(keys, aggregates).unwrap();
        let sum = Expr::column(1, &fields[1]);
        *having = Some(Expr::compare(Comparison::Greater, sum.clone(), Expr::int64(100)).unwrap());
        // Many groups have the same sum, so ties are in the order of first rows.
        scan.order = vec![SortKey::new(sum, true, false).unwrap()];
        (scan.offset, scan.limit) = (3, Some(1_000));
        let mut expected = expected(&key);
        expected.retain(|row| row.1 > Some(100));
        expected.sort_by_key(|row| std::cmp::Reverse(row.1));
        let expected: Vec<Row> = expected.into_iter().skip(3).take(1_000).collect();
        for threads in [1, 2] {
            let found = rows(&run_on(scan.clone(), threads).unwrap());
            assert!(found == expected, "{name}, {threads} threads");
        }
    }
}

#[test]
fn an_offset_and_a_limit_without_an_order_cut_the_groups_in_the_order_of_their_first_row() {
    for (name, key) in keys() {
        let mut scan = query(&key);
        (scan.offset, scan.limit) = (17, Some(20_000));
        let expected: Vec<Row> = expected(&key).into_iter().skip(17).take(20_000).collect();
        let found = run_on(scan, 2).map(|batch| rows(&batch)).unwrap();
        assert!(found == expected, "{name}");
    }
}

#[test]
fn a_division_by_zero_in_one_group_of_many_is_the_result() {
    let key = integers((0..ROWS).map(Some));
    for zero in [0, ROWS / 2, ROWS - 1] {
        let mut scan = query(&key);
        let Output::Groups {
            keys,
            aggregates,
            having,
            ..
        } = &mut scan.output
        else {
            unreachable!("it groups")
        };
        let fields = SelectPlan::group_fields(keys, aggregates).unwrap();
        let k = Expr::column(0, &fields[0]);
        let less = Expr::arithmetic(columnar::Arithmetic::Subtract, k, Expr::int64(zero)).unwrap();
        let part = Expr::arithmetic(columnar::Arithmetic::Divide, Expr::int64(7), less).unwrap();
        *having = Some(Expr::compare(Comparison::Less, part, Expr::int64(1_000)).unwrap());
        for threads in [1, 2, 8] {
            let error = run_on(scan.clone(), threads).unwrap_err();
            assert!(
                matches!(error, ExecError::DivisionByZero { .. }),
                "{zero}: {error}"
            );
        }
    }
}

#[test]
fn shard_keys_and_pinned_keys_are_in_the_plan_and_not_in_the_result() {
    let numbers = |key: fn(i64) -> i64| integers((0..ROWS).map(|row| Some(key(row))));
    let batch = arrow::array::RecordBatch::try_from_iter([
        (
            "a",
            arrow::compute::cast(&numbers(|row| row % 7), &arrow::datatypes::DataType::Int32).unwrap(),
        ),
        (
            "b",
            arrow::compute::cast(
                &numbers(|row| scrambled(row) % 20_000),
                &arrow::datatypes::DataType::Int32,
            )
            .unwrap(),
        ),
        ("n", numbers(|row| row)),
    ])
    .unwrap();
    let plain = MemoryTable::try_new("t", batch.schema(), [batch.clone()]).unwrap();
    let declared = MemoryTable::try_new("t", batch.schema(), [batch])
        .unwrap()
        .with_shard_key(vec![0]);
    let scan = |table: MemoryTable, shard_key: Option<Vec<usize>>| {
        let table = Arc::new(table);
        let [a, b, n] = ["a", "b", "n"].map(|name| column(table.as_ref(), name));
        let sum = Aggregate::new(AggregateFunction::Sum, Some(n)).unwrap();
        let mut scan = grouped(table, vec![a, b], vec![sum]);
        scan.shard_key = shard_key;
        scan
    };
    let by_keys = scan(plain, None);
    assert!(!by_keys.to_string().contains("partition"), "{by_keys}");
    let whole = run_on(by_keys, 2).unwrap();
    let by_table = scan(declared, None);
    assert!(
        by_table
            .to_string()
            .contains("partitions by a, the shard key of the table"),
        "{by_table}"
    );
    let mut by_query = by_table.clone();
    by_query.shard_key = Some(vec![1]);
    assert!(
        by_query
            .to_string()
            .contains("partitions by b, the shard key of the query"),
        "{by_query}"
    );
    let mut by_another = by_table.clone();
    by_another.shard_key = Some(vec![2]);
    assert!(!by_another.to_string().contains("partitions by"), "n is no key");
    for threads in [1, 3] {
        for scan in [&by_table, &by_query, &by_another] {
            assert_eq!(run_on(scan.clone(), threads).unwrap(), whole);
        }
    }
    let mut pinned = by_table;
    let equal = |at: usize, value: i64| {
        let column = Expr::column(at, pinned.table.schema().field(at));
        Expr::compare(Comparison::Equal, column, Expr::int64(value)).unwrap()
    };
    let (first, second) = (equal(0, 3), equal(1, scrambled(3) % 20_000));
    pinned.filter = Some(first.clone());
    assert!(!pinned.to_string().contains("one partition"), "b has many values");
    pinned.filter = Some(Expr::and(first, second).unwrap());
    assert!(
        pinned
            .to_string()
            .contains("one partition: the filter leaves each key one value"),
        "{pinned}"
    );
    assert_eq!(run_on(pinned, 2).unwrap().num_rows(), 1);
}
