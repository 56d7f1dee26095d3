//! Rows, ranges and versions of files that a good server gives.

use std::fs;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use tokio_postgres::{Client, SimpleQueryMessage};
use windlass_server::Access;

use super::host::{self, Host};
use crate::served::{Served, block_on, error_of};

/// Columns `a`, and `b0` to `b7` that fill the file.
pub(crate) fn wide_parquet(rows: i64, a: impl Fn(i64) -> i64) -> Vec<u8> {
    let column = |value: &dyn Fn(i64) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..rows).map(value)))
    };
    let mut columns = vec![("a".to_owned(), column(&a))];
    for filler in 0..8 {
        columns.push((
            format!("b{filler}"),
            column(&|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)),
        ));
    }
    parquet(columns, rows as usize / 4)
}

pub(crate) fn parquet(columns: Vec<(String, ArrayRef)>, group_rows: usize) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(crate) fn people(rows: i64, group_rows: usize) -> Vec<u8> {
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let names = (0..rows).map(|row| format!("name {}", row % 7));
    let name: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    parquet(vec![("n".to_owned(), n), ("name".to_owned(), name)], group_rows)
}

pub(crate) fn csv(rows: i64) -> Vec<u8> {
    let rows = (0..rows).map(|row| format!("{row},\"name\n{}\"\n", row % 7));
    std::iter::once("n,name\n".to_owned())
        .chain(rows)
        .collect::<String>()
        .into_bytes()
}

pub(crate) async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap();
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            let values = (0..row.len()).map(|column| row.get(column).unwrap_or("NULL").to_owned());
            Some(values.collect::<Vec<_>>().join("|"))
        }
        _ => None,
    });
    rows.collect()
}

#[test]
fn rows_by_url_are_those_of_the_same_file_in_a_folder() {
    let host = Host::start();
    let files = [("p", "parquet", people(20_000, 3_000)), ("c", "csv", csv(3_000))];
    let mut tables = Vec::new();
    for (name, extension, bytes) in &files {
        let path = format!("/data/{name}.{extension}");
        host.put(&path, host::Served::new(bytes.clone()));
        tables.push(host.table(&format!("{name}_by_url"), &path));
    }
    let server = Served::over(Access::open_loopback(), &tables, |_| {});
    for (name, extension, bytes) in &files {
        fs::write(server.folder().join(format!("{name}.{extension}")), bytes).unwrap();
    }
    block_on(async {
        let client = server.connect().await;
        for (name, ..) in files {
            for sql in [
                "select count(*) from T",
                "select name, count(*), sum(n) from T group by name order by name",
                "select * from T where n > 1234 and n < 1300 order by n",
                "select n from T order by n desc limit 3",
                "select count(*) from T as x join T as y on x.n = y.n",
            ] {
                let local = rows(&client, &sql.replace('T', name)).await;
                let remote = rows(&client, &sql.replace('T', &format!("{name}_by_url"))).await;
                assert!(!local.is_empty() && local == remote, "{name}: {sql}: {remote:?}");
            }
        }
        let names = "select table_name from information_schema.tables where table_schema = 'public'";
        let names = rows(&client, names).await;
        assert!(names.contains(&"p_by_url".to_owned()), "{names:?}");
        let plan = rows(&client, "explain analyze select sum(n) from p_by_url")
            .await
            .join("\n");
        assert!(plan.contains("WindlassExec"), "{plan}");
        let sql =
            "select query from windlass.queries, (select count(*) as n from p_by_url) as p where p.n > 0";
        assert!(rows(&client, sql).await[0].contains("p_by_url"));
    });
}

#[test]
fn one_column_of_a_parquet_file_costs_its_ranges_alone() {
    let host = Host::start();
    let bytes = wide_parquet(200_000, |row| row % 10);
    let len = bytes.len();
    host.put("/wide.parquet", host::Served::new(bytes));
    let table = host.table("wide", "/wide.parquet");
    let server = Served::over(Access::open_loopback(), &[table], |_| {});
    block_on(async {
        let client = server.connect().await;
        let sql = "select sum(a) from wide";
        assert_eq!(rows(&client, sql).await, ["900000"]);
        let asked = host.take_asked();
        assert!(asked.iter().all(|asked| asked.range.is_some()), "{asked:?}");
        let read: usize = asked.iter().map(|asked| asked.bytes).sum();
        assert!(read < len / 3, "{read} of {len} bytes: {asked:?}");
        // Columns and footer are known now.
        assert_eq!(rows(&client, sql).await, ["900000"]);
        let again = host.take_asked();
        let read_again: usize = again.iter().map(|asked| asked.bytes).sum();
        assert!(
            again.len() < asked.len() && read_again < read,
            "{again:?} after {asked:?}"
        );
        assert_eq!(again[0].range.as_deref(), Some("bytes=0-0"));
    });
}

#[test]
fn a_file_that_changes_between_statements_is_read_anew() {
    let host = Host::start();
    for (path, first, second) in [
        ("/t.parquet", people(10, 10), people(20, 10)),
        ("/t.csv", csv(10), csv(20)),
    ] {
        host.put(path, host::Served::new(first));
        let table = host.table("t", path);
        let server = Served::over(Access::open_loopback(), &[table], |_| {});
        block_on(async {
            let client = server.connect().await;
            let statement = client.prepare("select count(*), max(n) from t").await.unwrap();
            let count = async || {
                let row = client.query_one(&statement, &[]).await.unwrap();
                (row.get::<_, i64>(0), row.get::<_, i64>(1))
            };
            assert_eq!(count().await, (10, 9));
            let mut changed = host::Served::new(second);
            changed.e_tag = Some("\"two\"");
            host.put(path, changed.clone());
            assert_eq!(count().await, (20, 19), "{path}");
            // Without a tag, the time tells versions apart.
            changed.e_tag = None;
            changed.last_modified = Some("Sat, 01 Nov 2025 00:00:00 GMT");
            host.put(path, changed.clone());
            assert_eq!(count().await, (20, 19), "{path}");
            changed.bytes = if path == "/t.csv" { csv(5) } else { people(5, 5) }.into();
            host.put(path, changed);
            assert_eq!(count().await, (5, 4), "{path}");
        });
    }
}

#[test]
fn a_file_that_changes_in_the_midst_of_a_statement_never_gives_rows_of_both() {
    let ones = wide_parquet(50_000, |_| 1);
    let twos = wide_parquet(50_000, |_| 2);
    let lines = |value: &str| format!("a\n{}", format!("{value}\n").repeat(50_000)).into_bytes();
    for (path, first, second) in [("/t.parquet", ones, twos), ("/t.csv", lines("1"), lines("2"))] {
        assert_eq!(first.len(), second.len(), "the length does not tell");
        let host = Host::start();
        let mut changed = host::Served::new(second);
        changed.e_tag = Some("\"two\"");
        let (mut errors, mut at) = (0, 1);
        loop {
            host.put(path, host::Served::new(first.clone()));
            host.change_at(at, path, changed.clone());
            host.take_asked();
            // A new server, which knows nothing of the file.
            let table = host.table("t", path);
            let server = Served::over(Access::open_loopback(), &[table], |_| {});
            let found = block_on(async {
                let client = server.connect().await;
                client.query_one("select sum(a) from t", &[]).await
            });
            match found {
                Ok(row) => {
                    let sum: i64 = row.get(0);
                    assert!(sum == 50_000 || sum == 100_000, "{path}: changed at {at}: {sum}");
                }
                Err(error) => {
                    errors += 1;
                    let (code, text) = error_of(&error);
                    assert!(text.contains("changed"), "{path}: changed at {at}: {text}");
                    assert!(text.contains(&host.url(path)), "{text}");
                    assert_eq!(code, "58030", "{text}");
                }
            }
            if host.take_asked().len() <= at {
                break;
            }
            at += 1;
        }
        assert!(errors > 0 && at > 2, "{path}: {errors} errors of {at}");
    }
}

#[test]
fn a_urls_query_is_sent_and_shown_nowhere() {
    let host = Host::start();
    let mut file = host::Served::new(csv(10));
    file.query = Some("key=secret");
    host.put("/t.csv", file);
    let table = host.table("t", "/t.csv?key=secret");
    assert!(!format!("{table:?}").contains("secret"));
    let server = Served::over(Access::open_loopback(), &[table], |_| {});
    block_on(async {
        let client = server.connect().await;
        assert_eq!(rows(&client, "select count(*) from t").await, ["10"]);
        let plan = rows(&client, "explain verbose select * from t").await.join("\n");
        assert!(plan.contains("t.csv") && !plan.contains("secret"), "{plan}");
        host.remove("/t.csv");
        let error = client.simple_query("select count(*) from t").await.unwrap_err();
        let text = error_of(&error).1;
        assert!(text.contains("/t.csv?…") && !text.contains("secret"), "{text}");
    });
}

#[test]
fn statements_cannot_name_urls() {
    let host = Host::start();
    host.put("/t.csv", host::Served::new(csv(10)));
    let url = host.url("/t.csv");
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        for sql in [
            format!("select * from \"{url}\""),
            format!("select * from '{url}'"),
            format!("create external table t stored as csv location '{url}'"),
            format!("copy (select 1) to '{url}'"),
            format!("select * from read_csv('{url}')"),
            "select * from \"url://tables/t\"".to_owned(),
        ] {
            let error = client.simple_query(&sql).await.expect_err(&sql);
            assert!(!error_of(&error).0.is_empty(), "{sql}");
        }
    });
    assert!(host.take_asked().is_empty());
}
