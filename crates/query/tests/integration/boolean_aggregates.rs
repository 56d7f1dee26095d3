//! `bool_and` in SQL: over groups and all rows, in HAVING and ORDER BY, on any number of threads.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use columnar::TableSource;

use crate::differential::tiny_table::TinyTable;
use crate::run::{Cell, Row, assert_same_bits, catalog, executors, query, rows};

const NO: Cell = Cell::Bool(false);
const YES: Cell = Cell::Bool(true);

/// Group 1 is true, 2 false, 3 without a value; the key NULL is true beside a NULL.
fn table() -> Arc<dyn TableSource> {
    let keys = [Some(1), Some(2), Some(3), None, Some(2), Some(1), None, Some(2)];
    let bits = [
        Some(true),
        Some(true),
        None,
        None,
        Some(false),
        Some(true),
        Some(true),
        None,
    ];
    let columns: [(&str, ArrayRef, bool); 2] = [
        ("k", Arc::new(Int64Array::from_iter(keys)), true),
        ("b", Arc::new(BooleanArray::from_iter(bits)), true),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length");
    Arc::new(TinyTable::of(batch, 2))
}

fn answer(sql: &str) -> Vec<Row> {
    let tables = catalog(table());
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
fn each_group_and_all_rows_are_true_unless_a_value_is_false() {
    // Groups come in the order of their first row.
    let by_key = answer("select bool_and(b) from t group by k");
    assert_eq!(by_key, [[YES], [NO], [Cell::Null], [YES]]);
    assert_eq!(
        answer("select bool_and(b), BOOL_AND(b) from t where k = 2"),
        [[NO, NO]]
    );
    assert_eq!(answer("select bool_and(b) from t"), [[NO]]);
}

#[test]
fn of_no_value_it_is_null() {
    for condition in ["k = 3", "k < 0", "b is null"] {
        let sql = format!("select bool_and(b) from t where {condition}");
        assert_eq!(answer(&sql), [[Cell::Null]], "{sql}");
    }
    assert_eq!(answer("select bool_and(null) from t"), [[Cell::Null]]);
    assert!(answer("select bool_and(b) from t where k < 0 group by k").is_empty());
}

#[test]
fn it_stands_where_a_condition_may() {
    let kept = answer("select k from t group by k having bool_and(b) order by k");
    assert_eq!(kept, [[Cell::Int(1)], [Cell::Null]]);
    let ordered = answer("select k, not bool_and(k > 1) from t group by k order by bool_and(b), k");
    let (k, null) = (Cell::Int, Cell::Null);
    assert_eq!(
        ordered,
        [[k(2), NO], [k(1), YES], [null.clone(), null.clone()], [k(3), NO]]
    );
}
