//! What a server over workers answers.

use std::fs;
use std::time::Duration;

use tokio_postgres::Client;
use windlass_datafusion::Class;
use windlass_server::nodes::{NodeAccess, WorkerList};
use windlass_server::{Source, Tables};

use super::cluster::{Busy, MANY_ROWS, Worker, patient, server, server_over, tpch};
use crate::served::{block_on, error_of};
use crate::tpch::{all_queries_equal, session};

pub(crate) async fn count(client: &Client, table: &str) -> Result<i64, tokio_postgres::Error> {
    // The number alone would come from the files' own statistics.
    let sql = format!("select count(*) from (select distinct * from {table}) as rows");
    let row = client.query_one(&sql, &[]).await?;
    Ok(row.get(0))
}

#[test]
fn twenty_two_queries_over_two_workers_equal_those_of_one_process() {
    let (first, second) = (Worker::start(), Worker::start());
    let server = server(&[first.url.clone(), second.url.clone()], patient());
    let tables = Tables::new(&[Source::Folder(tpch())]).unwrap();
    block_on(async {
        let client = server.connect().await;
        all_queries_equal(&client, &session(&tables)).await;
        first.until(0).await;
        second.until(0).await;
    });
    for worker in [first, second] {
        assert_eq!(worker.watch.begun(), 22);
        assert_eq!(worker.end(), 0);
    }
}

#[test]
fn class_and_deadline_and_user_reach_the_workers() {
    let worker = Worker::start();
    let server = server(std::slice::from_ref(&worker.url), patient());
    block_on(async {
        let set = "set windlass.class = 'interactive'; set statement_timeout = '1h'";
        let busy = Busy::begin(&server, "zoe", set).await;
        worker.until(1).await;
        let query = worker.watch.queries().remove(0);
        assert_eq!((query.class, query.user.as_str()), (Class::Interactive, "zoe"));
        let deadline = query.deadline.expect("the session has set one");
        assert!((1..=3_600).contains(&deadline.as_secs()), "{deadline:?}");
        busy.go_away();
        worker.until(0).await;
    });
}

#[test]
fn a_worker_ends_a_query_that_is_late() {
    let worker = Worker::start();
    let server = server(std::slice::from_ref(&worker.url), patient());
    block_on(async {
        let client = server.connect().await;
        client
            .simple_query("set statement_timeout = '300ms'")
            .await
            .unwrap();
        let error = client.simple_query(MANY_ROWS).await.unwrap_err();
        assert_eq!(error_of(&error).0, "57014");
        worker.until(0).await;
    });
}

#[test]
fn what_is_in_this_process_alone_is_answered_here() {
    let worker = Worker::start();
    let server = server(std::slice::from_ref(&worker.url), patient());
    block_on(async {
        let client = server.connect().await;
        let sql = "select count(*) from orders, windlass.queries where user_name = 'alice'";
        let row = client.query_one(sql, &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 15_000);
        assert_eq!(worker.watch.begun(), 0);
        client
            .query("select relname from pg_catalog.pg_class", &[])
            .await
            .unwrap();
        let explained = client
            .query(
                "explain analyze select count(*) from lineitem where l_quantity > 1",
                &[],
            )
            .await
            .unwrap();
        let plan: String = explained.iter().map(|row| row.get::<_, String>(1)).collect();
        assert!(plan.contains("NetworkCoalesceExec"), "{plan}");
    });
}

#[test]
fn a_table_that_a_worker_does_not_have_is_an_error_that_names_both() {
    let worker = Worker::start();
    let server = server(std::slice::from_ref(&worker.url), patient());
    block_on(async {
        let client = server.connect().await;
        let error = count(&client, "cities").await.unwrap_err();
        let (code, text) = error_of(&error);
        let names_both =
            text.contains(worker.url.as_str().trim_end_matches('/')) && text.contains("cities.csv");
        assert!(code == "58030" && names_both, "{code} {text}");
        count(&client, "orders").await.unwrap();
    });
}

#[test]
fn the_file_of_workers_is_read_again_when_it_changes() {
    let (first, second) = (Worker::start(), Worker::start());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("workers");
    fs::write(&file, format!("# ours\n{}\n", first.url)).unwrap();
    let list = WorkerList::File(file.clone());
    let server = server_over(list, NodeAccess::open_loopback(), patient(), |_| {});
    block_on(async {
        let client = server.connect().await;
        let rows = count(&client, "orders").await.unwrap();
        assert_eq!((first.watch.begun(), second.watch.begun()), (1, 0));
        let new = file.with_extension("new");
        fs::write(&new, format!("{}\n", second.url)).unwrap();
        fs::rename(&new, &file).unwrap();
        assert_eq!(count(&client, "orders").await.unwrap(), rows);
        assert_eq!((first.watch.begun(), second.watch.begun()), (1, 1));
        fs::write(&file, "nowhere\n").unwrap();
        assert_eq!(
            count(&client, "orders").await.unwrap(),
            rows,
            "a bad file changes nothing"
        );
        assert_eq!((first.watch.begun(), second.watch.begun()), (1, 2));
    });
}

#[test]
fn a_worker_bounds_its_queries() {
    let worker = Worker::with(&tpch(), NodeAccess::open_loopback(), "http", |config| {
        config.queries_max = 1;
    });
    let server = server(std::slice::from_ref(&worker.url), patient());
    block_on(async {
        let busy = Busy::begin(&server, "bob", "").await;
        worker.until(1).await;
        let client = server.connect().await;
        let error = count(&client, "orders").await.unwrap_err();
        assert_eq!(error_of(&error).0, "53300", "{error:?}");
        busy.go_away();
        worker.until(0).await;
        tokio::time::timeout(Duration::from_secs(60), count(&client, "orders"))
            .await
            .unwrap()
            .unwrap();
    });
}
