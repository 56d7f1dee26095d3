//! Queries over files hold little more memory than they reserve, as a counting allocator sees it.

mod files;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use columnar::MemoryPool;
use peak_alloc::PeakAlloc;
use query::pipeline_exec::PipelineExecutor;
use query::{Catalog, QueryError, QueryPlanner, QueryResult, Session, Work};

use files::Files;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const THREADS: usize = 2;

/// Bytes that queries do not reserve: for each worker, filtered copies and results of expressions
/// over a chunk of 16,384 rows, and a decompressor's buffers.
const BESIDE: usize = THREADS * (512 << 10);

const HANG: Duration = Duration::from_secs(120);

const QUERIES: [&str; 13] = [
    "select sum(n), count(*) from t",
    "select kind, count(*), min(name) from t group by kind",
    "select name, count(*) from t group by name",
    "select name, max(kind) from t where n < 300 group by name order by name limit 7",
    "select id, max(name) from t group by id",
    "select id, max(name) from t group by id order by id desc limit 5",
    "select name, id from t order by name limit 10",
    "select name, kind, n from t order by n",
    "select name, kind, n from t",
    "select name, kind from t where n = 17",
    "select name from t where id >= 5 and kind like '%3%' order by id desc limit 100",
    ENDS_EARLY,
    "select id, n + 1 from t where n < 500",
];

/// Its rows may be complete before a slot has begun whose estimate is reserved.
const ENDS_EARLY: &str = "select name from t limit 10";

fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn measured(
    sql: &str,
    tables: &Catalog,
    work: &Work,
    quota: &Arc<MemoryPool>,
) -> (Result<QueryResult, QueryError>, usize) {
    let plan = QueryPlanner::plan(sql, tables).expect("a query of the subset");
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let query = Session::new(work.clone()).query(plan.with_quota(Arc::clone(quota)));
    let (tell, closed) = mpsc::channel();
    let query = query.on_close(move || tell.send(()).expect("the test waits"));
    let outcome = query.run().map(|report| report.rows);
    closed.recv_timeout(HANG).expect("reading ends");
    (outcome, ALLOCATED.peak_usage() - before)
}

const LARGE: usize = 4 * BESIDE;

#[test]
fn a_query_holds_what_it_charges_within_a_tenth_and_charges_at_most_twice_what_it_holds() {
    let _alone = alone();
    let mut large = 0;
    let work = Work::from(PipelineExecutor::new(THREADS).expect("threads start"));
    for file in Files::new().iter() {
        let tables = file.open(&work);
        for sql in QUERIES {
            let quota = Arc::new(MemoryPool::new("measured", usize::MAX));
            let (outcome, held) = measured(sql, &tables, &work, &quota);
            let (name, charged) = (file.name, quota.peak());
            println!(
                "{name:16} held {:>6} KiB, charged {:>6} KiB: {sql}",
                held >> 10,
                charged >> 10
            );
            let result = outcome.expect("there is no bound");
            assert!(result.num_rows() > 0, "{name}: {sql}");
            assert!(
                held <= charged / 10 * 11 + BESIDE,
                "{name}: {held} bytes are held and {charged} charged: {sql}"
            );
            // Estimates are reserved in advance, up to 1.4 times the held bytes.
            assert!(
                sql == ENDS_EARLY || charged <= 2 * held + BESIDE,
                "{name}: {charged} bytes are charged and {held} held: {sql}"
            );
            large += usize::from(held > LARGE);
            assert_eq!(quota.used(), 0, "{name}: the result is its owner's: {sql}");
        }
    }
    assert!(large >= 40, "{large} queries of 52 are large");
}

#[test]
fn a_query_never_holds_more_than_its_quota_and_a_tenth_whether_that_suffices_or_not() {
    let _alone = alone();
    let work = Work::from(PipelineExecutor::new(THREADS).expect("threads start"));
    let mut ends = [0; 2];
    for file in Files::new().iter() {
        let tables = file.open(&work);
        for sql in QUERIES {
            for limit in [2 << 20, 8 << 20, 24 << 20, 96 << 20] {
                let quota = Arc::new(MemoryPool::new("bounded", limit));
                let (outcome, held) = measured(sql, &tables, &work, &quota);
                let what = format!("{}, {limit} bytes: {sql}", file.name);
                match outcome {
                    Ok(_) => ends[0] += 1,
                    Err(QueryError::Quota(refused)) => {
                        assert_eq!(
                            (refused.query.as_ref(), refused.limit),
                            ("bounded", limit),
                            "{what}"
                        );
                        ends[1] += 1;
                    }
                    Err(other) => panic!("{what}: {other}"),
                }
                assert!(held <= limit / 10 * 11 + BESIDE, "{what}: {held} bytes are held");
                assert_eq!(quota.used(), 0, "{what}");
            }
        }
    }
    assert!(
        ends.iter().all(|&ends| ends > 40),
        "answers and refusals: {ends:?}"
    );
}
