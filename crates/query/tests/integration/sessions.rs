//! Sessions: limits, shared tokens and deadlines, and executors that are full or have ended.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use query::pipeline_exec::{Job, JobStatus, JobTicket, PipelineExecutor, step};
use query::pools::Pools;
use query::source::ScaleFactor;
use query::{CancellationToken, PipelineBuilder, QueryError, QueryPlanner, Session, Work};

use crate::gated_table::GatedTable;
use crate::run::{Cell, catalog, executor, rows};
use crate::stored_table::{Moment, Stored};

const HANG: Duration = Duration::from_secs(120);
const SUM: &str = "select sum(n) from gated";

fn session(work: &Work, table: Arc<dyn columnar::TableSource>) -> Session {
    let mut session = Session::new(work.clone());
    session.register(table).expect("the only table");
    session
}

fn open_table() -> Arc<GatedTable> {
    let table = GatedTable::new(3);
    table.let_pass();
    table
}

/// A job holds the worker until the sender sends or is dropped.
fn held_executor(capacity: usize) -> (PipelineExecutor, mpsc::Sender<()>, JobTicket) {
    let executor = PipelineExecutor::builder().threads(1).queue_capacity(capacity);
    let executor = executor.build().expect("a thread starts");
    let (open, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let held = step(move |_cx| Ok(gate.lock().map_err(|_| "panicked")?.recv()?));
    let held = executor
        .submit(Job::from_steps("held", vec![held]))
        .expect("it is the first");
    while held.status() == JobStatus::Queued {
        thread::yield_now();
    }
    (executor, open, held)
}

#[test]
fn two_queries_under_one_token_are_both_cancelled() {
    for is_stored in [false, true] {
        // As many workers as slots, so that neither query waits for the other.
        let work = executor(6);
        let token = CancellationToken::new();
        let gated = [0, 1].map(|_| GatedTable::new(3));
        let (tell, fetching) = mpsc::channel();
        let hangs = move |_| {
            tell.send(()).expect("the test listens");
            std::future::pending::<()>()
        };
        let stored = Stored::awaited(open_table(), hangs, |_, _| Ok(()));
        thread::scope(|scope| {
            let queries = gated.each_ref().map(|gated| {
                let (work, token) = (work.clone(), token.clone());
                let session = match is_stored {
                    true => session(&work, stored.clone()),
                    false => session(&work, gated.clone()),
                };
                let query = session.sql(SUM).expect("a query of the subset").read_ahead(1);
                scope.spawn(move || work.pools().mixed().block_on(query.run_async(token)))
            });
            match is_stored {
                true => {
                    (0..2).for_each(|_| fetching.recv_timeout(HANG).expect("both queries wait for bytes"))
                }
                false => gated.iter().for_each(|table| table.wait_for_slots(3)),
            }
            token.cancel();
            gated.iter().for_each(|table| table.let_pass());
            for query in queries {
                let outcome = query.join().expect("no panic").expect("a plain thread");
                assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
            }
        });
    }
}

#[test]
fn a_future_that_is_dropped_leaves_nothing_at_the_token_and_no_timer() {
    let work = executor(1);
    let token = CancellationToken::new();
    let (begin, fetching) = mpsc::channel();
    let hangs = move |_| {
        begin.send(()).expect("the test listens");
        std::future::pending::<()>()
    };
    let (drops, dropped) = mpsc::channel();
    let table = Stored::awaited(open_table(), hangs, move |moment, _| {
        assert_eq!(moment, Moment::Dropping, "no fetch ends");
        drops.send(()).map_err(|_| "the test listens".to_owned())
    });
    let query = session(&work, table.clone())
        .sql(SUM)
        .expect("a query of the subset");
    let (tell, closed) = mpsc::channel();
    let query = query
        .read_ahead(1)
        .deadline(Instant::now() + HANG)
        .on_close(move || tell.send(()).expect("the test listens"));
    let mixed = work.pools().mixed();
    let timers = || work.pools().snapshot().wake_ups;
    // Each registration holds a clone of the future's waker.
    let noted = Arc::new(Noted);
    let waker = Waker::from(Arc::clone(&noted));
    let once = async {
        let mut answer = pin!(query.run_async(token.clone()));
        let polled = answer.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending() && timers() == 1);
        fetching.recv_timeout(HANG).expect("it waits for bytes");
        assert!(Arc::strong_count(&noted) > 2, "it waits for the token too");
    };
    mixed.block_on(once).expect("a plain thread");
    drop(waker);
    assert_eq!(timers(), 0);
    dropped.recv_timeout(HANG).expect("the fetch is dropped");
    closed.recv_timeout(HANG).expect("reading has ended");
    let began = Instant::now();
    while Arc::strong_count(&table) > 1 || Arc::strong_count(&noted) > 1 {
        assert!(
            began.elapsed() < HANG,
            "the token or a task still holds the table, or would wake the future"
        );
        thread::yield_now();
    }
    token.cancel();
    assert_eq!(
        fetching.try_recv(),
        Err(mpsc::TryRecvError::Empty),
        "no other fetch"
    );
}

struct Noted;

impl Wake for Noted {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_deadline_of_one_query_does_not_end_another_of_the_same_session() {
    let work = executor(2);
    // More morsels than workers, so that the query gives some up.
    let table = GatedTable::new(12);
    let session = session(&work, table.clone());
    thread::scope(|scope| {
        let late = session.sql(SUM).expect("a query of the subset");
        let late = late.deadline(Instant::now() + Duration::from_millis(20));
        let progress = late.progress();
        let late = scope.spawn(|| late.run());
        let other = session.sql(SUM).expect("a query of the subset");
        let other = scope.spawn(|| other.run());
        while progress.slots().0 == 0 && !late.is_finished() {
            thread::yield_now();
        }
        table.let_pass();
        let outcome = late.join().expect("no panic");
        assert!(
            matches!(outcome, Err(QueryError::DeadlineExceeded)),
            "{outcome:?}"
        );
        other.join().expect("no panic").expect("it has no deadline");
    });
}

#[test]
fn a_query_waits_for_room_in_a_full_executor_and_a_deadline_ends_the_wait() {
    let (executor, open, held) = held_executor(1);
    let plan = QueryPlanner::plan(SUM, &catalog(open_table())).expect("a query of the subset");
    let full = executor.submit(PipelineBuilder::new(plan).build());
    let full = QueryError::from(full.expect_err("there is room for one"));
    assert!(matches!(full, QueryError::ExecutorFull), "{full:?}");
    assert_eq!(
        full.to_string(),
        "the executor has as many jobs as it admits; try again when some have ended"
    );

    let session = session(&Work::from(executor), open_table());
    let soon = Instant::now() + Duration::from_millis(20);
    let late = session
        .sql(SUM)
        .expect("a query of the subset")
        .deadline(soon)
        .run();
    assert!(matches!(late, Err(QueryError::DeadlineExceeded)), "{late:?}");
    thread::scope(|scope| {
        let waits = session.sql(SUM).expect("a query of the subset");
        let waits = scope.spawn(|| waits.run());
        open.send(()).expect("the step waits");
        held.wait().expect("it ran");
        let report = waits.join().expect("no panic").expect("there is room now");
        assert_eq!(report.rows.num_rows(), 1);
    });
}

#[test]
fn a_query_that_has_not_begun_when_the_executor_is_shut_down_says_so() {
    let (executor, open, _held) = held_executor(2);
    let plan = QueryPlanner::plan(SUM, &catalog(open_table())).expect("a query of the subset");
    let waits = executor
        .submit(PipelineBuilder::new(plan).build())
        .expect("room for two");
    thread::scope(|scope| {
        scope.spawn(|| executor.shutdown());
        let error = QueryError::from(waits.wait().expect_err("its job never starts"));
        assert!(matches!(error, QueryError::ExecutorClosed), "{error:?}");
        open.send(()).expect("the step waits");
    });
}

#[test]
fn a_session_whose_pools_have_ended_says_so() {
    let work = executor(1);
    let session = session(&work, open_table());
    let report = work.pools().shutdown(HANG).expect("a plain thread");
    assert!(report.is_clean(), "{report:?}");
    let error = session
        .sql(SUM)
        .expect("planning needs no pool")
        .run()
        .expect_err("ended");
    assert!(
        matches!(error, QueryError::ExecutorClosed | QueryError::Unavailable { .. }),
        "{error:?}"
    );
    assert!(!error.to_string().contains("internal error"), "{error}");
}

#[test]
fn blocking_is_refused_in_async_code_and_in_cpu_tasks() {
    let work = executor(1);
    let session = session(&work, open_table());
    let query = || session.sql(SUM).expect("a query of the subset");
    let in_async = work.pools().mixed().block_on(async { query().run() });
    let in_async = in_async
        .expect("a plain thread")
        .expect_err("it would block a task");
    assert!(matches!(in_async, QueryError::Unavailable { .. }), "{in_async:?}");
    let held = query();
    let in_cpu = work.pools().cpu().run(move |_cx| held.run().map(drop)).wait();
    let in_cpu = in_cpu
        .expect("the task ran")
        .expect_err("it would block a worker");
    assert!(matches!(in_cpu, QueryError::Unavailable { .. }), "{in_cpu:?}");
}

#[test]
fn a_session_shares_pools_and_reports_what_a_query_took() {
    let pools = Pools::builder().cpu_threads(2).build().expect("in range");
    let mut session = Session::new(pools.clone());
    session
        .generate(ScaleFactor::new(0.001).expect("a sensible scale"))
        .expect("no other tables");
    session
        .generate(ScaleFactor::new(0.001).expect("a sensible scale"))
        .expect_err("the names are taken");
    let query = session
        .sql("select count(*), sum(o_custkey) from orders")
        .expect("a query");
    let query = query.memory_limit(1 << 30);
    let (explain, progress) = (query.explain(), query.progress());
    let planned = explain.to_string();
    assert!(planned.contains("orders"), "{planned}");
    let report = query.run().expect("an answer");
    assert_eq!(rows(&report.rows)[0][0], Cell::Int(1_500));
    let text = report.to_string();
    for part in [
        "generate orders: ",
        "query orders: ",
        "worker ",
        "memory: at most ",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let (done, total) = progress.slots();
    assert!(done == total && total > 0, "{done} of {total}");
    assert_eq!(progress.activity(), "querying orders");
    let again = session
        .sql("select max(o_custkey) from orders")
        .expect("a query")
        .run();
    assert!(again.expect("an answer").generated.is_none(), "generated once");

    let small = session
        .sql("select o_custkey, count(*) from orders group by o_custkey")
        .expect("a query");
    let refused = small.memory_limit(1_000).run().expect_err("too small");
    assert!(matches!(refused, QueryError::Quota(_)), "{refused:?}");
}

#[test]
fn clones_of_a_work_show_their_own_progress() {
    let work = executor(1);
    let clone = work.clone();
    let steps = |steps| (0..steps).map(|_| step(|_cx| Ok(()))).collect();
    work.run(Job::from_steps("two", steps(2)))
        .expect("nothing stops it");
    clone
        .run(Job::from_steps("one", steps(1)))
        .expect("nothing stops it");
    let (two, one) = (work.progress(), clone.progress());
    assert_eq!((two.activity(), two.slots()), ("running two".to_owned(), (2, 2)));
    assert_eq!((one.activity(), one.slots()), ("running one".to_owned(), (1, 1)));
}

#[test]
fn opening_a_table_is_stopped_by_the_sessions_token_and_deadline() {
    let folder = crate::folder::Folder::new();
    folder.write("t.csv", "a,b\n1,2\n");
    let token = CancellationToken::new();
    let mut cancelled = Session::new(executor(1).cancelled_by(token.clone()));
    token.cancel();
    let mut late = Session::new(executor(1).deadline(Instant::now()));
    for path in [
        folder.path("t.csv"),
        folder.root().into(),
        folder.path("t.parquet"),
    ] {
        let error = cancelled.open("t", &path).expect_err("it was cancelled");
        assert!(matches!(error, QueryError::Cancelled), "{path:?}: {error:?}");
        let error = late.open("t", &path).expect_err("it is late");
        assert!(
            matches!(error, QueryError::DeadlineExceeded),
            "{path:?}: {error:?}"
        );
    }
    assert_eq!(late.tables().names().count(), 0);
}

#[test]
fn a_table_that_can_no_longer_be_awaited_is_an_error_and_not_a_call_that_blocks_async_code() {
    let work = executor(1);
    let table = Stored::awaited_once(open_table(), |moment, morsel| match moment {
        Moment::Fetching => Err(format!("morsel {morsel} is fetched by a call that blocks")),
        _ => Ok(()),
    });
    let query = session(&work, table)
        .sql(SUM)
        .expect("a query of the subset")
        .read_ahead(1);
    let answer = work
        .pools()
        .mixed()
        .block_on(query.run_async(CancellationToken::new()));
    let error = answer
        .expect("a plain thread")
        .expect_err("it cannot be awaited")
        .to_string();
    assert!(error.contains("which async code must not make"), "{error}");
}
