//! Requests under way stay within their bytes and their number, and all end with a failure or a
//! cancel.

use std::future::pending;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use columnar::{MemoryPool, TableSource};
use query::{CancellationToken, QueryError, QueryPlanner, Session};

use super::{HANG, assert_released, run_at_once};
use crate::differential::generator::Case;
use crate::run::{assert_same_bits, catalog, executor};
use crate::stored_table::{Moment, Stored};

const SQL: &str = "select sum(i), count(*), min(s) from t";

fn case_of(morsels: usize) -> Case {
    (0..)
        .map(Case::generate)
        .find(|case| case.source().morsels() >= morsels)
        .expect("some are large")
}

fn bytes_of(table: &dyn TableSource, morsels: usize) -> usize {
    let rows = (0..table.morsels()).map(|morsel| table.rows(morsel)).max();
    morsels * rows.expect("there are some") * 2 * 8
}

#[derive(Default)]
struct UnderWay {
    now: usize,
    most: usize,
}

#[test]
fn as_many_requests_as_may_are_under_way_and_no_more() {
    let work = executor(2);
    let case = case_of(6);
    let expected = super::run(SQL, &catalog(case.source()), 1 << 20, &work).expect("an answer");
    // The last bound is in bytes: four of the largest morsels fit, each in its own batch.
    for (requests, least, most) in [(1, 1, 1), (3, 3, 3), (16, 4, 4)] {
        let state = Arc::new((Mutex::new(UnderWay::default()), Condvar::new()));
        let shared = Arc::clone(&state);
        let table = Stored::new(case.source(), move |moment, _| {
            if moment != Moment::Fetching {
                return Ok(());
            }
            let (state, changed) = &*shared;
            let mut state = state.lock().expect("nobody panics with it");
            state.now += 1;
            state.most = state.most.max(state.now);
            changed.notify_all();
            let waited = changed.wait_timeout_while(state, HANG, |state| state.most < least);
            let (mut state, timeout) = waited.expect("nobody panics with it");
            state.now -= 1;
            match timeout.timed_out() {
                true => Err(format!("at most {} at the same time", state.most)),
                false => Ok(()),
            }
        });
        let ahead = (bytes_of(table.as_ref(), 4), requests);
        let found = run_at_once(SQL, &catalog(table), ahead, &work).expect("an answer");
        assert_same_bits(&expected, &found, &format!("{requests} at once"));
        let seen = state.0.lock().expect("nobody panics with it").most;
        assert!(
            (least..=most).contains(&seen),
            "{seen} at the same time, of {requests}"
        );
    }
}

#[test]
fn what_is_under_way_stays_within_its_bytes() {
    let work = executor(2);
    let case = case_of(6);
    let table = case.source();
    for morsels in [1, 4] {
        let ahead = bytes_of(table.as_ref(), morsels);
        let largest = bytes_of(table.as_ref(), 1);
        let quota = Arc::new(MemoryPool::new("reader", 1 << 30));
        // No slot computes yet, so only bytes under way are reserved.
        let stored = Stored::awaited(table.clone(), |_| pending(), |_, _| Ok(()));
        let plan = QueryPlanner::plan(SQL, &catalog(stored.clone())).expect("a query");
        let token = CancellationToken::new();
        let session = Session::new(work.clone().cancelled_by(token.clone()));
        let query = session.query(plan.with_quota(Arc::clone(&quota)));
        let explain = query.explain();
        thread::scope(|scope| {
            let query = scope.spawn(|| query.read_ahead(ahead).requests_at_once(1_000).run());
            let began = std::time::Instant::now();
            while quota.used() + largest <= ahead && began.elapsed() < HANG {
                thread::yield_now();
            }
            token.cancel();
            let outcome = query.join().expect("no panic");
            assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
        });
        assert!(
            quota.peak() + largest > ahead && quota.peak() <= ahead,
            "{} of {ahead} bytes, a morsel has {largest}",
            quota.peak()
        );
        drop(explain);
        assert_released(&stored, "after the cancel");
        assert_eq!(quota.used(), 0);
    }
}

/// Morsels from `hanging` on never arrive.
fn hanging(case: &Case, hanging: usize, tell: Sender<(Moment, usize)>) -> Arc<Stored> {
    let asked = tell.clone();
    let before = move |morsel| {
        asked.send((Moment::Fetching, morsel)).expect("the test listens");
        async move {
            if morsel >= hanging {
                pending::<()>().await;
            }
        }
    };
    Stored::awaited(case.source(), before, move |moment, morsel| {
        match (moment, morsel) {
            (Moment::Dropping, _) => {
                let _heard = tell.send((moment, morsel));
                Ok(())
            }
            (Moment::Fetching, 1) if hanging > 1 => Err("on purpose".to_owned()),
            _ => Ok(()),
        }
    })
}

#[test]
fn a_request_that_fails_among_several_ends_those_that_hang_behind_it() {
    let work = executor(2);
    let case = case_of(6);
    let (tell, told) = mpsc::channel();
    let table = hanging(&case, 2, tell);
    let outcome = run_at_once(SQL, &catalog(table.clone()), (32 << 20, 4), &work);
    match outcome {
        Err(QueryError::Read(error)) => assert_eq!(error.to_string(), "cannot read stored: on purpose"),
        other => panic!("{other:?}"),
    }
    assert_released(&table, "after the failure");
    drop(table);
    let told: Vec<_> = told.iter().collect();
    let of = |wanted| {
        let all = told.iter().filter(|(moment, _)| *moment == wanted);
        let mut morsels: Vec<usize> = all.map(|(_, morsel)| *morsel).collect();
        morsels.sort_unstable();
        morsels
    };
    let asked = of(Moment::Fetching);
    assert!(asked.starts_with(&[0, 1]), "{told:?}");
    assert_eq!(asked[2..], of(Moment::Dropping), "{told:?}");
}

#[test]
fn a_cancel_while_several_are_under_way_ends_all_of_them() {
    let work = executor(2);
    let case = case_of(6);
    let (tell, told) = mpsc::channel();
    let table = hanging(&case, 0, tell);
    let token = CancellationToken::new();
    let work = work.cancelled_by(token.clone());
    let tables = catalog(table.clone());
    thread::scope(|scope| {
        let query = scope.spawn(|| run_at_once(SQL, &tables, (32 << 20, 3), &work));
        for _ in 0..3 {
            let (moment, _) = told.recv_timeout(HANG).expect("three are asked for");
            assert_eq!(moment, Moment::Fetching);
        }
        token.cancel();
        let outcome = query.join().expect("no panic");
        assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
    });
    drop(tables);
    assert_released(&table, "after the cancel");
    drop(table);
    let rest: Vec<_> = told.iter().collect();
    assert_eq!(rest.len(), 3, "no more are asked for: {rest:?}");
    assert!(
        rest.iter().all(|(moment, _)| *moment == Moment::Dropping),
        "{rest:?}"
    );
}
