//! Rows by windlass's stages, below joins and sorts of DataFusion.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::prelude::{SessionConfig, SessionContext};
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::engine::{Engine, Operators, Plain, block_on_many_threads};
use crate::operators::{
    analyzed, analyzed_beside_plain, batches, condition, error_after, folder_of_two_files,
    folder_with_another_file, in_files, in_memory, jobs, plan, rows, write,
};
use crate::rows::assert_same;
use crate::source::eventually;

const NODE: &str = "WindlassScanExec";

fn query() -> impl Strategy<Value = String> {
    let columns = vec![
        "i32",
        "i64",
        "price",
        "day",
        "txt",
        "\"view\"",
        "f64",
        "i32 + i64",
        "abs(i32)",
    ];
    let columns = subsequence(columns, 1..6).prop_map(|columns| columns.join(", "));
    let filter = || prop_oneof![1 => Just(String::new()), 4 => condition().prop_map(|condition| format!("where {condition}"))];
    let table = move || filter().prop_map(|filter| format!("(select * from t {filter})"));
    let joins = select(vec![
        "left join",
        "join",
        "right join",
        "full join",
        "left semi join",
        "left anti join",
        "right semi join",
        "right anti join",
    ]);
    let on = select(vec![
        "a.i64 = b.i64 and a.day = b.day",
        "a.day = b.day and a.txt = b.\"view\" and a.i32 > b.i32",
        "a.price = b.price",
        "a.txt = b.txt and a.part = b.part and a.i32 is not distinct from b.i32",
    ]);
    let few = "(select * from t where i32 in (3, 4) and part = 0.01)";
    let joined = (joins, on, table(), proptest::bool::ANY).prop_map(move |(join, on, table, swaps)| {
        let (left, right) = if swaps {
            (table.as_str(), few)
        } else {
            (few, table.as_str())
        };
        let side = if join.starts_with("right ") && join != "right join" {
            "b"
        } else {
            "a"
        };
        format!("select {side}.i32, {side}.price, {side}.txt from {left} as a {join} {right} as b on {on}")
    });
    let sorted = (
        filter(),
        select(vec!["price", "day desc", "txt", "i64 desc, f64"]),
        1..40_usize,
    );
    let sorted = sorted.prop_map(|(filter, order, limit)| {
        // DataFusion takes i32 for a constant then, and leaves it out of the order.
        let filter = filter.replace("i32 / 2 = 1", "abs(i32) = 1");
        let all = "i32, i64, price, day, txt, \"view\", f64, part";
        format!("select * from t {filter} order by {order}, {all} limit {limit}")
    });
    let missing = table().prop_map(|table| {
        format!("select i32, day from t where i64 = 3 and i32 not in (select i32 from {table} where i64 = 1)")
    });
    let plain = (columns, filter()).prop_map(|(columns, filter)| format!("select {columns} from t {filter}"));
    prop_oneof![3 => plain, 4 => joined, 2 => sorted, 1 => missing]
}

#[test]
fn drawn_rows_and_joins_are_plain_datafusions() {
    let folder = folder_of_two_files();
    let batches = batches();
    let config = |partitions: usize| {
        SessionConfig::new()
            .with_target_partitions(partitions)
            .with_batch_size(300)
    };
    block_on_many_threads(async {
        let plain = Plain.session(3);
        in_memory(&plain, &batches);
        let mut ours = Vec::new();
        for workers in [1, 3] {
            let engine = Operators::with_workers(workers);
            let memory = engine.session_with(config(workers));
            in_memory(&memory, &batches);
            ours.push(("memory", memory));
            for pushes in [false, true] {
                let pushing = "datafusion.execution.parquet.pushdown_filters";
                let files = engine.session_with(config(workers).set_bool(pushing, pushes));
                in_files(&files, folder.path()).await;
                ours.push((if pushes { "files, filters pushed" } else { "files" }, files));
            }
        }
        let mut draws = TestRunner::deterministic();
        let (mut by_stages, draws_number) = (0, 300);
        for _draw in 0..draws_number {
            let sql = query().new_tree(&mut draws).expect("a query").current();
            let expected = rows(&plain, &sql).await;
            for (what, session) in &ours {
                assert_same(&expected, &rows(session, &sql).await, &format!("{what}: {sql}"));
            }
            by_stages += usize::from(plan(&ours[1].1, &sql).await.contains(NODE));
        }
        assert!(
            by_stages > draws_number / 2,
            "{by_stages} of {draws_number} by stages"
        );
    });
}

async fn files_of(engine: &Operators, batches: &[RecordBatch]) -> (SessionContext, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("a.parquet"), batches);
    let session = engine.session(2);
    in_files(&session, folder.path()).await;
    (session, folder)
}

/// Rows that the node has given, in all executions of its plan.
fn given(analyzed: &str) -> usize {
    let node = analyzed.lines().find(|line| line.contains(NODE)).expect(analyzed);
    let (_, rows) = node.split_once("output_rows=").expect(analyzed);
    let digits = rows.split(|end: char| !end.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).expect(analyzed)
}

#[test]
fn a_plan_shows_which_rows_and_columns_the_stages_give() {
    let engine = Operators::with_workers(2);
    block_on_many_threads(async {
        let (session, _folder) = files_of(&engine, &batches()).await;
        let text = plan(&session, "select txt from t where i32 > 3 and price < 7").await;
        assert!(text.contains(NODE), "{text}");
        assert!(text.contains("columns=[txt@"), "{text}");
        for left in [
            "select * from t where abs(i32) = 3",
            "select * from t where i32 + i64 > 3",
            "select i32 from t limit 10",
        ] {
            let text = plan(&session, left).await;
            assert!(
                !text.contains("filter=[abs") && !text.contains("filter=[i32@0 +"),
                "{text}"
            );
        }
        let memory = engine.session(2);
        in_memory(&memory, &batches());
        let text = plan(&memory, "select i32, txt from t where i32 > 3").await;
        assert!(text.contains(NODE), "{text}");
        let text = plan(&memory, "select i32, txt from t").await;
        assert!(!text.contains(NODE), "there is nothing to do: {text}");
    });
}

#[test]
fn a_join_and_a_sort_tell_a_scan_which_rows_they_need() {
    let engine = Operators::with_workers(2);
    block_on_many_threads(async {
        let many: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
        let batch = RecordBatch::try_from_iter([("n", many)]).expect("one column");
        let (session, _folder) = files_of(&engine, &[batch]).await;
        let few: ArrayRef = Arc::new(Int64Array::from(vec![40_000, 41_000]));
        let few = RecordBatch::try_from_iter([("k", few)]).expect("one column");
        session.register_batch("few", few).expect("a new table");
        let join = "select k, n from few join t on k = n";
        assert_eq!(rows(&session, join).await, ["40000 40000", "41000 41000"]);
        let text = analyzed(&session, join).await;
        assert!(text.contains("hints=[DynamicFilter"), "{text}");
        assert_eq!(given(&text), 2, "{text}");
        let top = "select n from t order by n limit 3";
        assert_eq!(rows(&session, top).await, ["0", "1", "2"]);
        let text = analyzed(&session, top).await;
        assert!(given(&text) < 10_000, "{text}");
    });
}

#[test]
fn rows_come_in_batches_of_the_sessions_length_and_end_with_a_limit() {
    let engine = Operators::with_workers(2);
    let folder = folder_of_two_files();
    block_on_many_threads(async {
        let session = engine.session_with(SessionConfig::new().with_batch_size(100));
        in_files(&session, folder.path()).await;
        for (sql, most) in [
            ("select i32, txt from t where i64 < 7", 100),
            ("select i32 from t where i32 > 3 limit 7", 7),
        ] {
            let frame = session.sql(sql).await.expect("a plan");
            let batches = frame.collect().await.expect("rows");
            let lengths: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
            assert!(
                lengths.iter().all(|rows| (1..=most).contains(rows)),
                "{sql}: {lengths:?}"
            );
        }
    });
}

#[test]
fn rows_of_files_with_other_columns_are_datafusions() {
    let engine = Operators::with_workers(2);
    let folder = folder_with_another_file();
    block_on_many_threads(async {
        let sql = "select i32, txt from t where i64 > 3";
        let text = analyzed_beside_plain(&engine, folder.path(), sql).await;
        assert!(text.contains("not the same columns"), "{text}");
        assert!(!text.contains("of_child=0"), "{text}");
    });
}

/// Elsewhere no program can take a file out of the cache.
#[cfg(target_os = "linux")]
#[test]
fn files_outside_of_the_page_cache_are_read_beside_the_query() {
    use rustix::fs::{Advice, fadvise};

    let engine = Operators::with_workers(2);
    let folder = folder_of_two_files();
    block_on_many_threads(async {
        let (ours, plain) = (engine.session(2), Plain.session(2));
        for session in [&ours, &plain] {
            in_files(session, folder.path()).await;
        }
        let sql = "select i32, txt, price from t where i64 > 3";
        let expected = rows(&plain, sql).await;
        for _again in 0..3 {
            for file in ["a.parquet", "b.parquet"] {
                let file = fs::File::open(folder.path().join(file)).expect("it was written");
                file.sync_all().expect("on the disk");
                fadvise(&file, 0, None, Advice::DontNeed).expect("a wish");
            }
            assert_same(&expected, &rows(&ours, sql).await, sql);
        }
    });
}

#[test]
fn a_file_that_is_damaged_or_gone_is_an_error_with_its_name() {
    let engine = Operators::with_workers(2);
    let folder = folder_of_two_files();
    block_on_many_threads(async {
        let session = engine.session(2);
        in_files(&session, folder.path()).await;
        let sql = "select i32, txt from t where i64 > 3";
        let second = folder.path().join("b.parquet");
        let damage = || {
            let mut bytes = fs::read(&second).expect("it was written");
            let pages = bytes.len() / 2;
            bytes[8..pages].fill(0xff);
            fs::write(&second, bytes).expect("the same length");
        };
        let error = error_after(&session, sql, damage).await;
        assert!(error.contains("b.parquet"), "{error}");
        assert!(error.contains("row group"), "{error}");

        let remove = || fs::remove_file(&second).expect("it is there");
        let error = error_after(&session, sql, remove).await;
        assert!(error.contains("b.parquet"), "{error}");
        eventually("no job is left", || jobs(&engine) == 0);
    });
}
