//! Tables by URL on the command line, and over workers.

use std::process::Command;

use windlass_server::Source;
use windlass_server::nodes::NodeAccess;

use super::host::{self, Host};
use super::reading::{people, rows};
use crate::nodes::{Worker, patient, server_of};
use crate::program::Program;
use crate::served::{block_on, error_of};

fn refused(arguments: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_windlass-server"));
    let ended = program.args(arguments).output().unwrap();
    assert!(!ended.status.success(), "{arguments:?}");
    String::from_utf8(ended.stderr).unwrap()
}

#[test]
fn a_table_by_url_is_an_argument() {
    let host = Host::start();
    host.put("/t.parquet", host::Served::new(people(100, 100)));
    let table = format!("t={}", host.url("/t.parquet"));
    let program = Program::start(&["--table", &table], |_| {});
    assert!(!host.take_asked().is_empty(), "the start looks at it");
    block_on(async {
        let client = program.connect().await;
        assert_eq!(rows(&client, "select count(*) from t").await, ["100"]);
    });
    program.end();
}

#[test]
fn a_url_that_is_not_read_ends_the_start_with_a_reason_and_without_secrets() {
    for (table, words) in [
        ("t=s3://bucket/t.parquet", &["s3://", "https://"][..]),
        (
            "t=https://alice:secret@host/t.parquet",
            &["…@host/t.parquet", "list of processes"],
        ),
        ("t=https://host/folder?key=secret", &[".parquet"]),
        ("t https://alice:secret@host", &["NAME=URL"]),
    ] {
        for arguments in [&["--table", table][..], &["worker", "--table", table]] {
            let text = refused(arguments);
            for word in words {
                assert!(text.contains(word), "{text}");
            }
            assert!(!text.contains("secret"), "{text}");
        }
    }
    let text = refused(&["--table", "t=https://host/t.csv", "--table-ca", "/no/such/file"]);
    assert!(text.contains("/no/such/file"), "{text}");
}

#[test]
fn workers_read_the_urls_that_they_were_given_and_no_other() {
    let host = Host::start();
    host.put("/t.parquet", host::Served::new(people(20_000, 1_000)));
    let table: Source = host.table("t", "/t.parquet");
    let over = |sources: Vec<Source>| Worker::over(sources, NodeAccess::open_loopback(), "http", |_| {});
    let sql = "select name, count(*) from t group by name order by name limit 1";
    let told = over(vec![table.clone()]);
    let server = server_of(std::slice::from_ref(&told.url), vec![table.clone()], patient());
    block_on(async {
        let client = server.connect().await;
        assert_eq!(rows(&client, sql).await, ["name 0|2858"]);
        told.until(0).await;
    });
    assert_eq!(told.watch.begun(), 1);

    let elsewhere = host.table("t", "/other.parquet");
    for sources in [vec![], vec![elsewhere]] {
        let untold = over(sources);
        let server = server_of(std::slice::from_ref(&untold.url), vec![table.clone()], patient());
        block_on(async {
            let client = server.connect().await;
            let error = client.simple_query(sql).await.unwrap_err();
            let (code, text) = error_of(&error);
            assert!(text.contains("was not given --table t="), "{code} {text}");
            assert!(text.contains(untold.url.as_str().trim_end_matches('/')), "{text}");
            assert_eq!(code, "58030", "{text}");
        });
    }
}
