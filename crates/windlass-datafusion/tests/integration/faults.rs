//! Queries that fail, as in plain DataFusion.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation, UnboundedMemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use futures_util::FutureExt;

use windlass_datafusion::QueryEnded;

use crate::engine::{Engine, Ours, Plain, block_on_many_threads, many_threads};
use crate::rows::Rows;
use crate::source::{BATCH_ROWS, Fault, Numbers, eventually};

const PARTITIONS: usize = 4;

/// All partitions are read: by parallel tasks, by a repartition, by a merge of sorts.
const QUERIES: [&str; 3] = [
    "select count(*) from numbers",
    "select n % 10 as m, count(*) from numbers group by m order by m",
    "select n from numbers order by n desc limit 3",
];

async fn end(engine: &impl Engine, sql: &str, numbers: &Numbers) -> Result<usize, String> {
    let session = engine.session(PARTITIONS);
    numbers.register_in(&session);
    let frame = session.sql(sql).await.expect("a plan");
    let collected = AssertUnwindSafe(frame.collect()).catch_unwind().await;
    match collected {
        Ok(Ok(batches)) => Ok(batches.iter().map(|batch| batch.num_rows()).sum()),
        Ok(Err(error)) => Err(format!("error: {}", error.find_root())),
        Err(panic) => Err(format!("panic: {:?}", panic.downcast_ref::<&str>())),
    }
}

fn any_task(end: Result<usize, String>) -> Result<usize, String> {
    end.map_err(|text| match text.split_once("task ") {
        Some((before, after)) => {
            let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}task{after}")
        }
        None => text,
    })
}

#[test]
fn a_query_whose_rows_end_because_it_was_cancelled_is_an_error() {
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        for partitions in [1, PARTITIONS] {
            for sql in QUERIES.into_iter().chain(["select n from numbers"]) {
                let numbers = Numbers::new(partitions, 8).failing(3, Fault::Cancel);
                let found = end(&ours, sql, &numbers).await;
                assert_eq!(
                    found,
                    Err("error: External error: the query was cancelled".to_owned()),
                    "{sql}"
                );
                eventually("all is dropped", || numbers.counts.open() == 0);
            }
        }
    });
}

#[test]
fn an_error_or_a_panic_in_the_middle_ends_a_query_as_in_plain_datafusion() {
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        for fault in [Fault::Error, Fault::Panic] {
            for at in [0, 3] {
                for sql in QUERIES {
                    let numbers = || Numbers::new(PARTITIONS, 8).failing(at, fault);
                    let plain = any_task(end(&Plain, sql, &numbers()).await);
                    assert!(plain.is_err(), "{sql}, {fault:?} at {at}: {plain:?}");
                    let failing = numbers();
                    let found = any_task(end(&ours, sql, &failing).await);
                    assert_eq!(found, plain, "{sql}, {fault:?} at {at}");
                    eventually("all is dropped", || failing.counts.open() == 0);
                    eventually("no job is open", || ours.windlass.snapshot().jobs.is_empty());
                }
            }
        }
    });
}

#[test]
fn a_limit_ends_a_query_over_a_table_without_end() {
    let ours = Ours::with_workers(2);
    let numbers = Numbers::endless(PARTITIONS);
    let rows = block_on_many_threads(end(&ours, "select n from numbers where n > 5 limit 1", &numbers));
    assert_eq!(rows, Ok(1));
    eventually("all is dropped", || numbers.counts.open() == 0);
}

#[test]
fn a_thousand_queries_at_once_all_have_their_answers() {
    let ours = Ours::with_workers(2);
    let numbers = Numbers::new(2, 2);
    block_on_many_threads(async {
        let session = ours.session(2);
        numbers.register_in(&session);
        let query = |least: usize| {
            let session = session.clone();
            tokio::spawn(async move {
                let sql = format!("select count(*) from numbers where n >= {least}");
                let batches = session.sql(&sql).await?.collect().await?;
                let counts = batches[0].column(0).clone();
                let counts = counts.as_any().downcast_ref::<arrow::array::Int64Array>();
                Ok::<_, DataFusionError>(counts.expect("a count").value(0))
            })
        };
        let queries: Vec<_> = (0..1_000).map(query).collect();
        for (least, query) in queries.into_iter().enumerate() {
            let count = query.await.expect("no panic").expect("an answer");
            assert_eq!(count, 2 * (2_000 - least as i64), "from {least}");
        }
    });
    eventually("no job is open", || ours.windlass.snapshot().jobs.is_empty());
}

#[test]
fn pools_that_have_ended_leave_queries_to_plain_datafusion() {
    let ours = Ours::with_workers(2);
    let ended = ours
        .windlass
        .pools()
        .shutdown(Duration::from_secs(60))
        .expect("not in a pool");
    assert!(ended.is_clean());
    block_on_many_threads(async {
        for sql in QUERIES {
            let numbers = || Numbers::new(PARTITIONS, 8);
            let plain = end(&Plain, sql, &numbers()).await;
            assert_eq!(end(&ours, sql, &numbers()).await, plain, "{sql}");
        }
    });
}

#[test]
fn a_query_that_runs_when_the_pools_end_says_so() {
    let ours = Ours::with_workers(2);
    let numbers = Numbers::endless(PARTITIONS);
    let runtime = many_threads();
    let session = ours.session(PARTITIONS);
    numbers.register_in(&session);
    let query = runtime.spawn(async move {
        let frame = session
            .sql("select n % 10 as m, count(*) from numbers group by m")
            .await?;
        frame.collect().await
    });
    eventually("rows are made", || numbers.counts.batches() > 4);
    let ended = ours.windlass.pools().shutdown(Duration::from_millis(100));
    assert!(!ended.expect("not in a pool").is_clean());
    let error = runtime
        .block_on(query)
        .expect("no panic")
        .expect_err("it has no end");
    let DataFusionError::External(source) = error.find_root() else {
        panic!("{error:?}");
    };
    assert_eq!(source.downcast_ref(), Some(&QueryEnded::Closed));
    eventually("all is dropped", || numbers.counts.open() == 0);
}

/// Also returns the number of spills. Each sort reserves `set_aside` bytes for its merge.
async fn with_memory(
    ours: &Ours,
    numbers: &Numbers,
    limit: &str,
    set_aside: usize,
    sql: &str,
) -> (Vec<String>, usize) {
    let session = ours.session(numbers.partitions);
    numbers.register_in(&session);
    for setting in [
        format!("set windlass.memory = '{limit}'"),
        "set datafusion.optimizer.prefer_hash_join = false".to_owned(),
        format!("set datafusion.execution.sort_spill_reservation_bytes = {set_aside}"),
    ] {
        session.sql(&setting).await.expect("a setting");
    }
    let frame = session.sql(sql).await.expect("a plan");
    let plan = frame.create_physical_plan().await.expect("a plan");
    let collected = datafusion::physical_plan::collect(plan.clone(), session.task_ctx()).await;
    let rows = Rows::from(collected.unwrap_or_else(|error| panic!("{sql} in {limit}: {error}")));
    let spilled = spills(plan.as_ref());
    drop(plan);
    let environment = session.runtime_env();
    eventually("bytes and files are given back", || {
        environment.memory_pool.reserved() == 0 && environment.disk_manager.used_disk_space() == 0
    });
    let mut rows = rows.text();
    if !sql.contains("order by") {
        rows.sort_unstable();
    }
    (rows, spilled)
}

#[test]
fn sorts_groups_and_joins_over_their_memory_spill_and_give_the_same_rows() {
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        // A sort of 64 MB, a table of groups in each partition, eight sorts of 8 MB. Four sorts
        // without a repartition share all bytes, and refuse the last one those of its merge if it
        // begins late; so that sort is one.
        for (partitions, set_aside, sql) in [
            (
                1,
                30_000_000,
                "select n, n * 7 % 1000003 as m from numbers order by m, n",
            ),
            (
                PARTITIONS,
                10_000_000,
                "select n % 600000 as g, count(*), sum(n), max(n * 3) from numbers group by g",
            ),
            (
                PARTITIONS,
                5_000_000,
                "select b.n, count(*) from numbers a join numbers b on a.n * 100 = b.n group by b.n",
            ),
        ] {
            let numbers = Numbers::new(partitions, 4_000 / partitions);
            let (expected, none) = with_memory(&ours, &numbers, "none", set_aside, sql).await;
            let (found, spilled) = with_memory(&ours, &numbers, "64MiB", set_aside, sql).await;
            assert_eq!(none, 0, "{sql} without a limit");
            assert!(spilled > 0, "{sql} has not spilled");
            assert!(expected == found, "{sql} gives other rows");
        }
    });
}

fn spills(plan: &dyn datafusion::physical_plan::ExecutionPlan) -> usize {
    let own = plan
        .metrics()
        .and_then(|metrics| metrics.spill_count())
        .unwrap_or(0);
    own + plan
        .children()
        .iter()
        .map(|child| spills(child.as_ref()))
        .sum::<usize>()
}

/// Refuses what a repartition asks for, so that each of its batches spills.
#[derive(Debug, Default)]
struct NoneForRepartitions(UnboundedMemoryPool);

impl MemoryPool for NoneForRepartitions {
    fn name(&self) -> &str {
        "none for repartitions"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.0.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.0.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<(), DataFusionError> {
        if reservation.consumer().name().starts_with("RepartitionExec") {
            return Err(DataFusionError::ResourcesExhausted("a repartition".to_owned()));
        }
        self.0.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.0.reserved()
    }
}

impl fmt::Display for NoneForRepartitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// With files of several batches, such a query waits for ever.
#[test]
fn a_repartition_whose_inputs_spill_at_once_gives_all_rows() {
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        let short = "set datafusion.execution.batch_size = 64";
        let long = "set datafusion.execution.max_spill_file_size_bytes = 134217728";
        for settings in [&[short][..], &[short, long]] {
            let environment =
                RuntimeEnvBuilder::new().with_memory_pool(Arc::new(NoneForRepartitions::default()));
            let environment = environment.build_arc().expect("an environment");
            let state = SessionStateBuilder::new_from_existing(ours.session(2).state());
            let session = SessionContext::new_with_state(state.with_runtime_env(environment).build());
            let numbers = Numbers::new(2, 50);
            numbers.register_in(&session);
            for setting in settings {
                session.sql(setting).await.expect("a setting");
            }
            let sql = "select a.n from numbers a join numbers b on a.n = b.n";
            let frame = session.sql(sql).await.expect("a plan");
            let plan = frame.create_physical_plan().await.expect("a plan");
            let collected = datafusion::physical_plan::collect(plan.clone(), session.task_ctx());
            let collected = tokio::time::timeout(Duration::from_secs(60), collected).await;
            let batches = collected.expect("the query ends").expect("rows");
            let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
            assert_eq!(rows, 4 * 50 * BATCH_ROWS);
            assert!(spills(plan.as_ref()) > 100, "each batch spills");
        }
    });
}

#[test]
fn a_query_over_its_memory_that_cannot_spill_says_so() {
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        let session = ours.session(2);
        Numbers::new(2, 200).register_in(&session);
        session
            .sql("set windlass.memory = '1MiB'")
            .await
            .expect("a setting");
        let sql = "select count(*) from numbers a join numbers b on a.n = b.n";
        let error = session
            .sql(sql)
            .await
            .expect("a plan")
            .collect()
            .await
            .expect_err("too much");
        assert!(
            matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)),
            "{error}"
        );
    });
    eventually("no job is open", || ours.windlass.snapshot().jobs.is_empty());
}
