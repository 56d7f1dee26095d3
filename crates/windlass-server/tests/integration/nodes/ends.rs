//! What ends a query before its end, and what is left of it on workers: nothing.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio_postgres::{Config, NoTls};

use super::answers::count;
use super::cluster::{Busy, MANY_ROWS, Process, Worker, patient, server, tpch};
use crate::served::{block_on, error_of};

#[test]
fn a_client_that_goes_away_leaves_nothing_on_workers() {
    let (first, second) = (Worker::start(), Worker::start());
    let server = server(&[first.url.clone(), second.url.clone()], patient());
    block_on(async {
        let busy = Busy::begin(&server, "bob", "").await;
        first.until(1).await;
        second.until(1).await;
        busy.go_away();
        first.until(0).await;
        second.until(0).await;
        // Memory that the plan held is free by the next query.
        let client = server.connect().await;
        while first.watch.memory_bytes() + second.watch.memory_bytes() > 0 {
            count(&client, "nation").await.unwrap();
        }
    });
}

#[test]
fn a_cancel_request_ends_a_query_on_workers() {
    let worker = Worker::start();
    let server = server(std::slice::from_ref(&worker.url), patient());
    block_on(async {
        let client = server.connect().await;
        let cancel = async {
            worker.until(1).await;
            client.cancel_token().cancel_query(NoTls).await.unwrap();
        };
        let (asked, ()) = tokio::join!(client.simple_query(MANY_ROWS), cancel);
        assert_eq!(error_of(&asked.unwrap_err()).0, "57014");
        worker.until(0).await;
        count(&client, "orders").await.unwrap();
    });
}

#[test]
fn a_coordinator_that_is_killed_leaves_nothing_on_workers() {
    let (first, second) = (Worker::start(), Worker::start());
    let workers = format!("{},{}", first.url, second.url);
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--workers",
        &workers,
        "--worker-bytes",
        "1B",
        "--tables",
    ];
    let coordinator = Process::start(&arguments, &[&tpch()]);
    let (host, port) = coordinator.listens_on.rsplit_once(':').unwrap();
    let mut config = Config::new();
    config
        .host(host)
        .port(port.parse().unwrap())
        .user("alice")
        .dbname("windlass");
    block_on(async {
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        let asked = client.query_raw(MANY_ROWS, std::iter::empty::<i32>()).await;
        let _rows = asked.unwrap();
        first.until(1).await;
        second.until(1).await;
        coordinator.signal(Signal::SIGKILL);
        first.until(0).await;
        second.until(0).await;
    });
}

#[test]
fn a_worker_drains_while_the_others_go_on() {
    let (mut first, second) = (Worker::start(), Worker::start());
    let server = server(&[first.url.clone(), second.url.clone()], patient());
    block_on(async {
        let busy = Busy::begin(&server, "bob", "").await;
        first.until(1).await;
        second.until(1).await;
        first.ask_to_end();
        while !first.watch.is_draining() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let client = server.connect().await;
        let begun = second.watch.begun();
        assert_eq!(count(&client, "orders").await.unwrap(), 15_000);
        assert_eq!(first.watch.queries().len(), 1, "the one that ran before");
        assert!(second.watch.begun() > begun);
        busy.go_away();
    });
    assert_eq!(first.end(), 0);
}

#[test]
fn a_worker_ends_what_runs_longer_than_its_drain() {
    let mut worker = Worker::with(
        &tpch(),
        windlass_server::nodes::NodeAccess::open_loopback(),
        "http",
        |config| config.drain = Duration::from_millis(50),
    );
    let server = server(std::slice::from_ref(&worker.url), patient());
    block_on(async {
        let client = server.connect().await;
        let asked = tokio::spawn(async move { client.simple_query(MANY_ROWS).await.unwrap_err() });
        worker.until(1).await;
        worker.ask_to_end();
        let (code, text) = error_of(&asked.await.unwrap());
        assert!(code == "58000" && text.contains("failed"), "{code} {text}");
    });
    assert_eq!(worker.end(), 1);
}
