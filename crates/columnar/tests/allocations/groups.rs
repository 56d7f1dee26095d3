//! What a grouping allocates beyond its reservation.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use columnar::{
    Aggregate, AggregateFunction, Expr, MemoryPool, MemoryTable, Output, ScanStage, SelectPlan, SortKey,
    TableSource,
};
use pipeline_exec::Job;

use crate::counted;

const ROWS: i64 = 400_000;

/// Bytes not reserved, as they do not grow with the groups: the current chunk's columns and encoded
/// keys, plans, the job.
const BESIDE: u64 = 512 * 1024;

fn table(groups: i64) -> Arc<MemoryTable> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row % groups)));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| {
            format!("a text that has no place in a word {}", row % groups)
        })));
    let batch = RecordBatch::try_from_iter([("number", numbers), ("text", texts)]).expect("two columns");
    Arc::new(MemoryTable::try_new("t", batch.schema(), [batch]).expect("of one schema"))
}

/// Runs on this thread; returns whether that succeeded.
fn group(table: &Arc<MemoryTable>, key: usize, sorted: bool, pool: Arc<MemoryPool>) -> bool {
    let aggregates = [
        (AggregateFunction::Count, None),
        (AggregateFunction::Sum, Some(0)),
        (AggregateFunction::Max, Some(1)),
    ];
    aggregate(table, &aggregates, key, sorted, pool)
}

fn aggregate(
    table: &Arc<MemoryTable>,
    functions: &[(AggregateFunction, Option<usize>)],
    key: usize,
    sorted: bool,
    pool: Arc<MemoryPool>,
) -> bool {
    let schema = table.schema();
    let column = |at: usize| Expr::column(at, schema.field(at));
    let aggregate = |&(function, argument): &(AggregateFunction, Option<usize>)| {
        Aggregate::new(function, argument.map(column)).expect("an argument that the function takes")
    };
    let aggregates: Vec<Aggregate> = functions.iter().map(aggregate).collect();
    let keys = vec![column(key)];
    let fields = SelectPlan::group_fields(&keys, &aggregates).expect("comparable keys");
    let by =
        |at: usize| SortKey::new(Expr::column(at, &fields[at]), true, false).expect("numbers have an order");
    let columns = fields
        .iter()
        .enumerate()
        .map(|(at, field)| (field.name().clone(), Expr::column(at, field)))
        .collect();
    let output = Output::Groups {
        keys,
        aggregates,
        having: None,
        columns,
    };
    let stage = Arc::new(ScanStage::new(SelectPlan {
        order: if sorted { vec![by(2)] } else { vec![] },
        memory_pool: Some(pool),
        ..SelectPlan::new(table.clone(), output)
    }));
    let output = Arc::clone(&stage);
    let job = Job::builder("t")
        .stage(stage)
        .output(move |_| output.merge())
        .build();
    while let Some(slot) = job.get_next() {
        if slot.is_err() {
            return false;
        }
    }
    true
}

#[test]
fn a_grouping_takes_what_it_charges_and_no_more_than_a_tenth_beside() {
    for groups in [4, 10_000, ROWS] {
        let table = table(groups);
        for (key, sorted) in [(0, false), (0, true), (1, false), (1, true)] {
            let pool = Arc::new(MemoryPool::new("measured", usize::MAX));
            let (done, info) = counted(|| group(&table, key, sorted, pool.clone()));
            let reserved = pool.peak() as u64;
            assert!(done);
            assert!(
                info.bytes_max <= reserved * 11 / 10 + BESIDE,
                "{groups} groups by column {key}, sorted {sorted}: {} for {reserved}",
                info.bytes_max
            );
        }
    }
}

#[test]
fn a_grouping_over_its_quota_has_not_taken_more_than_that() {
    let table = table(ROWS);
    for key in [0, 1] {
        for limit in [1_000_000, 8_000_000, 30_000_000] {
            let pool = Arc::new(MemoryPool::new("bounded", limit));
            let (done, info) = counted(|| group(&table, key, false, pool.clone()));
            assert!(!done, "{limit} bytes are not enough");
            assert!(
                info.bytes_max <= limit as u64 * 11 / 10 + BESIDE,
                "{limit}: {}",
                info.bytes_max
            );
        }
    }
}

#[test]
fn an_aggregate_that_keeps_values_takes_what_it_charges() {
    for groups in [4, 10_000] {
        let table = table(groups);
        for function in [
            (AggregateFunction::CountDistinct, Some(0)),
            (AggregateFunction::CountDistinct, Some(1)),
            (AggregateFunction::Median, Some(0)),
            (AggregateFunction::StddevSamp, Some(0)),
        ] {
            let pool = Arc::new(MemoryPool::new("measured", usize::MAX));
            let (done, info) = counted(|| aggregate(&table, &[function], 0, false, pool.clone()));
            let reserved = pool.peak() as u64;
            assert!(done);
            assert!(
                info.bytes_max <= reserved * 11 / 10 + BESIDE,
                "{function:?} of {groups} groups: {} for {reserved}",
                info.bytes_max
            );
        }
    }
}

#[test]
fn a_median_over_its_quota_has_not_taken_more_than_that() {
    let table = table(10_000);
    let pool = Arc::new(MemoryPool::new("bounded", 1_000_000));
    let median = [(AggregateFunction::Median, Some(0))];
    let (done, info) = counted(|| aggregate(&table, &median, 0, false, pool.clone()));
    assert!(!done, "400,000 values of 8 bytes do not fit");
    assert!(info.bytes_max <= 1_100_000 + BESIDE, "{}", info.bytes_max);
}
