//! Groups within a memory pool: the query reserves before it allocates, a failure names the query,
//! and no result is partial.

use std::sync::Arc;

use arrow::array::StringArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use columnar::{
    Aggregate, AggregateFunction, Comparison, ExecError, Expr, MemoryPool, MemoryTable, Output, ScanStage,
    SelectPlan, SortKey,
};
use pipeline_exec::Job;

use crate::scan::{column, grouped, integers, run_on, table, values};

const ROWS: i64 = 200_000;

fn rows(groups: i64) -> Arc<MemoryTable> {
    rows_with(groups, &DataType::Utf8)
}

fn rows_with(groups: i64, text_type: &DataType) -> Arc<MemoryTable> {
    let texts = |text: &dyn Fn(i64) -> String| {
        let texts = StringArray::from_iter_values((0..ROWS).map(text));
        cast(&texts, text_type).unwrap()
    };
    table([
        ("number", integers((0..ROWS).map(|row| Some(row % groups)))),
        (
            "text",
            texts(&|row| format!("a text that has no place in a word {}", row % groups)),
        ),
        ("note", texts(&|row| "n".repeat((row * 7 % 53) as usize))),
    ])
}

fn count_sum_and_extreme(table: &Arc<MemoryTable>, key: &str, pool: &Arc<MemoryPool>) -> SelectPlan {
    let number = column(table.as_ref(), "number");
    let note = column(table.as_ref(), "note");
    let aggregates = [
        (AggregateFunction::Count, None),
        (AggregateFunction::Sum, Some(number)),
        (AggregateFunction::Max, Some(note)),
    ]
    .map(|(function, argument)| Aggregate::new(function, argument).unwrap());
    let mut scan = grouped(
        table.clone(),
        vec![column(table.as_ref(), key)],
        aggregates.to_vec(),
    );
    scan.memory_pool = Some(Arc::clone(pool));
    scan
}

/// Views share their buffers, which are reserved once, not per holder.
#[test]
fn texts_that_are_views_need_no_larger_quota_than_others() {
    let (texts, views) = (rows(ROWS), rows_with(ROWS, &DataType::Utf8View));
    for key in ["number", "text"] {
        let needed = |table: &Arc<MemoryTable>| {
            let pool = Arc::new(MemoryPool::new("measured", usize::MAX));
            let result = run_on(count_sum_and_extreme(table, key, &pool), 1).unwrap();
            assert_eq!((result.num_rows(), pool.used()), (ROWS as usize, 0));
            pool.peak()
        };
        let (of_texts, of_views) = (needed(&texts), needed(&views));
        assert!(
            of_views <= 2 * of_texts,
            "by {key}: {of_views} and {of_texts} bytes"
        );
    }
}

#[test]
fn a_quota_that_suffices_changes_no_result_and_is_free_again() {
    for groups in [1, 4, 5_000, ROWS] {
        let table = rows(groups);
        for key in ["number", "text"] {
            let pool = Arc::new(MemoryPool::new("measured", usize::MAX));
            let measured = run_on(count_sum_and_extreme(&table, key, &pool), 1).unwrap();
            assert_eq!(pool.used(), 0, "{groups} groups by {key}");
            assert_eq!(measured.num_rows(), groups as usize);
            assert!(pool.peak() > groups as usize * 32, "{groups} groups by {key}");
            // Each of three threads may hold as much as the single one did.
            let enough = Arc::new(MemoryPool::new("enough", 4 * pool.peak()));
            let bounded = run_on(count_sum_and_extreme(&table, key, &enough), 3).unwrap();
            assert_eq!(bounded, measured);
            assert_eq!(enough.used(), 0);
        }
    }
}

fn went_well_by_hand(scan: SelectPlan) -> bool {
    let stage = Arc::new(ScanStage::new(scan));
    let mut job = Job::builder("by hand").stage(stage.clone());
    for following in stage.following() {
        job = job.stage(following);
    }
    let job = job.output(move |_| stage.merge()).build();
    while let Some(slot) = job.get_next() {
        if slot.is_err() {
            return false;
        }
    }
    true
}

/// A plan that explains a stage may keep it longer than its query.
#[test]
fn tables_that_slots_handed_over_are_free_after_an_end_that_failed() {
    let table = rows(5_000);
    let stage_in =
        |pool: &Arc<MemoryPool>| Arc::new(ScanStage::new(count_sum_and_extreme(&table, "number", pool)));
    let pool = Arc::new(MemoryPool::new("measured", usize::MAX));
    let stage = stage_in(&pool);
    let job = Job::builder("one slot").stage(stage.clone()).build();
    job.get_next().expect("there are slots").unwrap();
    assert!(pool.used() > 0);
    stage.merge().map(drop).expect_err("only one slot has run");
    assert_eq!(pool.used(), 0);

    // Slots have room, their merge has none.
    let whole_scan = |stage: &Arc<ScanStage>| {
        let job = Job::builder("slots").stage(stage.clone()).build();
        while let Some(slot) = job.get_next() {
            slot.unwrap();
        }
    };
    let measured = Arc::new(MemoryPool::new("measured", usize::MAX));
    let stage = stage_in(&measured);
    whole_scan(&stage);
    let scanned = measured.peak();
    stage.merge().unwrap();
    let mut refused = 0;
    let between = measured.peak() - scanned;
    assert!(between > 0);
    for part in 0..8 {
        let pool = Arc::new(MemoryPool::new("bounded", scanned + between * part / 8));
        let stage = stage_in(&pool);
        whole_scan(&stage);
        refused += usize::from(stage.merge().is_err());
        assert_eq!(pool.used(), 0, "with {part} eighths");
    }
    assert_eq!(refused, 8);
}

/// The peak depends on the slots that run at once, so the exact need is known for one order only.
#[test]
fn one_byte_less_than_what_was_needed_is_not_enough() {
    let table = rows(ROWS);
    for key in ["number", "text"] {
        let measured = Arc::new(MemoryPool::new("measured", usize::MAX));
        assert!(went_well_by_hand(count_sum_and_extreme(&table, key, &measured)));
        for (limit, suffices) in [(measured.peak(), true), (measured.peak() - 1, false)] {
            let pool = Arc::new(MemoryPool::new("bounded", limit));
            let went_well = went_well_by_hand(count_sum_and_extreme(&table, key, &pool));
            assert_eq!(went_well, suffices, "{limit} bytes by {key}");
            assert!(pool.peak() <= limit);
            assert_eq!(pool.used(), 0);
        }
    }
}

#[test]
fn a_query_over_its_quota_fails_by_name_and_gives_all_back() {
    let table = rows(ROWS);
    for key in ["number", "text"] {
        let pool = Arc::new(MemoryPool::new("measured", usize::MAX));
        let whole = run_on(count_sum_and_extreme(&table, key, &pool), 1).unwrap();
        let needed = pool.peak();
        for threads in [1, 2, 8] {
            for limit in [0, 1, needed / 50, needed / 3, needed / 2, needed * 9 / 10] {
                let pool = Arc::new(MemoryPool::new("q18", limit));
                let result = run_on(count_sum_and_extreme(&table, key, &pool), threads);
                assert!(pool.peak() <= limit);
                assert_eq!(pool.used(), 0, "{limit} bytes, {threads} threads");
                let error = match result {
                    // Another order of slots may need less, but the result must be whole.
                    Ok(result) if limit > needed / 2 => {
                        assert_eq!(result, whole);
                        continue;
                    }
                    result => result.unwrap_err(),
                };
                let ExecError::Memory(refused) = error else {
                    panic!("another error: {error}");
                };
                assert_eq!((&*refused.query, refused.limit), ("q18", limit));
                assert!(refused.used + refused.requested > limit);
                assert!(
                    refused
                        .to_string()
                        .starts_with("query q18 is over its memory quota")
                );
            }
        }
    }
}

#[test]
fn groups_that_are_filtered_and_sorted_are_within_their_quota() {
    let table = rows(ROWS);
    for key in ["number", "text"] {
        let sorted = |pool: &Arc<MemoryPool>| {
            let mut scan = count_sum_and_extreme(&table, key, pool);
            let Output::Groups { having, columns, .. } = &mut scan.output else {
                unreachable!("they are groups")
            };
            let value = columns[2].1.clone();
            *having = Some(Expr::compare(Comparison::Less, value.clone(), Expr::int64(ROWS / 2)).unwrap());
            scan.order = vec![SortKey::new(value, true, false).unwrap()];
            scan
        };
        let pool = Arc::new(MemoryPool::new("sorted", usize::MAX));
        let whole = run_on(sorted(&pool), 2).unwrap();
        assert_eq!(whole.num_rows(), ROWS as usize / 2);
        assert_eq!(pool.used(), 0);
        let enough = Arc::new(MemoryPool::new("enough", 2 * pool.peak()));
        assert_eq!(run_on(sorted(&enough), 3).unwrap(), whole);
        assert_eq!(enough.used(), 0);
        let small = Arc::new(MemoryPool::new("small", pool.peak() / 4));
        assert!(matches!(run_on(sorted(&small), 2), Err(ExecError::Memory(_))));
        assert_eq!(small.used(), 0);
    }
}

#[test]
fn queries_have_quotas_of_their_own() {
    let table = rows(ROWS);
    let pool = Arc::new(MemoryPool::new("small", 10_000));
    assert!(run_on(count_sum_and_extreme(&table, "number", &pool), 2).is_err());
    let others = Arc::new(MemoryPool::new("large", usize::MAX));
    let result = run_on(count_sum_and_extreme(&table, "number", &others), 2).unwrap();
    assert_eq!(values(&result, 0).len(), ROWS as usize);
}
