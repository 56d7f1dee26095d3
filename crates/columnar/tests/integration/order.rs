//! ORDER BY: several keys, NULLs at either end, ties in input order, and no more rows than the
//! limit.

use columnar::{Expr, SelectPlan, SortKey};

use crate::scan::{column, integers, rows_where, run, table, values};

fn ordered(mut scan: SelectPlan, keys: &[(Expr, bool, bool)]) -> SelectPlan {
    let key = |(expr, descending, nulls_first): &(Expr, bool, bool)| {
        SortKey::new(expr.clone(), *descending, *nulls_first).unwrap()
    };
    scan.order = keys.iter().map(key).collect();
    scan
}

#[test]
fn nulls_stand_at_the_end_that_is_asked_for() {
    let table = table([("a", integers([Some(2), None, Some(1), Some(3)]))]);
    let a = column(table.as_ref(), "a");
    let sorted = |descending, nulls_first| {
        let scan = ordered(
            rows_where(&table, None, &["a"]),
            &[(a.clone(), descending, nulls_first)],
        );
        values(&run(scan).unwrap(), 0)
    };
    assert_eq!(sorted(false, false), [Some(1), Some(2), Some(3), None]);
    assert_eq!(sorted(false, true), [None, Some(1), Some(2), Some(3)]);
    assert_eq!(sorted(true, false), [Some(3), Some(2), Some(1), None]);
    assert_eq!(sorted(true, true), [None, Some(3), Some(2), Some(1)]);
}

#[test]
fn rows_of_equal_keys_keep_their_order_across_morsels() {
    let rows = 150_000i64;
    let table = table([
        ("k", integers((0..rows).map(|row| Some(row % 3)))),
        ("row", integers((0..rows).map(Some))),
    ]);
    let scan = ordered(
        rows_where(&table, None, &["row"]),
        &[(column(table.as_ref(), "k"), true, false)],
    );
    let sorted = values(&run(scan).unwrap(), 0);
    let expected: Vec<_> = (0..3)
        .rev()
        .flat_map(|k| (0..rows).filter(move |row| row % 3 == k))
        .map(Some)
        .collect();
    assert_eq!(sorted, expected);
}

#[test]
fn later_keys_decide_where_earlier_ones_are_equal() {
    let table = table([
        ("a", integers([Some(1), Some(1), Some(0), Some(0)])),
        ("b", integers([Some(5), Some(6), Some(7), Some(8)])),
    ]);
    let (a, b) = (column(table.as_ref(), "a"), column(table.as_ref(), "b"));
    let scan = ordered(
        rows_where(&table, None, &["b"]),
        &[(a, false, false), (b, true, false)],
    );
    assert_eq!(
        values(&run(scan).unwrap(), 0),
        [Some(8), Some(7), Some(6), Some(5)]
    );
}

#[test]
fn a_limit_after_an_order_takes_the_first_of_all_rows() {
    let rows = 200_000i64;
    // A permutation: 99,991 is prime to the number of rows.
    let value = |row: i64| row * 99_991 % rows;
    let table = table([("a", integers((0..rows).map(|row| Some(value(row)))))]);
    let mut scan = ordered(
        rows_where(&table, None, &["a"]),
        &[(column(table.as_ref(), "a"), false, false)],
    );
    (scan.offset, scan.limit) = (3, Some(4));
    assert_eq!(
        values(&run(scan).unwrap(), 0),
        [Some(3), Some(4), Some(5), Some(6)]
    );
}

#[test]
fn an_order_with_limit_zero_gives_no_rows() {
    let table = table([("a", integers([Some(2), Some(1)]))]);
    let mut scan = ordered(
        rows_where(&table, None, &["a"]),
        &[(column(table.as_ref(), "a"), false, false)],
    );
    scan.limit = Some(0);
    assert_eq!(run(scan).unwrap().num_rows(), 0);
}
