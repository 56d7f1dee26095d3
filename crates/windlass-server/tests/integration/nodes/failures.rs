//! Workers that die, stop, or never answered.

use futures_util::TryStreamExt;
use nix::sys::signal::Signal;

use super::answers::count;
use super::cluster::{MANY_ROWS, Process, Worker, impatient, patient, server, silent_port};
use crate::served::{block_on, error_of};

#[test]
fn a_worker_that_is_killed_is_named_and_the_next_query_runs_on_the_others() {
    let (stays, dies) = (Worker::start(), Process::worker());
    let server = server(&[stays.url.clone(), dies.url()], patient());
    block_on(async {
        let client = server.connect().await;
        let rows = client
            .query_raw(MANY_ROWS, std::iter::empty::<i32>())
            .await
            .unwrap();
        let mut rows = std::pin::pin!(rows);
        rows.try_next().await.unwrap().expect("a row");
        dies.signal(Signal::SIGKILL);
        let error = loop {
            match rows.try_next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("rows are missing and there is no error"),
                Err(error) => break error,
            }
        };
        let (code, text) = error_of(&error);
        let name = format!("worker {} failed", dies.listens_on);
        assert!(code == "58000" && text.contains(&name), "{code} {text}");
        stays.until(0).await;
        assert_eq!(count(&client, "orders").await.unwrap(), 15_000);
    });
}

#[test]
fn a_query_without_a_row_yet_is_tried_again_on_the_others() {
    let (stays, stops) = (Worker::start(), Process::worker());
    let server = server(&[stays.url.clone(), stops.url()], impatient());
    block_on(async {
        let client = server.connect().await;
        assert_eq!(count(&client, "orders").await.unwrap(), 15_000);
        // It neither answers nor closes.
        stops.signal(Signal::SIGSTOP);
        assert_eq!(count(&client, "orders").await.unwrap(), 15_000);
        assert_eq!(stays.watch.begun(), 3, "one before, one that failed, one again");
        assert_eq!(count(&client, "orders").await.unwrap(), 15_000);
        assert_eq!(stays.watch.begun(), 4, "what failed is left out");
        stops.signal(Signal::SIGCONT);
        stays.until(0).await;
    });
}

#[test]
fn a_port_that_never_answers_and_one_that_refuses_are_named() {
    let refuses = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        url::Url::parse(&format!("http://{address}")).unwrap()
    };
    for worker in [silent_port(), refuses] {
        let server = server(std::slice::from_ref(&worker), impatient());
        block_on(async {
            let client = server.connect().await;
            for _ in 0..2 {
                let error = count(&client, "orders").await.unwrap_err();
                let (code, text) = error_of(&error);
                let name = format!("worker {} failed", worker.as_str().trim_end_matches('/'));
                assert!(code == "58000" && text.contains(&name), "{code} {text}");
            }
            client.simple_query("select 1").await.unwrap();
        });
    }
}

#[test]
fn a_worker_that_is_back_gets_queries_again() {
    let folder = super::cluster::tpch();
    let folder = folder.as_path();
    let first = Process::worker();
    let url = first.url();
    let server = server(std::slice::from_ref(&url), impatient());
    block_on(async {
        let client = server.connect().await;
        assert_eq!(count(&client, "orders").await.unwrap(), 15_000);
        first.signal(Signal::SIGTERM);
        assert!(first.end(), "it drains and ends well");
        let (code, text) = error_of(&count(&client, "orders").await.unwrap_err());
        assert_eq!(code, "58000", "{text}");
        let address = format!("127.0.0.1:{}", url.port().unwrap());
        let _again = Process::start(&["worker", "--listen", &address, "--tables"], &[folder]);
        assert_eq!(count(&client, "orders").await.unwrap(), 15_000);
    });
}
