//! Nothing is written, and nothing outside of the folders is read.

use super::served::{Served, block_on, error_of};

#[test]
fn statements_that_write_are_refused_by_both_protocols() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        for sql in [
            "create table t as select 1",
            "create view v as select 1",
            "insert into cities values ('x', 'y', 1)",
            "drop table cities",
            "copy cities to 'cities.csv'",
            "explain analyze insert into cities values ('x', 'y', 1)",
            "with x as (select 1) insert into cities select 'a', 'b', 1",
            "select * into copied from cities",
        ] {
            for error in [
                client.simple_query(sql).await.unwrap_err(),
                client.prepare(sql).await.unwrap_err(),
            ] {
                let (code, text) = error_of(&error);
                assert_eq!(code, "25006", "{sql}: {text}");
            }
        }
    });
    let files = std::fs::read_dir(server.folder()).unwrap().count();
    assert_eq!(files, 1, "no file came");
}

#[test]
fn files_outside_are_no_tables() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        for sql in [
            "select * from '/etc/passwd'",
            "select * from \"/etc/passwd\"",
            "select * from '../cities.csv'",
            "select * from read_csv('/etc/passwd')",
            "select * from parquet_metadata('/etc/passwd')",
            "create external table t stored as csv location '/etc/passwd'",
            "load 'x.so'",
        ] {
            let error = client.simple_query(sql).await.unwrap_err();
            assert!(error.as_db_error().is_some(), "{sql}: {error:?}");
        }
    });
}
