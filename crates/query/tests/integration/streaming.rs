//! Tables read while a query computes give the answers of one job. A fault gives one error.

mod at_once;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use columnar::{MORSEL_ROWS, MemoryPool, MemoryTable, TableSource};
use query::source::MemoryBytes;
use query::{CancellationToken, Catalog, Query, QueryError, QueryPlanner, QueryResult, Session, Work};

use crate::differential::generator::{Case, Random};
use crate::run::{assert_same_bits, catalog, executor, executors, planned};
use crate::stored_table::{Moment, Stored};

const HANG: Duration = Duration::from_secs(120);
const LATER: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_millis(10);

fn run(sql: &str, tables: &Catalog, ahead: usize, work: &Work) -> Result<QueryResult, QueryError> {
    run_at_once(sql, tables, (ahead, 16), work)
}

fn run_at_once(
    sql: &str,
    tables: &Catalog,
    (ahead, requests): (usize, usize),
    work: &Work,
) -> Result<QueryResult, QueryError> {
    let query = planned(sql, tables, work)?;
    let (query, closed) = watched(query.read_ahead(ahead).requests_at_once(requests));
    let outcome = query.run();
    assert_closed_once(&closed, sql);
    Ok(outcome?.rows)
}

pub(crate) fn watched(query: Query) -> (Query, mpsc::Receiver<()>) {
    let (tell, closed) = mpsc::channel();
    let query = query.on_close(move || tell.send(()).unwrap_or_default());
    (query, closed)
}

fn assert_closed_once(closed: &mpsc::Receiver<()>, what: &str) {
    assert_eq!(closed.recv_timeout(HANG), Ok(()), "{what}: the close is told");
    let again = closed.recv_timeout(HANG);
    assert_eq!(
        again,
        Err(mpsc::RecvTimeoutError::Disconnected),
        "{what}: and told once"
    );
}

/// Later morsels need fewer polls, so answers arrive out of order.
async fn after_some_polls(morsel: usize) {
    let mut polls = 40 / (morsel + 1) + morsel * 7 % 5;
    poll_fn(|cx| {
        if polls == 0 {
            return Poll::Ready(());
        }
        polls -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn expected(case: &Case, executor: &Work) -> Result<QueryResult, QueryError> {
    crate::run::query(&case.sql, &catalog(case.source()), executor)
}

fn assert_released(table: &Arc<Stored>, what: &str) {
    let began = Instant::now();
    while Arc::strong_count(table) > 1 {
        assert!(began.elapsed() < HANG, "{what}: somebody still holds the table");
        thread::yield_now();
    }
}

#[test]
fn answers_are_the_same_to_the_bit_whatever_is_read_ahead_and_however_many_threads_there_are() {
    let executors = executors();
    for seed in 0..150 {
        let case = Case::generate(seed);
        let expected = expected(&case, &executors[0]);
        let fetched = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&fetched);
        let say = move |moment, _| {
            count.fetch_add(usize::from(moment == Moment::Fetching), Ordering::Relaxed);
            Ok(())
        };
        let table = match seed % 2 {
            0 => Stored::new(case.source(), say),
            _ => Stored::awaited(case.source(), after_some_polls, say),
        };
        let reading = [(1, 16), (700, 3), (5_000, 1), (32 << 20, 5)];
        for (executor, (ahead, requests)) in executors.iter().zip(reading) {
            let what = format!(
                "seed {seed}, {ahead} bytes ahead, {requests} at once: {}",
                case.sql
            );
            match (
                &expected,
                run_at_once(&case.sql, &catalog(table.clone()), (ahead, requests), executor),
            ) {
                (Ok(expected), Ok(found)) => assert_same_bits(expected, &found, &what),
                (Err(expected), Err(found)) => assert_eq!(expected.to_string(), found.to_string(), "{what}"),
                (expected, found) => panic!("{what}\nexpected {expected:?}\nfound {found:?}"),
            }
            let most = table.morsels();
            let fetched = fetched.swap(0, Ordering::Relaxed);
            assert!(fetched <= most, "{what}: {fetched} fetches of {most} morsels");
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    Fail(Moment),
    Panic(Moment),
    Cancel(Moment),
    Expire(Moment),
}

const FAULTS: [Fault; 8] = [
    Fault::Fail(Moment::Fetching),
    Fault::Fail(Moment::Opening),
    Fault::Panic(Moment::Fetching),
    Fault::Panic(Moment::Opening),
    Fault::Cancel(Moment::Fetching),
    Fault::Cancel(Moment::Opening),
    Fault::Expire(Moment::Fetching),
    Fault::Expire(Moment::Opening),
];

#[test]
fn a_fault_at_any_point_is_the_answer_and_nothing_is_left_behind() {
    let executors = executors();
    let mut answers = [0; FAULTS.len()];
    for seed in 0..480 {
        let case = Case::generate(seed);
        let mut random = Random(seed ^ 0xfa17);
        let kind = (seed % FAULTS.len() as u64) as usize;
        let fault = FAULTS[kind];
        let at = random.below(case.source().morsels().max(1));
        let ahead = [1, 300, 3_000, 32 << 20][random.below(4)];
        let requests = [1, 2, 16][random.below(3)];
        let executor = &executors[random.below(executors.len())];
        let what = format!(
            "seed {seed}, {fault:?} at morsel {at}, {ahead} bytes ahead, {requests} at once: {}",
            case.sql
        );
        let expected = expected(&case, executor);

        let token = CancellationToken::new();
        let mut work = executor.clone().cancelled_by(token.clone());
        let deadline = Instant::now() + SOON;
        if matches!(fault, Fault::Expire(_)) {
            work = work.deadline(deadline);
        }
        let say = move |moment, morsel| match fault {
            Fault::Fail(when) if (when, at) == (moment, morsel) => Err("on purpose".to_owned()),
            Fault::Panic(when) if (when, at) == (moment, morsel) => panic!("on purpose"),
            Fault::Cancel(when) if (when, at) == (moment, morsel) => {
                token.cancel();
                Ok(())
            }
            Fault::Expire(when) if (when, at) == (moment, morsel) => {
                while Instant::now() < deadline {
                    thread::yield_now();
                }
                Ok(())
            }
            _ => Ok(()),
        };
        let table = match random.below(2) {
            0 => Stored::new(case.source(), say),
            _ => Stored::awaited(case.source(), after_some_polls, say),
        };
        let outcome = run_at_once(&case.sql, &catalog(table.clone()), (ahead, requests), &work);
        match (&expected, &outcome) {
            // The query did not need the morsel, or its last morsel triggered the cancel.
            (Ok(expected), Ok(found)) => assert_same_bits(expected, found, &what),
            (_, Err(QueryError::Read(error))) if matches!(fault, Fault::Fail(_)) => {
                assert_eq!(error.to_string(), "cannot read stored: on purpose", "{what}");
                answers[kind] += 1;
            }
            (_, Err(QueryError::Internal { message })) if matches!(fault, Fault::Panic(_)) => {
                assert!(message.contains("on purpose"), "{what}: {message}");
                answers[kind] += 1;
            }
            (_, Err(QueryError::Cancelled)) if matches!(fault, Fault::Cancel(_)) => answers[kind] += 1,
            (_, Err(QueryError::DeadlineExceeded)) if matches!(fault, Fault::Expire(_)) => answers[kind] += 1,
            (Err(expected), Err(found)) => assert_eq!(expected.to_string(), found.to_string(), "{what}"),
            (expected, found) => panic!("{what}\nexpected {expected:?}\nfound {found:?}"),
        }
        drop(outcome);
        assert_released(&table, &what);
    }
    assert!(
        answers.iter().all(|&answers| answers > 20),
        "faults were answers: {answers:?}"
    );
}

#[test]
fn dropping_the_future_at_any_point_stops_reading_and_computing() {
    let executors = executors();
    for seed in 0..60 {
        let case = Case::generate(seed);
        let table = match seed % 2 {
            0 => Stored::new(case.source(), |_, _| Ok(())),
            _ => Stored::awaited(case.source(), after_some_polls, |_, _| Ok(())),
        };
        let work = &executors[seed as usize % executors.len()];
        let query = planned(&case.sql, &catalog(table.clone()), work).expect("a query of the subset");
        let polls = Random(seed).below(6);
        let mixed = work.pools().mixed();
        let (query, closed) = watched(query.read_ahead(1));
        let polled = async {
            let mut answer = pin!(query.run_async(CancellationToken::new()));
            for _ in 0..polls {
                if poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx).is_ready())).await {
                    break;
                }
                thread::yield_now();
            }
        };
        mixed.block_on(polled).expect("a plain thread");
        let what = format!("seed {seed}, {polls} polls: {}", case.sql);
        assert_closed_once(&closed, &what);
        assert_released(&table, &what);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Cancel,
    Expire,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    NotYet,
    Hangs,
    LetGo,
}

fn set((second, changed): &(Mutex<Second>, Condvar), to: Second) {
    *second.lock().expect("nobody panics with it") = to;
    changed.notify_all();
}

fn wait_while((second, changed): &(Mutex<Second>, Condvar), at: Second) {
    let second = second.lock().expect("nobody panics with it");
    let waited = changed.wait_timeout_while(second, HANG, |second| *second == at);
    let (_second, timeout) = waited.expect("nobody panics with it");
    assert!(!timeout.timed_out(), "the second morsel stays at {at:?}");
}

#[test]
fn a_source_that_hangs_does_not_hold_up_a_cancel_nor_a_deadline_nor_the_error_of_a_slot() {
    for ends in [Ends::Cancel, Ends::Expire, Ends::Error] {
        let token = CancellationToken::new();
        let mut work = executor(2).cancelled_by(token.clone());
        let second = Arc::new((Mutex::new(Second::NotYet), Condvar::new()));
        let held = Arc::clone(&second);
        let case = (0..)
            .map(Case::generate)
            .find(|case| case.source().morsels() > 3)
            .expect("some are large");
        let table = Stored::new(case.source(), move |moment, morsel| {
            match (moment, morsel) {
                (Moment::Fetching, 1) => {
                    set(&held, Second::Hangs);
                    wait_while(&held, Second::Hangs);
                }
                (Moment::Opening, 0) if ends == Ends::Error => {
                    // An earlier failure would stop the stream before the second morsel is read.
                    wait_while(&held, Second::NotYet);
                    return Err("on purpose".to_owned());
                }
                _ => {}
            }
            Ok(())
        });
        let (done, ended) = mpsc::channel();
        thread::scope(|scope| {
            if ends == Ends::Expire {
                work = work.deadline(Instant::now() + LATER);
            }
            let sql = "select sum(i), count(*), min(s) from t";
            let query = planned(sql, &catalog(table.clone()), &work).expect("a query of the subset");
            // With one byte ahead, the first slot runs while the second morsel is read.
            let (query, closed) = watched(query.read_ahead(1));
            scope.spawn(move || done.send(query.run()).expect("the test waits"));
            wait_while(&second, Second::NotYet);
            if ends == Ends::Cancel {
                token.cancel();
            }
            let outcome = ended
                .recv_timeout(HANG)
                .expect("the query ended while its source hangs");
            match outcome {
                Err(QueryError::Cancelled) if ends == Ends::Cancel => {}
                Err(QueryError::DeadlineExceeded) if ends == Ends::Expire => {}
                Err(QueryError::Read(error)) if ends == Ends::Error => {
                    assert_eq!(error.to_string(), "cannot read stored: on purpose");
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(
                closed.try_recv(),
                Err(mpsc::TryRecvError::Empty),
                "it is still being read"
            );
            set(&second, Second::LetGo);
            assert_closed_once(&closed, "after the hang");
        });
        assert_released(&table, "after the hang");
    }
}

#[test]
fn bytes_that_were_read_are_charged_and_given_back() {
    let work = executor(2);
    let case = (0..)
        .map(Case::generate)
        .find(|case| case.source().morsels() > 3)
        .expect("some are large");
    let table = Stored::new(case.source(), |_, _| Ok(()));
    let morsel = table.rows(0) * 8;
    for (limit, suffices) in [(1 << 20, true), (morsel - 1, false)] {
        let quota = Arc::new(MemoryPool::new("reader", limit));
        let plan = QueryPlanner::plan("select count(i) from t", &catalog(table.clone())).expect("a query");
        let query = Session::new(work.clone()).query(plan.with_quota(Arc::clone(&quota)));
        let explain = query.explain();
        match query.run() {
            Ok(_) => assert!(suffices && quota.peak() >= morsel, "{quota:?}"),
            Err(QueryError::Quota(refused)) => {
                assert!(!suffices && refused.query.as_ref() == "reader", "{refused:?}");
            }
            Err(other) => panic!("{other}"),
        }
        assert_eq!(quota.used(), 0, "{explain}");
    }
}

#[test]
fn what_statistics_let_a_query_skip_is_not_fetched() {
    let work = executor(2);
    let case = (0..)
        .map(Case::generate)
        .find(|case| case.source().morsels() > 3)
        .expect("some are large");
    let table = Stored::new(case.source(), |_, _| Err("nothing may be read".to_owned()));
    let count = |sql: &str| run(sql, &catalog(table.clone()), 1 << 20, &work);
    count("select count(*) from t").expect("no column is read");
    count("select count(i) from t").expect_err("a column is read");
    count("select i from t limit 0").expect("no row is needed");
}

#[test]
fn morsels_at_hand_are_looked_for_once_and_computed_in_few_jobs() {
    const MORSELS: usize = 100;
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..MORSEL_ROWS as i64));
    let batch = RecordBatch::try_from_iter([("i", numbers)]).expect("a column");
    let batches = std::iter::repeat_n(batch.clone(), MORSELS);
    let rows = MemoryTable::try_new("t", batch.schema(), batches).expect("the same columns");
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let table = Stored::at_hand(Arc::new(rows), move |moment, morsel| match moment {
        Moment::Opening => {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        _ => Err(format!("morsel {morsel} is fetched")),
    });
    let work = executor(2);
    let result = run("select count(i) from t", &catalog(table.clone()), 1 << 20, &work).expect("it is read");
    let counted: &Int64Array = result.batches[0].column(0).as_primitive();
    assert_eq!(counted.value(0), (MORSELS * MORSEL_ROWS) as i64);
    assert_eq!(
        (table.looks(), opened.load(Ordering::Relaxed)),
        (MORSELS, MORSELS)
    );
    // Three batches of slots, and the end.
    let jobs = work.pools().cpu().snapshot().expect("it runs").jobs;
    assert!(jobs.completed <= 4, "{jobs:?}");
}

#[test]
fn ranges_of_bytes_in_memory_are_those_that_were_asked_for() {
    use query::source::ByteSource;
    let bytes = MemoryBytes::new("memory", &b"0123456789"[..]);
    let read = bytes.read(&[2..5, 9..10, 4..4]).expect("all are there");
    assert_eq!(read, [&b"234"[..], b"9", b""]);
    let error = bytes
        .read(std::slice::from_ref(&(8..11)))
        .expect_err("behind the end");
    assert!(error.to_string().starts_with("cannot read memory: "), "{error}");
}

#[test]
fn a_morsel_is_read_while_the_one_before_is_computed() {
    #[derive(Default)]
    struct Begun {
        opening_first: bool,
        fetching_second: bool,
    }
    let work = executor(1);
    let case = (0..)
        .map(Case::generate)
        .find(|case| case.source().morsels() > 3)
        .expect("some are large");
    let meeting = Arc::new((Mutex::new(Begun::default()), Condvar::new()));
    let met = Arc::clone(&meeting);
    let table = Stored::new(case.source(), move |moment, morsel| {
        let (begun, changed) = &*met;
        let mut begun = begun.lock().expect("nobody panics with it");
        match (moment, morsel) {
            (Moment::Opening, 0) => begun.opening_first = true,
            (Moment::Fetching, 1) => begun.fetching_second = true,
            _ => return Ok(()),
        }
        changed.notify_all();
        let apart = |begun: &mut Begun| !(begun.opening_first && begun.fetching_second);
        let waited = changed.wait_timeout_while(begun, HANG, apart);
        let (_begun, timeout) = waited.expect("nobody panics with it");
        match timeout.timed_out() {
            true => Err("one waited for the other to end".to_owned()),
            false => Ok(()),
        }
    });
    run("select sum(i), min(s) from t", &catalog(table), 1, &work).expect("both at the same time");
}
