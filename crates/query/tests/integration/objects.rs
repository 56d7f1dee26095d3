//! Tables by URL give the answers of files, and a server's faults become errors.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use object_server::{Fault, ObjectServer};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use query::object_store::ObjectStoreExt;
use query::object_store::memory::InMemory;
use query::pools::Pools;
use query::source::{self, Patience};
use query::{CancellationToken, QueryError, QueryResult, Work};

use crate::folder::Folder;
use crate::run::{assert_same_bits, catalog, query};

const ROWS: i64 = 2_000;
const SQL: [&str; 3] = [
    "select s, sum(n), count(*) from t group by s",
    "select n, s from t where n > 1990 order by n desc",
    "select n from t limit 5",
];

fn patient(retries: usize) -> Patience {
    Patience {
        silence: Duration::from_secs(60),
        retries,
        retry_for: Duration::from_secs(60),
    }
}

fn parquet() -> Vec<u8> {
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let s: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..ROWS).map(|n| format!("s{}", n % 7)),
    ));
    let batch = RecordBatch::try_from_iter([("n", n), ("s", s)]).expect("two columns");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(500))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("plain types");
    writer.write(&batch).expect("memory");
    writer.close().expect("memory");
    bytes
}

fn csv() -> Vec<u8> {
    let lines = (0..ROWS).map(|n| format!("{n},s{}\n", n % 7));
    std::iter::once("n,s\n".to_owned())
        .chain(lines)
        .collect::<String>()
        .into_bytes()
}

fn files() -> [(&'static str, Vec<u8>); 2] {
    [("t.parquet", parquet()), ("t.csv", csv())]
}

fn local(name: &str, bytes: &[u8], sql: &str, executor: &Work) -> QueryResult {
    let folder = Folder::new();
    let table = source::open("t", folder.write(name, bytes), executor).expect("a table");
    query(sql, &catalog(table), executor).expect("an answer")
}

fn by_url(url: &str, patience: Patience, sql: &str, work: &Work) -> Result<QueryResult, QueryError> {
    let table = source::open_url("t", url, patience, work)?;
    query(sql, &catalog(table), work)
}

#[test]
fn objects_give_the_same_answers_as_files() {
    for threads in [1, 2] {
        let executor = crate::run::executor(threads);
        for (name, bytes) in files() {
            let server = ObjectServer::start(name, bytes.clone());
            let folder = Folder::new();
            let path = folder.write(name, &bytes);
            for sql in SQL {
                let expected = local(name, &bytes, sql, &executor);
                for url in [server.url(), format!("file://{}", path.display())] {
                    let found = by_url(&url, patient(0), sql, &executor).expect("an answer");
                    assert_same_bits(&expected, &found, &format!("{url}: {sql}"));
                    let table = source::open("t", &url, &executor).expect("a table");
                    let found = query(sql, &catalog(table), &executor).expect("an answer");
                    assert_same_bits(&expected, &found, &format!("{url} as a path: {sql}"));
                }
            }
        }
    }
}

#[test]
fn queries_run_on_pools_and_any_store_has_tables() {
    let pools = Pools::builder().cpu_threads(2).build().expect("in range");
    let work = Work::new(&pools);
    for (name, bytes) in files() {
        let store = Arc::new(InMemory::new());
        let put = pools
            .mixed()
            .block_on(store.put(&name.into(), bytes.clone().into()));
        put.expect("a plain thread").expect("memory");
        let table = source::open_object("t", name, store.clone(), name.into(), &work).expect("a table");
        let executor = crate::run::executor(2);
        let found = query(SQL[0], &catalog(table.clone()), &work).expect("an answer");
        assert_same_bits(&local(name, &bytes, SQL[0], &executor), &found, name);

        let put = pools.mixed().block_on(store.put(&name.into(), bytes.into()));
        put.expect("a plain thread").expect("memory");
        let error = query(SQL[0], &catalog(table), &work)
            .expect_err("changed")
            .to_string();
        assert!(
            error.contains("cannot read t.") && error.contains("was written to while it was being queried"),
            "{error}"
        );
    }
}

fn requests(name: &str, bytes: &[u8], executor: &Work) -> usize {
    let server = ObjectServer::start(name, bytes.to_vec());
    by_url(&server.url(), patient(0), SQL[0], executor).expect("an answer");
    server.take_requests()
}

#[test]
fn a_server_that_fails_at_any_request_is_the_error_and_never_half_an_answer() {
    let executor = crate::run::executor(2);
    for (name, bytes) in files() {
        let requests = requests(name, &bytes, &executor);
        assert!(requests >= 4, "{requests} requests for {name}");
        for fault in [
            Fault::Status(500),
            Fault::Status(404),
            Fault::Close,
            Fault::Cut,
            Fault::Reset,
        ] {
            for at in 0..requests {
                // An abandoned request of another query may still arrive.
                let server = ObjectServer::start(name, bytes.clone());
                server.plan(at, fault);
                let outcome = by_url(&server.url(), patient(0), SQL[0], &executor);
                let what = format!("{name}, {fault:?} at request {at} of {requests}");
                match outcome {
                    Ok(_) if at == 0 && fault == Fault::Cut => {}
                    Ok(_) => panic!("{what}: an answer"),
                    Err(QueryError::Read(error)) => {
                        assert_eq!(error.origin(), server.url(), "{what}: {error}")
                    }
                    Err(other) => panic!("{what}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_server_that_hangs_at_any_request_is_an_error_when_patience_ends() {
    let executor = crate::run::executor(2);
    let impatient = Patience {
        silence: Duration::from_millis(700),
        ..patient(0)
    };
    for (name, bytes) in files() {
        let requests = requests(name, &bytes, &executor);
        for at in [0, 1, requests - 1] {
            for fault in [Fault::Hang, Fault::HangInBody] {
                let server = ObjectServer::start(name, bytes.clone());
                server.plan(at, fault);
                let what = format!("{name}, {fault:?} at request {at}");
                match by_url(&server.url(), impatient, SQL[0], &executor) {
                    Ok(_) => assert!(at == 0 && fault == Fault::HangInBody, "{what}: an answer"),
                    Err(error) => {
                        let error = error.to_string();
                        assert!(
                            error.contains("the server said nothing for 700ms"),
                            "{what}: {error}"
                        );
                        assert!(
                            error.starts_with(&format!("cannot read {}", server.url())),
                            "{what}: {error}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_cancel_or_a_deadline_ends_the_opening_of_a_table_whose_server_hangs() {
    for (name, bytes) in [("t.parquet", parquet()), ("t.csv", csv()), ("t", parquet())] {
        for at in [0, 1] {
            let what = format!("{name} at request {at}");
            let server = ObjectServer::start(name, bytes.clone());
            server.plan(at, Fault::Hang);
            let token = CancellationToken::new();
            let work = crate::run::executor(1).cancelled_by(token.clone());
            thread::scope(|scope| {
                let opened = scope.spawn(|| source::open_url("t", &server.url(), patient(0), &work));
                server.wait_for_requests(at + 1);
                token.cancel();
                let error = opened.join().expect("no panic").expect_err("the server hangs");
                assert!(matches!(error, QueryError::Cancelled), "{what}: {error:?}");
            });

            server.plan(at, Fault::Hang);
            let soon = Instant::now() + Duration::from_millis(20);
            let work = crate::run::executor(1).deadline(soon);
            let late = source::open_url("t", &server.url(), patient(0), &work);
            let error = late.expect_err("the server hangs");
            assert!(matches!(error, QueryError::DeadlineExceeded), "{what}: {error:?}");
        }
    }
}

#[test]
fn a_failure_that_passes_is_asked_for_once_more() {
    let executor = crate::run::executor(2);
    let bytes = parquet();
    let expected = local("t.parquet", &bytes, SQL[0], &executor);
    let server = ObjectServer::start("t.parquet", bytes);
    for fault in [
        Fault::Status(503),
        Fault::Status(429),
        Fault::Close,
        Fault::Reset,
        Fault::Cut,
    ] {
        for at in [0, 2] {
            server.plan(at, fault);
            let what = format!("after {fault:?} at request {at}");
            let found = by_url(&server.url(), patient(2), SQL[0], &executor);
            let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_same_bits(&expected, &found, &what);
            server.take_requests();
        }
    }
}

#[test]
fn urls_that_are_no_table_say_why() {
    let executor = crate::run::executor(1);
    let server = ObjectServer::start("t.csv", csv());
    let base = server.url().replace("/t.csv", "");
    for (url, why) in [
        (format!("{base}/nothing.csv"), "not found"),
        (format!("{base}/t.csv?version=2"), "without a user, `?` or `#`"),
        ("https://127.0.0.1/t.csv".to_owned(), "https is not supported"),
        ("http://".to_owned(), "this is no URL"),
        (
            "s3://bucket/t.parquet".to_owned(),
            "by file:// and http://, not s3://",
        ),
        ("file://tmp/t.parquet".to_owned(), "is it file:///tmp/t.parquet?"),
        ("file:///no/such/place/t.parquet".to_owned(), "not found"),
    ] {
        let error = source::open("t", &url, &executor)
            .expect_err("no table")
            .to_string();
        assert!(
            error.starts_with(&format!("cannot read {url}: ")) && error.contains(why),
            "{error}"
        );
    }
}

#[test]
fn a_folder_by_url_is_the_table_of_its_files() {
    let executor = crate::run::executor(2);
    let folder = Folder::new();
    for name in ["b.parquet", "a.parquet"] {
        folder.write(name, parquet());
    }
    folder.write("_done", "");
    let by_path = source::open("t", folder.root(), &executor).expect("a table");
    let url = format!("file://{}", folder.root().display());
    let by_url = source::open("t", &url, &executor).expect("a table");
    let answer =
        |table| query("select count(*), sum(n) from t", &catalog(table), &executor).expect("an answer");
    assert_same_bits(&answer(by_path), &answer(by_url), "a folder");

    std::fs::create_dir(folder.path("year=2024")).expect("a folder");
    folder.write("year=2024/c.parquet", parquet());
    let error = source::open("t", &url, &executor)
        .expect_err("a folder in it")
        .to_string();
    assert!(error.contains("holds another folder, `year=2024`"), "{error}");
}
