//! Which rows a filter lets through, and which rows a condition that can fail gets to see.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, StringArray};
use columnar::{Arithmetic, Comparison, ExecError, Expr, Output, TableSource};
use proptest::prelude::*;

use crate::scan::{column, integers, rows_where, run, scan, table, values};

fn divides(dividend: i64, divisor: Expr, more_than: i64) -> Expr {
    let quotient = Expr::arithmetic(Arithmetic::Divide, Expr::int64(dividend), divisor).unwrap();
    Expr::compare(Comparison::Greater, quotient, Expr::int64(more_than)).unwrap()
}

fn compare(op: Comparison, left: Expr, right: i64) -> Expr {
    Expr::compare(op, left, Expr::int64(right)).unwrap()
}

#[test]
fn a_condition_that_can_fail_sees_only_rows_that_those_before_it_let_through() {
    let table = table([("b", integers([Some(0), Some(2), None, Some(20)]))]);
    let b = || column(table.as_ref(), "b");
    let guarded = Expr::and(compare(Comparison::NotEqual, b(), 0), divides(10, b(), 1)).unwrap();
    assert_eq!(
        values(&run(rows_where(&table, Some(guarded), &["b"])).unwrap(), 0),
        [Some(2)]
    );

    let unguarded = Expr::and(divides(10, b(), 1), compare(Comparison::NotEqual, b(), 0)).unwrap();
    let error = run(rows_where(&table, Some(unguarded), &["b"])).unwrap_err();
    assert!(
        matches!(&error, ExecError::DivisionByZero { expression } if expression == "10 / b"),
        "{error}"
    );
}

#[test]
fn the_right_of_an_or_is_evaluated_only_where_the_left_is_not_true() {
    let table = table([("b", integers([Some(0), Some(2), None, Some(20)]))]);
    let b = || column(table.as_ref(), "b");
    let guarded = Expr::or(compare(Comparison::Equal, b(), 0), divides(10, b(), 1)).unwrap();
    assert_eq!(
        values(&run(rows_where(&table, Some(guarded), &["b"])).unwrap(), 0),
        [Some(0), Some(2)]
    );
}

#[test]
fn null_divided_by_zero_is_null() {
    let table = table([("a", integers([None, None])), ("b", integers([Some(0), None]))]);
    let quotient = Expr::arithmetic(
        Arithmetic::Divide,
        column(table.as_ref(), "a"),
        column(table.as_ref(), "b"),
    )
    .unwrap();
    let output = Output::Rows {
        columns: vec![("q".to_owned(), quotient)],
    };
    assert_eq!(values(&run(scan(table, None, output)).unwrap(), 0), [None, None]);
}

#[test]
fn floats_divide_by_zero_no_more_than_integers_do() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(-0.0)]));
    let table = table([("x", floats)]);
    let one = Expr::literal(Arc::new(Float64Array::from(vec![1.0])));
    let inverse = Expr::arithmetic(Arithmetic::Divide, one, column(table.as_ref(), "x")).unwrap();
    let output = Output::Rows {
        columns: vec![("q".to_owned(), inverse)],
    };
    let error = run(scan(table, None, output)).unwrap_err();
    assert!(matches!(error, ExecError::DivisionByZero { .. }), "{error}");
}

#[test]
fn nan_is_the_largest_float_and_equals_itself_and_the_zeros_are_equal() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![
        f64::NAN,
        -f64::NAN,
        0.0,
        -0.0,
        f64::INFINITY,
    ]));
    let table = table([("x", floats), ("row", integers((0..5).map(Some)))]);
    let kept = |op, value: f64| {
        let bound = Expr::literal(Arc::new(Float64Array::from(vec![value])));
        let filter = Expr::compare(op, column(table.as_ref(), "x"), bound).unwrap();
        let rows = values(&run(rows_where(&table, Some(filter), &["row"])).unwrap(), 0);
        rows.into_iter().flatten().collect::<Vec<_>>()
    };
    assert_eq!(kept(Comparison::Equal, f64::NAN), [0, 1]);
    assert_eq!(kept(Comparison::Greater, f64::INFINITY), [0, 1]);
    assert_eq!(kept(Comparison::Equal, 0.0), [2, 3]);
    assert_eq!(kept(Comparison::Less, 0.0), [0i64; 0]);
}

#[test]
fn a_list_with_null_is_never_known_not_to_hold_a_value() {
    let table = table([("a", integers([Some(1), Some(2), None]))]);
    let list = Expr::in_list(column(table.as_ref(), "a"), vec![Expr::int64(1), Expr::null()]).unwrap();
    let inside = run(rows_where(&table, Some(list.clone()), &["a"])).unwrap();
    assert_eq!(values(&inside, 0), [Some(1)]);
    let outside = run(rows_where(&table, Some(Expr::not(list).unwrap()), &["a"])).unwrap();
    assert_eq!(outside.num_rows(), 0);
}

#[test]
fn a_long_list_holds_what_a_chain_of_equalities_does() {
    let table = table([("a", integers((0..1000).map(|n| (n % 7 != 0).then_some(n))))]);
    let a = || column(table.as_ref(), "a");
    let items: Vec<Expr> = (0..1000).step_by(13).map(Expr::int64).collect();
    let chain = items
        .iter()
        .cloned()
        .map(|item| Expr::compare(Comparison::Equal, a(), item).unwrap());
    let chain = chain
        .reduce(|left, right| Expr::or(left, right).unwrap())
        .unwrap();
    let list = Expr::in_list(a(), items).unwrap();
    let by_list = run(rows_where(&table, Some(list), &["a"])).unwrap();
    let by_chain = run(rows_where(&table, Some(chain), &["a"])).unwrap();
    assert_eq!(by_list, by_chain);
    assert!(by_list.num_rows() > 50);
}

#[test]
fn like_takes_its_wildcards_and_the_escape() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a%c"),
        Some("abc"),
        None,
        Some("ac"),
    ]));
    let table = table([("s", texts)]);
    let kept = |pattern: &str| {
        let like = Expr::like(column(table.as_ref(), "s"), Expr::text(pattern), false).unwrap();
        let rows = run(rows_where(&table, Some(like), &["s"])).unwrap();
        rows.column(0)
            .as_string::<i32>()
            .iter()
            .flatten()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(kept("a_c"), ["a%c", "abc"]);
    assert_eq!(kept("a%"), ["a%c", "abc", "ac"]);
    assert_eq!(kept("a\\%c"), ["a%c"]);
}

fn condition() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        (0..3usize, 0..6u8, -3..4i64).prop_map(|(column, op, value)| Shape::Compare(column, op, value)),
        (0..3usize, 0..3usize, 0..6u8).prop_map(|(left, right, op)| Shape::Columns(left, right, op)),
        (0..3usize).prop_map(Shape::IsNull),
        (
            0..3usize,
            proptest::collection::vec(proptest::option::of(-3..4i64), 1..4)
        )
            .prop_map(|(column, list)| Shape::In(column, list)),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            3 => proptest::collection::vec(inner.clone(), 2..4).prop_map(Shape::And),
            2 => proptest::collection::vec(inner.clone(), 2..4).prop_map(Shape::Or),
            1 => inner.prop_map(|shape| Shape::Not(Box::new(shape))),
        ]
    })
}

#[derive(Clone, Debug)]
enum Shape {
    Compare(usize, u8, i64),
    Columns(usize, usize, u8),
    IsNull(usize),
    In(usize, Vec<Option<i64>>),
    And(Vec<Shape>),
    Or(Vec<Shape>),
    Not(Box<Shape>),
}

const OPS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessEqual,
    Comparison::Greater,
    Comparison::GreaterEqual,
];

impl Shape {
    fn expr(&self, table: &dyn TableSource) -> Expr {
        let column = |at: usize| column(table, ["a", "b", "c"][at]);
        match self {
            Self::Compare(at, op, value) => compare(OPS[usize::from(*op)], column(*at), *value),
            Self::Columns(left, right, op) => {
                Expr::compare(OPS[usize::from(*op)], column(*left), column(*right)).unwrap()
            }
            Self::IsNull(at) => Expr::is_null(column(*at)),
            Self::In(at, list) => {
                let items = list
                    .iter()
                    .map(|item| item.map_or_else(Expr::null, Expr::int64))
                    .collect();
                Expr::in_list(column(*at), items).unwrap()
            }
            Self::And(parts) => join(parts, table, Expr::and),
            Self::Or(parts) => join(parts, table, Expr::or),
            Self::Not(inner) => Expr::not(inner.expr(table)).unwrap(),
        }
    }

    fn truth(&self, row: [Option<i64>; 3]) -> Option<bool> {
        let holds = |op: u8, left: i64, right: i64| match OPS[usize::from(op)] {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterEqual => left >= right,
        };
        match self {
            Self::Compare(at, op, value) => row[*at].map(|left| holds(*op, left, *value)),
            Self::Columns(left, right, op) => Some(holds(*op, row[*left]?, row[*right]?)),
            Self::IsNull(at) => Some(row[*at].is_none()),
            Self::In(at, list) => {
                let value = row[*at]?;
                if list.contains(&Some(value)) {
                    Some(true)
                } else if list.contains(&None) {
                    None
                } else {
                    Some(false)
                }
            }
            Self::And(parts) => {
                let truths: Vec<_> = parts.iter().map(|part| part.truth(row)).collect();
                if truths.contains(&Some(false)) {
                    Some(false)
                } else {
                    (!truths.contains(&None)).then_some(true)
                }
            }
            Self::Or(parts) => {
                let truths: Vec<_> = parts.iter().map(|part| part.truth(row)).collect();
                if truths.contains(&Some(true)) {
                    Some(true)
                } else {
                    (!truths.contains(&None)).then_some(false)
                }
            }
            Self::Not(inner) => inner.truth(row).map(|truth| !truth),
        }
    }
}

fn join(
    parts: &[Shape],
    table: &dyn TableSource,
    op: fn(Expr, Expr) -> Result<Expr, columnar::TypeError>,
) -> Expr {
    parts
        .iter()
        .map(|part| part.expr(table))
        .reduce(|left, right| op(left, right).unwrap())
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_filter_keeps_the_rows_for_which_three_valued_logic_says_true(
        shape in condition(),
        rows in proptest::collection::vec(
            [proptest::option::of(-3..4i64), proptest::option::of(-3..4i64), proptest::option::of(-3..4i64)],
            0..60,
        ),
    ) {
        let column_of = |at: usize| integers(rows.iter().map(|row| row[at]));
        let numbers = integers((0..rows.len() as i64).map(Some));
        let table = table([("a", column_of(0)), ("b", column_of(1)), ("c", column_of(2)), ("row", numbers)]);
        let filter = shape.expr(table.as_ref());

        let kept = run(rows_where(&table, Some(filter.clone()), &["row"])).unwrap();
        let expected = rows.iter().enumerate().filter(|(_, row)| shape.truth(**row) == Some(true));
        prop_assert_eq!(values(&kept, 0), expected.map(|(at, _)| Some(at as i64)).collect::<Vec<_>>());

        let output = Output::Rows { columns: vec![("truth".to_owned(), filter)] };
        let truths = run(scan(table, None, output)).unwrap();
        let truths: Vec<_> = truths.column(0).as_boolean().iter().collect();
        prop_assert_eq!(truths, rows.iter().map(|row| shape.truth(*row)).collect::<Vec<_>>());
    }
}

#[test]
fn a_filter_that_is_constant_keeps_all_or_nothing() {
    let table = table([("a", integers([Some(1), None]))]);
    for (constant, rows) in [
        (Expr::boolean(true), 2),
        (Expr::boolean(false), 0),
        (Expr::null(), 0),
    ] {
        let filter = Expr::condition(constant).unwrap();
        assert_eq!(
            run(rows_where(&table, Some(filter), &["a"])).unwrap().num_rows(),
            rows
        );
    }
}

#[test]
fn columns_that_are_all_null_are_neither_equal_nor_unequal() {
    let table = table([("a", integers([None, None, None]))]);
    let a = || column(table.as_ref(), "a");
    for op in OPS {
        assert_eq!(
            run(rows_where(&table, Some(compare(op, a(), 1)), &["a"]))
                .unwrap()
                .num_rows(),
            0
        );
    }
    let nulls = run(rows_where(&table, Some(Expr::is_null(a())), &["a"])).unwrap();
    assert_eq!(nulls.column(0).null_count(), 3);
}
