//! A result is the same for any number of threads, to the last bit of a float.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use columnar::{Aggregate, Comparison, Expr, Output, SelectPlan};

use crate::every_aggregate::functions_of_doubles;
use crate::scan::{column, integers, run_on, scan, table};

/// Floats of very different sizes, so that any other order of additions gives another sum.
fn spread(rows: i64) -> ArrayRef {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    Arc::new(Float64Array::from_iter_values((0..rows).map(|_| {
        let bits = next();
        ((bits >> 12) as f64 - (1u64 << 51) as f64) * 2f64.powi((bits % 80) as i32 - 40)
    })))
}

#[test]
fn results_of_floats_are_bit_identical_on_1_2_3_and_8_threads() {
    let rows = 400_000;
    let table = table([
        ("x", spread(rows)),
        ("k", integers((0..rows).map(|row| Some(row * row % 11)))),
    ]);
    let x = || column(table.as_ref(), "x");
    for keys in [vec![], vec![column(table.as_ref(), "k")]] {
        let aggregates: Vec<Aggregate> = functions_of_doubles()
            .map(|function| Aggregate::new(function, Some(x())).unwrap())
            .collect();
        let fields = SelectPlan::group_fields(&keys, &aggregates).unwrap();
        let columns: Vec<_> = fields
            .iter()
            .enumerate()
            .map(|(at, field)| (field.name().clone(), Expr::column(at, field)))
            .collect();
        let filter =
            Expr::compare(Comparison::NotEqual, column(table.as_ref(), "k"), Expr::int64(3)).unwrap();
        let output = Output::Groups {
            keys,
            aggregates,
            having: None,
            columns,
        };
        let query = scan(table.clone(), Some(filter), output);
        let one = run_on(query.clone(), 1).unwrap();
        for threads in [2, 3, 8] {
            assert_eq!(run_on(query.clone(), threads).unwrap(), one, "{threads} threads");
        }
    }
}
