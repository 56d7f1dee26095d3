//! Aggregates by windlass's stages: the rows are plain DataFusion's, and plans show the stages.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StringViewArray,
};
use arrow::datatypes::DataType;
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use crate::engine::{Engine, Operators, Plain, block_on_many_threads};
use crate::rows::{Rows, assert_same};
use crate::source::eventually;

const NODE: &str = "WindlassAggregateExec";

const ROWS: usize = 3_000;

/// Rows with NULLs, zeros of both signs and NaN, in batches of several lengths.
pub(crate) fn batches() -> Vec<RecordBatch> {
    let every = |step: usize, row: usize| !row.is_multiple_of(step);
    let columns = |rows: std::ops::Range<usize>| -> RecordBatch {
        let rows = || rows.clone();
        let i32s = rows().map(|row| every(7, row).then_some((row * 31 % 23) as i32 - 5));
        let i64s = rows().map(|row| every(11, row).then_some((row * 17 % 9) as i64));
        let prices = rows().map(|row| every(13, row).then_some((row * 7_919 % 10_007) as i128 - 2_000));
        let parts = rows().map(|row| Some((row % 11) as i128));
        let days = rows().map(|row| every(17, row).then_some(9_000 + (row * 13 % 60) as i32));
        let texts: Vec<_> = rows()
            .map(|row| {
                every(5, row).then_some(
                    ["", "a", "ab", "b_c", "ba%", "Äpfel", "a longer text than twelve"][row * 3 % 7],
                )
            })
            .collect();
        let floats = rows().map(|row| match row % 19 {
            0 => None,
            1 => Some(-0.0),
            2 => Some(0.0),
            3 if row < 900 => Some(f64::NAN),
            other => Some(other as f64 / 4.0 - 2.0),
        });
        let decimal = |values: Decimal128Array| values.with_precision_and_scale(15, 2).expect("15 digits");
        RecordBatch::try_from_iter_with_nullable([
            ("i32", Arc::new(Int32Array::from_iter(i32s)) as ArrayRef, true),
            ("i64", Arc::new(Int64Array::from_iter(i64s)), true),
            (
                "price",
                Arc::new(decimal(Decimal128Array::from_iter(prices))),
                true,
            ),
            ("part", Arc::new(decimal(Decimal128Array::from_iter(parts))), true),
            ("day", Arc::new(Date32Array::from_iter(days)), true),
            (
                "txt",
                Arc::new(StringArray::from_iter(texts.iter().copied())),
                true,
            ),
            (
                "view",
                Arc::new(StringViewArray::from_iter(texts.iter().rev().copied())),
                true,
            ),
            ("f64", Arc::new(Float64Array::from_iter(floats)), true),
        ])
        .expect("columns of one length")
    };
    let mut batches = Vec::new();
    let (mut first, lengths) = (0, [700, 1, 64, 333]);
    while first < ROWS {
        let end = ROWS.min(first + lengths[batches.len() % lengths.len()]);
        batches.push(columns(first..end));
        first = end;
    }
    batches
}

pub(crate) fn in_memory(session: &SessionContext, batches: &[RecordBatch]) {
    let parts = batches.chunks(batches.len().div_ceil(3)).map(<[_]>::to_vec);
    let table = MemTable::try_new(batches[0].schema(), parts.collect()).expect("batches of the schema");
    session.register_table("t", Arc::new(table)).expect("a new table");
}

pub(crate) fn write(file: &Path, batches: &[RecordBatch]) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(512))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .build();
    let file = File::create(file).expect("a new file");
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).expect("a writer");
    for batch in batches {
        writer.write(batch).expect("a batch of the schema");
    }
    writer.close().expect("a whole file");
}

pub(crate) fn folder_of_two_files() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let batches = batches();
    let (first, second) = batches.split_at(batches.len() / 2);
    write(&folder.path().join("a.parquet"), first);
    write(&folder.path().join("b.parquet"), second);
    folder
}

/// The third has two of the columns, the other way round.
pub(crate) fn folder_with_another_file() -> TempDir {
    let folder = folder_of_two_files();
    let fewer: Vec<RecordBatch> = batches()
        .iter()
        .map(|batch| batch.project(&[1, 0]).expect("two columns"))
        .collect();
    write(&folder.path().join("c.parquet"), &fewer);
    folder
}

pub(crate) async fn in_files(session: &SessionContext, folder: &Path) {
    let folder = format!("{}/", folder.display());
    let registered = session.register_parquet("t", folder, ParquetReadOptions::default());
    registered.await.expect("a folder of Parquet files");
}

pub(crate) async fn plan(session: &SessionContext, sql: &str) -> String {
    let rows = Rows::of(session, &format!("explain {sql}"), sql).await;
    rows.text().join("\n")
}

pub(crate) async fn analyzed(session: &SessionContext, sql: &str) -> String {
    plan(session, &format!("analyze {sql}")).await
}

/// Of files whose rows are plain DataFusion's as well.
pub(crate) async fn analyzed_beside_plain(engine: &Operators, folder: &Path, sql: &str) -> String {
    let (ours, plain) = (engine.session(2), Plain.session(2));
    for session in [&ours, &plain] {
        in_files(session, folder).await;
    }
    assert_same(&rows(&plain, sql).await, &rows(&ours, sql).await, sql);
    analyzed(&ours, sql).await
}

/// Of a plan before which something changes.
pub(crate) async fn error_after(session: &SessionContext, sql: &str, change: impl FnOnce()) -> String {
    let frame = session.sql(sql).await.expect("a plan");
    let physical = frame.clone().create_physical_plan().await.expect("a plan");
    change();
    let collected = datafusion::physical_plan::collect(physical, Arc::new(frame.task_ctx())).await;
    collected.expect_err("the files have changed").to_string()
}

pub(crate) async fn rows(session: &SessionContext, sql: &str) -> Vec<String> {
    let mut rows = Rows::of(session, sql, sql).await.text();
    rows.sort_unstable();
    rows
}

pub(crate) fn condition() -> impl Strategy<Value = String> {
    let one = select(vec![
        "i32 > 5",
        "i32 <> 3 and i64 <> 4",
        "i64 in (1, 2, 8)",
        "i64 not in (1, null)",
        "price between 1.5 and 60",
        "price > i32",
        "price * (1 - part) > 10",
        "part = 0.03",
        "day >= date '1994-09-10'",
        "day < date '1994-09-20' + interval '3' day",
        "txt like '%a%'",
        "\"view\" not like 'b\\_%'",
        "txt ilike 'Ä%'",
        "txt = \"view\"",
        "txt in ('a', 'ab', '')",
        "\"view\" > 'a'",
        "f64 > 0.5",
        "f64 < 0.0",
        "f64 = 0.0",
        "f64 is not null",
        "i32 is null",
        "i32 + i64 > 7",
        "i32 < i64",
        "i64 * i64 - i64 >= 12",
        "abs(i32) = 4",
        "i32 / 2 = 1",
    ]);
    let maybe_not = (one, proptest::bool::weighted(0.2)).prop_map(|(one, not)| {
        if not {
            format!("not ({one})")
        } else {
            one.to_owned()
        }
    });
    let several = vec(maybe_not, 1..4);
    (several, select(vec![" and ", " or "])).prop_map(|(several, between)| several.join(between))
}

fn query() -> impl Strategy<Value = String> {
    let keys = vec![
        "i32",
        "i64",
        "txt",
        "\"view\"",
        "day",
        "price",
        "i32 + i64",
        "f64",
        "i32 % 3",
    ];
    let calls = vec![
        "count(*)",
        "count(i32)",
        "sum(i32)",
        "sum(i64)",
        "sum(price)",
        "sum(price * (1 - part) * (1 + part))",
        "avg(i32)",
        "avg(price)",
        "min(txt)",
        "max(\"view\")",
        "max(day)",
        "min(price)",
        "max(i64)",
        "avg(f64)",
        "sum(f64)",
        "sum(i64 + i32)",
        "count(distinct i32)",
        "sum(i64) filter (where i32 > 0)",
        "bit_xor(i64)",
    ];
    let calls = subsequence(calls, 1..4);
    let filter = prop_oneof![1 => Just(None), 4 => condition().prop_map(Some)];
    (subsequence(keys, 0..3), calls, filter).prop_map(|(keys, calls, filter)| {
        let columns: Vec<&str> = keys.iter().chain(&calls).copied().collect();
        let filter = filter.map_or_else(String::new, |filter| format!(" where {filter}"));
        let groups = match keys.is_empty() {
            true => String::new(),
            false => format!(" group by {}", keys.join(", ")),
        };
        format!("select {} from t{filter}{groups}", columns.join(", "))
    })
}

#[test]
fn drawn_queries_have_plain_datafusions_rows() {
    let folder = folder_of_two_files();
    let batches = batches();
    let pushed = SessionConfig::new()
        .with_target_partitions(3)
        .set_bool("datafusion.execution.parquet.pushdown_filters", true);
    block_on_many_threads(async {
        let plain = Plain.session(3);
        in_memory(&plain, &batches);
        let mut ours = Vec::new();
        for workers in [1, 3] {
            let engine = Operators::with_workers(workers);
            let memory = engine.session(workers);
            in_memory(&memory, &batches);
            let files = engine.session(workers);
            in_files(&files, folder.path()).await;
            let pushing = engine.session_with(pushed.clone());
            in_files(&pushing, folder.path()).await;
            ours.extend([
                ("memory", memory),
                ("files", files),
                ("files, filters pushed", pushing),
            ]);
        }
        let mut draws = TestRunner::deterministic();
        let (mut by_stages, draws_number) = (0, 400);
        for _draw in 0..draws_number {
            let sql = query().new_tree(&mut draws).expect("a query").current();
            let expected = rows(&plain, &sql).await;
            for (what, session) in &ours {
                assert_same(&expected, &rows(session, &sql).await, &format!("{what}: {sql}"));
            }
            if plan(&ours[0].1, &sql).await.contains(NODE) {
                by_stages += 1;
                for (what, session) in &ours[..2] {
                    let text = analyzed(session, &sql).await;
                    // Statistics of files may answer a query without an aggregate.
                    let is_by_stages = text.contains("of_child=0") || !text.contains(NODE);
                    assert!(is_by_stages, "{what}: {sql}: {text}");
                }
            }
        }
        assert!(
            by_stages > draws_number / 4,
            "{by_stages} of {draws_number} by stages"
        );
        assert!(by_stages < draws_number, "all by stages");
    });
}

#[test]
fn a_plan_shows_what_the_stages_compute_and_what_is_left_to_datafusion() {
    let engine = Operators::with_workers(2);
    let folder = folder_of_two_files();
    block_on_many_threads(async {
        let memory = engine.session(2);
        in_memory(&memory, &batches());
        let files = engine.session(2);
        in_files(&files, folder.path()).await;
        for session in [&memory, &files] {
            let sql = "select txt, sum(price) from t where i32 > 3 group by txt";
            let text = plan(session, sql).await;
            assert!(text.contains(NODE), "{text}");
            assert!(text.contains("gives=values"), "{text}");
            assert!(text.contains("filter=[i32@"), "{text}");
            assert!(text.contains("aggr=[sum(t.price)]"), "{text}");
            let text = analyzed(session, sql).await;
            assert!(text.contains("of_child=0"), "{text}");
            for left in [
                "select count(distinct i32), count(distinct i64) from t",
                "select sum(i64) filter (where i32 > 0) from t",
                "select min(f64) from t",
                "select count(*) from t group by f64",
                "select stddev(price) from t",
                "select sum(abs(i32)) from t",
                "select i32, i64, count(*) from t group by rollup (i32, i64)",
                "select sum(i32) from (select i32 from t limit 10)",
            ] {
                let text = plan(session, left).await;
                assert!(!text.contains(NODE), "{left}: {text}");
            }
        }
        memory
            .sql("set windlass.operators = false")
            .await
            .expect("a setting");
        let text = plan(&memory, "select sum(i32) from t").await;
        assert!(!text.contains(NODE), "{text}");
    });
}

#[test]
fn a_sum_that_overflows_is_datafusions() {
    let engine = Operators::with_workers(2);
    let values: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, 1, 5]));
    let batch = RecordBatch::try_from_iter([("n", values)]).expect("one column");
    block_on_many_threads(async {
        let (ours, plain) = (engine.session(1), Plain.session(1));
        in_memory(&ours, std::slice::from_ref(&batch));
        in_memory(&plain, std::slice::from_ref(&batch));
        let sql = "select sum(n) from t";
        assert_same(&rows(&plain, sql).await, &rows(&ours, sql).await, sql);
        let text = analyzed(&ours, sql).await;
        assert!(text.contains("its child ran:"), "{text}");
        assert!(text.contains("of_child=1"), "{text}");
    });
}

#[test]
fn files_with_other_columns_are_datafusions() {
    let engine = Operators::with_workers(2);
    let folder = folder_with_another_file();
    block_on_many_threads(async {
        let sql = "select i32, sum(i64), count(txt) from t group by i32";
        let text = analyzed_beside_plain(&engine, folder.path(), sql).await;
        assert!(text.contains("not the same columns"), "{text}");
        assert!(text.contains("of_child=1"), "{text}");
    });
}

#[test]
fn columns_that_are_names_of_folders_are_datafusions() {
    let engine = Operators::with_workers(2);
    let folder = tempfile::tempdir().expect("a folder");
    for part in ["year=1", "year=2"] {
        fs::create_dir(folder.path().join(part)).expect("a new folder");
        write(&folder.path().join(part).join("a.parquet"), &batches());
    }
    block_on_many_threads(async {
        let (ours, plain) = (engine.session(2), Plain.session(2));
        for session in [&ours, &plain] {
            let partitions = vec![("year".to_owned(), DataType::Int64)];
            let options = ParquetReadOptions::default().table_partition_cols(partitions);
            let folder = format!("{}/", folder.path().display());
            session
                .register_parquet("t", folder, options)
                .await
                .expect("files");
        }
        for (sql, is_by_stages) in [
            ("select year, sum(i64) from t group by year", false),
            ("select sum(i64) from t where year = 2 and i32 > 1", true),
            ("select txt, sum(i64) from t group by txt", true),
        ] {
            assert_same(&rows(&plain, sql).await, &rows(&ours, sql).await, sql);
            let text = analyzed(&ours, sql).await;
            assert_eq!(text.contains("of_child=0"), is_by_stages, "{sql}: {text}");
        }
    });
}

#[test]
fn a_file_that_changes_or_vanishes_after_planning_gives_datafusions_rows_and_error() {
    let engine = Operators::with_workers(2);
    block_on_many_threads(async {
        for session in [engine.session(2), Plain.session(2)] {
            let folder = folder_of_two_files();
            let second: PathBuf = folder.path().join("b.parquet");
            in_files(&session, folder.path()).await;
            let remove = || fs::remove_file(&second).expect("it is there");
            let error = error_after(&session, "select sum(i64) from t", remove).await;
            assert!(error.contains("b.parquet"), "{error}");
        }
    });
}

#[test]
fn groups_that_do_not_fit_the_sessions_memory_are_datafusions() {
    let engine = Operators::with_workers(2);
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..600_000));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).expect("one column");
    block_on_many_threads(async {
        // Each of DataFusion's two final aggregations has a share. In a pool without shares one fails if
        // the other was faster, in one run of 20.
        let pool = Arc::new(FairSpillPool::new(12 << 20));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc();
        let session = engine.session_in(
            SessionConfig::new().with_target_partitions(2),
            runtime.expect("a pool"),
        );
        in_memory(&session, &[batch]);
        let sql = "select count(*), sum(c) from (select n, count(*) as c from t group by n)";
        let text = analyzed(&session, sql).await;
        assert!(
            text.contains("its child ran: query aggregate is over its memory quota"),
            "{text}"
        );
        assert_eq!(rows(&session, sql).await, ["600000 600000"]);
        assert_eq!(session.runtime_env().memory_pool.reserved(), 0);
    });
}

pub(crate) fn jobs(engine: &Operators) -> usize {
    let cpu = engine.windlass().snapshot().pools.cpu;
    cpu.map_or(0, |cpu| cpu.queue_depth)
}

#[test]
fn a_query_that_is_dropped_ends_its_job() {
    let engine = Operators::with_workers(1);
    block_on_many_threads(async {
        let session = engine.session(1);
        let many: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4_000_000));
        let batch = RecordBatch::try_from_iter([("n", many)]).expect("one column");
        in_memory(&session, &[batch]);
        let frame = session
            .sql("select n, count(*) from t group by n")
            .await
            .expect("a plan");
        let query = tokio::spawn(frame.collect());
        eventually("the jobs are there", || jobs(&engine) > 0);
        query.abort();
        let ended = query.await;
        eventually("no job is left", || jobs(&engine) == 0);
        drop(ended);
    });
}
