//! What a grouping really takes beside what it has charged.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use columnar::{
    Aggregate, AggregateFunction, Expr, MemoryTable, Output, Quota, Scan, ScanStage, SortKey, TableSource,
};
use pipeline_exec::Job;

use crate::counted;

const ROWS: i64 = 400_000;

/// What is not charged, since it does not grow with the groups: the columns of the chunk at hand and how its keys are encoded,
/// plans, the job.
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

/// Groups by column `key` on this thread, by hand, the groups `sorted` by their sum or as they come; gives whether that went well.
fn group(table: &Arc<MemoryTable>, key: usize, sorted: bool, quota: Arc<Quota>) -> bool {
    let schema = table.schema();
    let column = |at: usize| Expr::column(at, schema.field(at));
    let aggregates = vec![
        Aggregate::new(AggregateFunction::Count, None).expect("of rows"),
        Aggregate::new(AggregateFunction::Sum, Some(column(0))).expect("of numbers"),
        Aggregate::new(AggregateFunction::Max, Some(column(1))).expect("of texts"),
    ];
    let keys = vec![column(key)];
    let fields = Scan::group_fields(&keys, &aggregates).expect("comparable keys");
    let sum = SortKey::new(Expr::column(2, &fields[2]), true, false).expect("numbers have an order");
    let columns = fields
        .iter()
        .enumerate()
        .map(|(at, field)| (field.name().clone(), Expr::column(at, field)))
        .collect();
    let stage = Arc::new(ScanStage::new(Scan {
        table: table.clone(),
        filter: None,
        output: Output::Groups {
            keys,
            aggregates,
            having: None,
            columns,
        },
        order: if sorted { vec![sum] } else { vec![] },
        offset: 0,
        limit: None,
        quota: Some(quota),
        shard_key: None,
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
            let quota = Arc::new(Quota::new("measured", usize::MAX));
            let (done, info) = counted(|| group(&table, key, sorted, quota.clone()));
            let charged = quota.peak() as u64;
            assert!(done);
            assert!(
                info.bytes_max <= charged * 11 / 10 + BESIDE,
                "{groups} groups by column {key}, sorted {sorted}: {} for {charged}",
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
            let quota = Arc::new(Quota::new("bounded", limit));
            let (done, info) = counted(|| group(&table, key, false, quota.clone()));
            assert!(!done, "{limit} bytes are not enough");
            assert!(
                info.bytes_max <= limit as u64 * 11 / 10 + BESIDE,
                "{limit}: {}",
                info.bytes_max
            );
        }
    }
}
