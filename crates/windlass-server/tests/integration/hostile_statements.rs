//! Statements that try to write, or to read what is not below the folders: each attempt in each
//! place where SQL takes a statement, some 12,000 in all.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::time::timeout;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::program::{PATIENCE, Program};
use super::served::block_on;

/// What stands in the file outside, and in no answer.
const SECRET: &str = "swordfish";

const WRITES: &[&str] = &[
    "insert into cities values ('a', 'b', 1)",
    "insert into cities select * from cities",
    "insert into windlass.queries values (1)",
    "insert into information_schema.tables values ('a')",
    "insert into pg_catalog.pg_class values (1)",
    "update cities set people = 0",
    "update information_schema.df_settings set value = '1'",
    "delete from cities",
    "delete from windlass.queries",
    "truncate cities",
    "merge into cities using cities as c on true when matched then delete",
    "replace into cities values ('a', 'b', 1)",
    "insert overwrite cities values ('a', 'b', 1)",
    "create table t as select 1",
    "create table t (a int)",
    "create temp table t (a int)",
    "create or replace table cities as select 1",
    "create view v as select * from cities",
    "create materialized view v as select 1",
    "create schema s",
    "create database d",
    "create index i on cities (city)",
    "create function f(int) returns int return $1",
    "create role r",
    "create sequence s",
    "create type t as enum ('a')",
    "create extension e",
    "create server s foreign data wrapper w",
    "create trigger t after insert on cities execute function f()",
    "drop table cities",
    "drop view cities",
    "drop schema public cascade",
    "drop schema information_schema cascade",
    "drop database windlass",
    "drop function abs",
    "alter table cities rename to towns",
    "alter table cities add column x int",
    "alter schema public rename to private",
    "alter role eve superuser",
    "alter system set x = 1",
    "grant all on cities to eve",
    "revoke all on cities from eve",
    "comment on table cities is 'x'",
    "vacuum",
    "analyze table cities compute statistics",
    "refresh materialized view v",
    "reindex table cities",
    "cluster cities",
    "lock table cities",
    "notify c",
    "kill 1",
    "flush tables",
    "cache table cities",
    "install httpfs",
    "call f()",
    "do 'begin end'",
    "select * into copied from cities",
    "set role postgres",
    "set session authorization postgres",
    "set datafusion.catalog.create_default_catalog_and_schema = false",
    "set datafusion.execution.parquet.created_by = 'x'",
    "set datafusion.sql_parser.dialect = 'hive'",
    "set datafusion.runtime.temp_directory = '.'",
    "set datafusion.runtime.memory_limit = '100G'",
];

/// `{}` is a file; each is tried for the file outside in several spellings.
const READS: &[&str] = &[
    "select * from '{}'",
    "select * from \"{}\"",
    "select * from `{}`",
    "select * from public.\"{}\"",
    "select * from windlass.public.\"{}\"",
    "table \"{}\"",
    "select * from read_csv('{}')",
    "select * from read_csv_auto('{}')",
    "select * from read_parquet('{}')",
    "select * from read_json('{}')",
    "select * from read_text('{}')",
    "select * from read_blob('{}')",
    "select * from parquet_scan('{}')",
    "select * from parquet_metadata('{}')",
    "select * from csv_scan('{}')",
    "select * from glob('{}')",
    "select * from metadata_cache('{}')",
    "select * from list_files_cache('{}')",
    "select * from delta_scan('{}')",
    "select pg_read_file('{}')",
    "select pg_read_binary_file('{}')",
    "select pg_ls_dir('{}')",
    "select pg_stat_file('{}')",
    "select lo_import('{}')",
    "select load_extension('{}')",
    "select file_read('{}')",
    "select * from dblink('{}', 'select 1')",
    "copy cities to '{}'",
    "copy (select 1) to '{}' stored as csv",
    "copy cities from '{}'",
    "copy cities to program '{}'",
    "create external table t stored as csv location '{}'",
    "create unbounded external table t stored as parquet location '{}'",
    "create external table t (a text) stored as csv location '{}' options ('has_header' 'false')",
    "create foreign table t (a text) server s options (filename '{}')",
    "load data inpath '{}' into table cities",
    "load '{}'",
    "unload ('select 1') to '{}'",
    "attach '{}' as a",
    "import foreign schema s from server x into y options (filename '{}')",
    "set datafusion.catalog.location = '{}'",
    "describe '{}'",
    "describe \"{}\"",
    "show columns from \"{}\"",
];

/// Where a statement may stand. `{}` is the statement.
const PLACES: &[&str] = &[
    "{}",
    "{};",
    "/* harmless */ {} -- harmless",
    "select 1; {}",
    "begin; {}; commit",
    "explain {}",
    "explain verbose {}",
    "explain analyze {}",
    "explain analyze verbose {}",
    "explain format tree {}",
    "with x as ({}) select * from x",
    "with recursive x as ({} union all {}) select * from x",
    "select * from ({}) as x",
    "select ({})",
    "select * from cities where exists ({})",
    "select * from cities where city in ({})",
    "select * from cities, lateral ({}) as x",
    "select city from cities union all ({})",
    "({}) except select 1",
    "values (({}))",
    "prepare p as {}",
    "begin; declare c cursor for {}",
    "create table t as {}",
    "insert into cities {}",
    "copy ({}) to 'rows.csv'",
    "do $$ {} $$",
    "execute immediate $$ {} $$",
];

/// The file outside, as people and programs write it.
fn spellings(secret: &Path) -> Vec<String> {
    let secret = secret.display();
    vec![
        secret.to_string(),
        format!("file://{secret}"),
        format!("file:{secret}"),
        "../secret.csv".to_owned(),
        "./../secret.csv".to_owned(),
        "link.csv".to_owned(),
        "folder/../../secret.csv".to_owned(),
        "%2e%2e/secret.csv".to_owned(),
    ]
}

/// Statements that are refused, whatever stands around them; and statements that read nothing.
fn attempts(secret: &Path) -> Vec<String> {
    let spellings = spellings(secret);
    let reads = READS
        .iter()
        .flat_map(|read| spellings.iter().map(move |file| read.replace("{}", file)));
    let writes = WRITES.iter().map(|write| (*write).to_owned());
    writes.chain(reads).collect()
}

/// Everything in a folder, by path.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        } else if path.file_name().is_some_and(|name| name != "log") {
            found.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort_unstable();
    found
}

/// Asks by the simple protocol, and by the other; returns whether anything was done.
async fn is_done(client: &Client, sql: &str) -> bool {
    let asked = client.simple_query(sql);
    let simple = timeout(PATIENCE, asked).await.expect("an answer");
    let is_done = match simple {
        Ok(messages) => {
            for message in &messages {
                if let SimpleQueryMessage::Row(row) = message {
                    let values = (0..row.len()).filter_map(|at| row.get(at));
                    for value in values {
                        // A plan shows what was asked.
                        assert!(!value.contains(SECRET), "{sql} gives {value}");
                    }
                }
            }
            true
        }
        Err(error) => {
            let told = error.as_db_error();
            let told = told.unwrap_or_else(|| panic!("{sql} ends the connection: {error:?}"));
            assert_ne!(told.code().code(), "XX000", "{sql}: {told:?}");
            assert!(!told.message().contains(SECRET), "{sql} tells {told:?}");
            false
        }
    };
    client.simple_query("rollback").await.unwrap();
    let prepared = timeout(PATIENCE, client.prepare(sql)).await.expect("an answer");
    match prepared {
        Ok(_) => is_done,
        Err(error) => {
            assert!(
                error.as_db_error().is_some(),
                "{sql} ends the connection: {error:?}"
            );
            is_done
        }
    }
}

#[test]
fn no_statement_writes_or_reads_outside_wherever_it_stands() {
    let program = Program::start(&[], |folder| {
        fs::write(folder.join("secret.csv"), format!("word\n{SECRET}\n")).unwrap();
        fs::create_dir(folder.join("tables/folder")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.join("secret.csv"), folder.join("tables/link.csv")).unwrap();
    });
    let folder = program.tables().parent().unwrap().to_owned();
    let before = files(&folder);
    let all: Vec<_> = attempts(&folder.join("secret.csv"))
        .iter()
        .flat_map(|attempt| PLACES.iter().map(move |place| place.replace("{}", attempt)))
        .collect();
    assert!(all.len() > 10_000, "{}", all.len());
    let done = block_on(async {
        let mut done = Vec::new();
        let clients = [program.connect().await, program.connect().await];
        assert!(
            is_done(&clients[0], "select * from cities").await,
            "what is allowed is done"
        );
        let asked = clients.iter().enumerate().map(async |(number, client)| {
            let mut done = Vec::new();
            for sql in all.iter().skip(number).step_by(clients.len()) {
                if is_done(client, sql).await {
                    done.push(sql);
                }
            }
            done
        });
        for of_client in futures_util::future::join_all(asked).await {
            done.extend(of_client);
        }
        let count = clients[0]
            .query_one("select count(*) from cities", &[])
            .await
            .unwrap();
        assert_eq!(count.get::<_, i64>(0), 3);
        done
    });
    assert!(done.is_empty(), "these were done: {done:#?}");
    assert_eq!(files(&folder), before, "a file came, went or changed");
    program.end();
}
