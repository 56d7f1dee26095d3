//! Sums, counts and extremes, with and without groups.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array, RecordBatch,
    RecordBatchOptions, StringArray,
};
use arrow::datatypes::{Decimal128Type, Decimal256Type, Float64Type, Schema, i256};
use columnar::{
    Aggregate, AggregateFunction, Arithmetic, Comparison, ExecError, Expr, MemoryTable, Output, SelectPlan,
    TableSource,
};

use crate::scan::{column, grouped, integers, run, scan, table, values};

const FUNCTIONS: [AggregateFunction; 5] = [
    AggregateFunction::Count,
    AggregateFunction::Sum,
    AggregateFunction::Min,
    AggregateFunction::Max,
    AggregateFunction::Avg,
];

fn plan_of(
    table: Arc<dyn TableSource>,
    keys: Vec<Expr>,
    functions: &[AggregateFunction],
    of: Expr,
) -> SelectPlan {
    let aggregates = functions
        .iter()
        .map(|&function| Aggregate::new(function, Some(of.clone())).unwrap())
        .collect();
    grouped(table, keys, aggregates)
}

fn decimals(values: impl IntoIterator<Item = i128>, precision: u8, scale: i8) -> ArrayRef {
    Arc::new(
        Decimal128Array::from_iter_values(values)
            .with_precision_and_scale(precision, scale)
            .unwrap(),
    )
}

fn average(result: &RecordBatch, column: usize, row: usize) -> Option<f64> {
    let values = result.column(column).as_primitive::<Float64Type>();
    values.is_valid(row).then(|| values.value(row))
}

#[test]
fn aggregates_leave_null_out() {
    let table = table([("n", integers([Some(3), None, Some(-1), Some(5)]))]);
    let n = column(table.as_ref(), "n");
    let result = run(plan_of(table, vec![], &FUNCTIONS, n)).unwrap();
    let firsts: Vec<_> = (0..4).map(|at| values(&result, at)[0]).collect();
    assert_eq!(firsts, [Some(3), Some(7), Some(-1), Some(5)]);
    assert_eq!(average(&result, 4, 0), Some(7.0 / 3.0));
}

#[test]
fn of_no_value_the_count_is_zero_and_the_rest_is_null() {
    for rows in [vec![], vec![None, None]] {
        let table = table([("n", integers(rows))]);
        let n = column(table.as_ref(), "n");
        let result = run(plan_of(table, vec![], &FUNCTIONS, n)).unwrap();
        assert_eq!(values(&result, 0), [Some(0)]);
        assert!((1..5).all(|at| result.column(at).is_null(0)), "{result:?}");
    }
}

#[test]
fn an_empty_table_has_no_groups() {
    let table = table([("n", integers([]))]);
    let n = column(table.as_ref(), "n");
    let result = run(plan_of(table, vec![n.clone()], &FUNCTIONS, n)).unwrap();
    assert_eq!((result.num_rows(), result.num_columns()), (0, 6));
}

#[test]
fn rows_without_columns_are_counted() {
    let schema = Arc::new(Schema::empty());
    let options = RecordBatchOptions::new().with_row_count(Some(70_000));
    let rows = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
    let table = Arc::new(MemoryTable::try_new("t", schema, [rows]).unwrap());
    let count = Aggregate::new(AggregateFunction::Count, None).unwrap();
    assert_eq!(
        values(&run(grouped(table, vec![], vec![count])).unwrap(), 0),
        [Some(70_000)]
    );
}

#[test]
fn groups_come_in_the_order_of_their_first_row_across_morsels() {
    // Seen from the end: the last morsel alone holds group -1; group 7 is first met in the second.
    let rows = 200_000i64;
    let key = |row: i64| match row {
        0 => Some(42),
        70_000 => Some(7),
        199_999 => Some(-1),
        row if row % 3 == 0 => None,
        row => Some(row % 5),
    };
    let table = table([
        ("k", integers((0..rows).map(key))),
        ("n", integers((0..rows).map(Some))),
    ]);
    let (k, n) = (column(table.as_ref(), "k"), column(table.as_ref(), "n"));
    let result = run(plan_of(
        table,
        vec![k],
        &[AggregateFunction::Sum, AggregateFunction::Count],
        n,
    ))
    .unwrap();

    let mut expected: Vec<(Option<i64>, i64, i64)> = vec![];
    for row in 0..rows {
        match expected.iter_mut().find(|group| group.0 == key(row)) {
            Some(group) => (group.1, group.2) = (group.1 + row, group.2 + 1),
            None => expected.push((key(row), row, 1)),
        }
    }
    assert_eq!(
        values(&result, 0),
        expected.iter().map(|group| group.0).collect::<Vec<_>>()
    );
    assert_eq!(
        values(&result, 1),
        expected.iter().map(|group| Some(group.1)).collect::<Vec<_>>()
    );
    assert_eq!(
        values(&result, 2),
        expected.iter().map(|group| Some(group.2)).collect::<Vec<_>>()
    );
}

#[test]
fn text_has_a_smallest_and_a_largest() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        Some("pear"),
        None,
        Some("apple"),
        Some("zebra crossing"),
    ]));
    let table = table([("s", texts)]);
    let s = column(table.as_ref(), "s");
    let result = run(plan_of(
        table,
        vec![],
        &[AggregateFunction::Min, AggregateFunction::Max],
        s,
    ))
    .unwrap();
    assert_eq!(result.column(0).as_string::<i32>().value(0), "apple");
    assert_eq!(result.column(1).as_string::<i32>().value(0), "zebra crossing");
}

#[test]
fn sums_of_products_are_exact_decimals() {
    let prices = decimals([10_000_001, 33_333_333, 1], 15, 2);
    let discounts = decimals([5, 7, 10], 15, 2);
    let table = table([("price", prices), ("discount", discounts)]);
    let one_less = Expr::arithmetic(
        Arithmetic::Subtract,
        Expr::int64(1),
        column(table.as_ref(), "discount"),
    )
    .unwrap();
    let net = Expr::arithmetic(Arithmetic::Multiply, column(table.as_ref(), "price"), one_less).unwrap();
    let result = run(plan_of(table, vec![], &[AggregateFunction::Sum], net)).unwrap();
    let sum = result.column(0).as_primitive::<Decimal128Type>();
    assert_eq!(
        (sum.value(0), sum.scale()),
        (10_000_001 * 95 + 33_333_333 * 93 + 90, 4)
    );
}

#[test]
fn a_sum_overflows_by_its_value_and_not_by_the_order_of_its_rows() {
    let table = table([("n", integers([Some(i64::MAX), Some(i64::MAX), Some(-i64::MAX)]))]);
    let n = column(table.as_ref(), "n");
    let result = run(plan_of(table, vec![], &[AggregateFunction::Sum], n)).unwrap();
    assert_eq!(values(&result, 0), [Some(i64::MAX)]);

    let largest = 10i128.pow(38) - 1;
    let table = crate::scan::table([(
        "d",
        decimals([largest, largest, largest, -largest, -largest], 38, 0),
    )]);
    let d = column(table.as_ref(), "d");
    let result = run(plan_of(table, vec![], &[AggregateFunction::Sum], d)).unwrap();
    assert_eq!(
        result.column(0).as_primitive::<Decimal128Type>().value(0),
        largest
    );
}

#[test]
fn sums_of_76_digits_may_leave_256_bits_on_the_way() {
    let largest = i256::from_string(&"9".repeat(76)).unwrap();
    let decimals = |values: Vec<i256>| {
        let values = Decimal256Array::from(values)
            .with_precision_and_scale(76, 0)
            .unwrap();
        table([("d", Arc::new(values) as ArrayRef)])
    };
    let of = |table: Arc<MemoryTable>, function| {
        let d = column(table.as_ref(), "d");
        run(plan_of(table, vec![], &[function], d)).unwrap()
    };

    let tens = decimals(vec![largest; 10]);
    assert_eq!(
        average(&of(tens, AggregateFunction::Avg), 0, 0),
        Some(1e76),
        "ten times as much is no number of 256 bits"
    );

    let values = [vec![largest; 10], vec![-largest; 9]].concat();
    let there_and_back = of(decimals(values), AggregateFunction::Sum);
    let sum = there_and_back.column(0).as_primitive::<Decimal256Type>();
    assert_eq!(sum.value(0), largest);
}

#[test]
fn a_sum_that_leaves_its_type_is_an_error_that_names_it() {
    let integer_table = table([("n", integers([Some(i64::MAX), Some(1)]))]);
    let n = column(integer_table.as_ref(), "n");
    let error = run(plan_of(integer_table, vec![], &[AggregateFunction::Sum], n)).unwrap_err();
    assert!(
        matches!(&error, ExecError::Overflow { expression } if expression == "sum(n)"),
        "{error}"
    );

    let decimal_table = table([("d", decimals([10i128.pow(38) - 1, 1], 38, 0))]);
    let d = column(decimal_table.as_ref(), "d");
    let error = run(plan_of(decimal_table, vec![], &[AggregateFunction::Sum], d)).unwrap_err();
    assert!(
        matches!(&error, ExecError::Overflow { expression } if expression == "sum(d)"),
        "{error}"
    );
}

#[test]
fn a_product_that_leaves_its_type_is_an_error_that_names_it() {
    let table = table([("n", integers([Some(i64::MAX)]))]);
    let twice = Expr::arithmetic(Arithmetic::Multiply, column(table.as_ref(), "n"), Expr::int64(2)).unwrap();
    let error = run(plan_of(table, vec![], &[AggregateFunction::Max], twice)).unwrap_err();
    assert!(
        matches!(&error, ExecError::Overflow { expression } if expression == "n * 2"),
        "{error}"
    );
}

#[test]
fn an_average_is_taken_of_the_exact_sum() {
    // In doubles, 2^53 + 1 is 2^53: a running sum of doubles would lose every one.
    let rows = std::iter::once(Some(1i64 << 53)).chain(std::iter::repeat_n(Some(1), 1000));
    let table = table([("n", integers(rows))]);
    let n = column(table.as_ref(), "n");
    let result = run(plan_of(table, vec![], &[AggregateFunction::Avg], n)).unwrap();
    assert_eq!(
        average(&result, 0, 0),
        Some(((1i64 << 53) + 1000) as f64 / 1001.0)
    );
}

#[test]
fn extremes_of_floats_know_nan_and_one_zero() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, -f64::NAN, -5.0]));
    let table = table([("x", floats)]);
    let x = column(table.as_ref(), "x");
    let result = run(plan_of(
        table,
        vec![],
        &[AggregateFunction::Min, AggregateFunction::Max],
        x,
    ))
    .unwrap();
    assert_eq!(average(&result, 0, 0), Some(-5.0));
    assert!(average(&result, 1, 0).unwrap().is_nan());
}

#[test]
fn both_zeros_are_one_value_and_nan_is_another_above_all_numbers() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, 1.0]));
    let table = table([("x", floats)]);
    let x = column(table.as_ref(), "x");
    let functions = [
        AggregateFunction::CountDistinct,
        AggregateFunction::Median,
        AggregateFunction::VarSamp,
        AggregateFunction::StddevSamp,
    ];
    let result = run(plan_of(table, vec![], &functions, x)).unwrap();
    assert_eq!(values(&result, 0), [Some(3)]);
    assert_eq!(average(&result, 1, 0), Some(1.0));
    assert!((2..4).all(|at| average(&result, at, 0).unwrap().is_nan()));
}

#[test]
fn having_drops_groups_and_outputs_compute_with_them() {
    let table = table([
        ("k", integers([Some(1), Some(2), Some(1), Some(3)])),
        ("n", integers((10..14).map(Some))),
    ]);
    let keys = vec![column(table.as_ref(), "k")];
    let aggregates = vec![Aggregate::new(AggregateFunction::Sum, Some(column(table.as_ref(), "n"))).unwrap()];
    let fields = SelectPlan::group_fields(&keys, &aggregates).unwrap();
    let sum = || Expr::column(1, &fields[1]);
    let having = Expr::compare(Comparison::Greater, sum(), Expr::int64(11)).unwrap();
    let twice = Expr::arithmetic(Arithmetic::Multiply, Expr::int64(2), sum()).unwrap();
    let columns = vec![
        ("k".to_owned(), Expr::column(0, &fields[0])),
        ("twice".to_owned(), twice),
    ];
    let output = Output::Groups {
        keys,
        aggregates,
        having: Some(having),
        columns,
    };
    let result = run(scan(table, None, output)).unwrap();
    assert_eq!(values(&result, 0), [Some(1), Some(3)]);
    assert_eq!(values(&result, 1), [Some(44), Some(26)]);
}
