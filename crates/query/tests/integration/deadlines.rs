//! Deadlines that pass at each point of a query.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use columnar::{MORSEL_ROWS, TableSource};
use query::pools::Pools;
use query::{Query, QueryError, Work};

use crate::gated_table::GatedTable;
use crate::run::{catalog, executor, planned};
use crate::stored_table::{Moment, Stored};
use crate::streaming::watched;

const HANG: Duration = Duration::from_secs(120);
const SOON: Duration = Duration::from_millis(20);

const QUERIES: [&str; 4] = [
    "select n from gated where n >= 0",
    "select n from gated where n >= 0 limit 200000",
    "select n from gated order by n desc limit 3",
    "select sum(n), count(*) from gated",
];

fn rows() -> Arc<GatedTable> {
    let table = GatedTable::new(3);
    table.let_pass();
    table
}

fn prepared(sql: &str, table: Arc<dyn TableSource>, work: &Work) -> Query {
    let query = planned(sql, &catalog(table), work).expect("a query of the subset");
    query.read_ahead(1)
}

#[test]
fn a_deadline_that_has_passed_ends_a_query_before_anything_is_read() {
    let work = executor(2);
    for sql in QUERIES {
        let fetched = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&fetched);
        let stored = Stored::new(rows(), move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        for table in [stored as Arc<dyn TableSource>, rows()] {
            let (query, closed) = watched(prepared(sql, table, &work).deadline(Instant::now()));
            let outcome = query.run();
            assert!(
                matches!(outcome, Err(QueryError::DeadlineExceeded)),
                "{sql}: {outcome:?}"
            );
            assert_eq!(closed.iter().count(), 1, "{sql}");
        }
        assert_eq!(fetched.load(Ordering::Relaxed), 0, "{sql}");
    }
}

#[test]
fn a_deadline_ends_a_query_that_waits_for_bytes() {
    let work = executor(2);
    for (sql, at) in QUERIES.into_iter().zip([0, 1, 2, 1]) {
        let gate = Arc::new((Mutex::new(true), Condvar::new()));
        let held = Arc::clone(&gate);
        let table = Stored::new(rows(), move |moment, morsel| {
            if (moment, morsel) == (Moment::Fetching, at) {
                let (hangs, changed) = &*held;
                let hangs = hangs.lock().expect("nobody panics with it");
                drop(
                    changed
                        .wait_while(hangs, |hangs| *hangs)
                        .expect("nobody panics with it"),
                );
            }
            Ok(())
        });
        let (done, ended) = mpsc::channel();
        thread::scope(|scope| {
            let (query, closed) = watched(prepared(sql, table, &work).deadline(Instant::now() + SOON));
            scope.spawn(move || done.send(query.run()).expect("the test waits"));
            let outcome = ended.recv_timeout(HANG).expect("it ends while its source hangs");
            assert!(
                matches!(outcome, Err(QueryError::DeadlineExceeded)),
                "{sql}: {outcome:?}"
            );
            *gate.0.lock().expect("nobody panics with it") = false;
            gate.1.notify_all();
            assert_eq!(closed.iter().count(), 1, "{sql}");
        });
    }
}

#[test]
fn a_deadline_that_passes_while_a_slot_computes_ends_the_query_behind_it() {
    let work = executor(2);
    for sql in QUERIES {
        let deadline = Instant::now() + SOON;
        let table = Stored::new(rows(), move |moment, morsel| {
            while (moment, morsel) == (Moment::Opening, 0) && Instant::now() < deadline {
                thread::yield_now();
            }
            Ok(())
        });
        let (query, closed) = watched(prepared(sql, table, &work).deadline(deadline));
        let outcome = query.run();
        assert!(
            matches!(outcome, Err(QueryError::DeadlineExceeded)),
            "{sql}: {outcome:?}"
        );
        assert_eq!(closed.iter().count(), 1, "{sql}");
    }
}

#[test]
fn a_deadline_that_passes_while_a_query_over_memory_computes_ends_it_as_well() {
    for threads in [1, 2] {
        let work = executor(threads);
        let table = GatedTable::new(12);
        let query = prepared(QUERIES[3], table.clone(), &work).deadline(Instant::now() + SOON);
        let progress = query.progress();
        let outcome = thread::scope(|scope| {
            let running = scope.spawn(move || query.run());
            // The gate holds every running slot, so a done slot was given up after the deadline.
            while progress.slots().0 == 0 && !running.is_finished() {
                thread::yield_now();
            }
            table.let_pass();
            running.join().expect("it does not panic")
        });
        assert!(
            matches!(outcome, Err(QueryError::DeadlineExceeded)),
            "{outcome:?}"
        );
        assert!(table.slots_begun() <= threads);
    }
}

fn ended(query: Query) -> QueryError {
    let (done, ended) = mpsc::channel();
    // Not joined, since a query whose deadline is lost never ends.
    thread::spawn(move || done.send(query.run()).unwrap_or_default());
    let outcome = ended.recv_timeout(HANG).expect("a deadline ends it");
    outcome.expect_err("its table hangs")
}

fn hanging() -> Arc<Stored> {
    Stored::awaited(rows(), |_| std::future::pending::<()>(), |_, _| Ok(()))
}

#[test]
fn of_a_sessions_and_a_querys_deadlines_the_earliest_counts() {
    let orders: [[Option<bool>; 3]; 6] = [
        [Some(true), Some(false), None],
        [Some(false), Some(true), None],
        [None, Some(true), Some(false)],
        [None, Some(false), Some(true)],
        [Some(true), Some(false), Some(false)],
        [Some(false), Some(false), Some(true)],
    ];
    for order in orders {
        let at = |is_soon| Instant::now() + if is_soon { SOON } else { 30 * HANG };
        let [session, first, second] = order;
        let mut work = executor(1);
        if let Some(is_soon) = session {
            work = work.deadline(at(is_soon));
        }
        let mut query = prepared(QUERIES[3], hanging(), &work);
        for is_soon in [first, second].into_iter().flatten() {
            query = query.deadline(at(is_soon));
        }
        let error = ended(query);
        assert!(
            matches!(error, QueryError::DeadlineExceeded),
            "{order:?}: {error:?}"
        );
    }
}

#[test]
fn a_deadline_ends_a_query_while_the_users_own_work_fills_the_maintenance_pool() {
    let pools = Pools::builder().cpu_threads(1).maintenance_threads_max(2);
    let pools = pools.build().expect("in range");
    let (begin, begun) = mpsc::channel();
    let gate = Arc::new((Mutex::new(true), Condvar::new()));
    for _ in 0..3 {
        let (begin, gate) = (begin.clone(), Arc::clone(&gate));
        let blocks = move || {
            begin.send(()).expect("the test listens");
            let closed = gate.0.lock().expect("nobody panics with it");
            drop(gate.1.wait_while(closed, |closed| *closed));
        };
        pools.maintenance().spawn(blocks).expect("the pool is open");
    }
    (0..2).for_each(|_| begun.recv_timeout(HANG).expect("a thread starts"));
    let query = prepared(QUERIES[3], hanging(), &Work::new(&pools));
    let error = ended(query.deadline(Instant::now() + SOON));
    assert!(matches!(error, QueryError::DeadlineExceeded), "{error:?}");
    *gate.0.lock().expect("nobody panics with it") = false;
    gate.1.notify_all();
}

#[test]
fn a_deadline_far_away_changes_no_answer() {
    let work = executor(2);
    let table = Stored::new(rows(), |_, _| Ok(()));
    let query = prepared("select n from gated where n >= 0", table, &work).deadline(Instant::now() + HANG);
    let report = query.run().expect("an answer");
    assert_eq!(report.rows.num_rows(), 3 * MORSEL_ROWS);
}
