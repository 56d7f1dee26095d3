//! Rows on their way from a job to their consumer.

use datafusion::physical_plan::{execute_stream, execute_stream_partitioned};
use datafusion::prelude::SessionContext;
use futures_util::{StreamExt, TryStreamExt};
use pools::JobOptions;

use crate::engine::{Engine, Ours, block_on_many_threads};
use crate::source::{BATCH_ROWS, Numbers, eventually};

/// Batches beyond those taken: two in the channel, one in the operator that resizes them.
const AHEAD_MAX: usize = 3;

fn session(ours: &Ours, numbers: &Numbers) -> SessionContext {
    let config = datafusion::prelude::SessionConfig::new()
        .with_target_partitions(numbers.partitions)
        .with_batch_size(BATCH_ROWS);
    let session = ours.session_with(config);
    numbers.register_in(&session);
    session
}

#[test]
fn rows_are_made_when_they_are_asked_for_and_no_faster_than_they_are_taken() {
    let ours = Ours::with_workers(2);
    let numbers = Numbers::endless(1);
    let session = session(&ours, &numbers);
    block_on_many_threads(async {
        let frame = session.sql("select n + 1 from numbers").await.expect("a plan");
        let mut rows = frame.execute_stream().await.expect("it begins");
        assert_eq!(numbers.counts.settled_batches(), 0);
        for taken in 1..4 {
            rows.next().await.expect("endless").expect("numbers");
            let made = numbers.counts.settled_batches();
            assert!(
                (taken..=taken + AHEAD_MAX).contains(&made),
                "{made} made, {taken} taken"
            );
        }
        assert_eq!(ours.windlass.snapshot().jobs.len(), 1);
        drop(rows);
    });
    eventually("all is dropped", || numbers.counts.open() == 0);
    eventually("no job is open", || ours.windlass.snapshot().jobs.is_empty());
}

#[test]
fn the_partitions_of_one_execution_are_one_job_and_another_execution_is_another() {
    let ours = Ours::with_workers(2);
    let numbers = Numbers::new(4, 3);
    let session = session(&ours, &numbers);
    block_on_many_threads(async {
        let frame = session
            .sql("select n from numbers where n % 2 = 0")
            .await
            .expect("a plan");
        let plan = frame.create_physical_plan().await.expect("a plan");
        let (first, second) = (session.task_ctx(), session.task_ctx());
        let mut streams = execute_stream_partitioned(plan.clone(), first).expect("they begin");
        assert_eq!(streams.len(), 4);
        assert_eq!(ours.windlass.snapshot().jobs.len(), 1);
        streams.extend(execute_stream_partitioned(plan, second).expect("they begin"));
        assert_eq!(ours.windlass.snapshot().jobs.len(), 2);
        for rows in streams {
            let batches: Vec<_> = rows.try_collect().await.expect("numbers");
            assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1_500);
        }
        assert!(ours.windlass.snapshot().jobs.is_empty());
    });
}

#[test]
fn a_plan_that_is_executed_twice_in_one_context_is_two_jobs() {
    let ours = Ours::with_workers(1);
    let numbers = Numbers::new(1, 2);
    let session = session(&ours, &numbers);
    block_on_many_threads(async {
        let frame = session.sql("select n from numbers").await.expect("a plan");
        let plan = frame.create_physical_plan().await.expect("a plan");
        let context = session.task_ctx();
        let first = execute_stream(plan.clone(), context.clone()).expect("it begins");
        let second = execute_stream(plan, context).expect("it begins");
        assert_eq!(ours.windlass.snapshot().jobs.len(), 2);
        for rows in [first, second] {
            let batches: Vec<_> = rows.try_collect().await.expect("numbers");
            assert_eq!(batches.len(), 2);
        }
    });
}

#[test]
fn a_query_in_a_job_stays_in_it() {
    let ours = Ours::with_workers(2);
    let numbers = Numbers::new(4, 3);
    let session = session(&ours, &numbers);
    let windlass = ours.windlass.clone();
    let whole = ours.windlass.spawn(JobOptions::new().name("whole"), async move {
        let frame = session
            .sql("select sum(n) from numbers group by n % 7")
            .await
            .expect("a plan");
        let mut rows = frame.execute_stream().await.expect("it begins");
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            count += batch.expect("groups").num_rows();
        }
        let jobs = windlass.snapshot().jobs;
        assert_eq!(jobs.len(), 1);
        assert!(jobs[0].tasks_spawned > 1, "{jobs:?}");
        count
    });
    let count = block_on_many_threads(whole).expect("it runs");
    assert_eq!(count, 7);
}

#[test]
fn dropping_a_stream_in_the_middle_drops_every_task_of_the_query() {
    let ours = Ours::with_workers(2);
    let numbers = Numbers::endless(4);
    let session = session(&ours, &numbers);
    block_on_many_threads(async {
        let sql =
            "select m, count(*) from (select n % 1000 as m, n from numbers limit 1000000000) group by m";
        let frame = session.sql(sql).await.expect("a plan");
        let mut rows = frame.execute_stream().await.expect("it begins");
        let first = tokio::time::timeout(std::time::Duration::from_millis(200), rows.next()).await;
        assert!(first.is_err(), "a group of an endless table");
        eventually("rows are made", || numbers.counts.batches() > 4);
        drop(rows);
        eventually("all is dropped", || numbers.counts.open() == 0);
        eventually("no job is open", || ours.windlass.snapshot().jobs.is_empty());
    });
}
