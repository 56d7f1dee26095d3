//! Health and metrics of servers and workers, on ports of their own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio_postgres::{Config, NoTls};

use super::answers::count;
use super::cluster::{Busy, Process, patient, server, tpch};
use super::trust::Trust;
use crate::program::PATIENCE;
use crate::served::{ENDLESS, block_on, error_of, within};

const OPERATOR: [&str; 5] = ["--listen", "127.0.0.1:0", "--operator", "127.0.0.1:0", "--tables"];

fn worker(more: &[&str]) -> Process {
    let arguments = [&["worker"], more, &OPERATOR].concat();
    Process::start(&arguments, &[&tpch()])
}

/// Status and body.
fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// The value of a metric with its labels, if it is there.
fn metric(address: SocketAddr, name: &str) -> Option<f64> {
    let (status, text) = get(address, "/metrics");
    assert_eq!(status, 200);
    let mut values = text.lines().filter_map(|line| line.rsplit_once(' '));
    let (_, value) = values.find(|(found, _)| *found == name)?;
    Some(value.parse().unwrap())
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    within(what, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[test]
fn a_worker_tells_what_it_runs_and_that_it_drains() {
    let worker = worker(&["--memory", "1GiB", "--threads", "2"]);
    let address = worker.operators.unwrap();
    let server = server(&[worker.url()], patient());
    block_on(async {
        assert_eq!(get(address, "/health"), (200, "ok\n".to_owned()));
        assert_eq!(get(address, "/").0, 404);
        assert_eq!(metric(address, "windlass_queries_running"), Some(0.0));
        let busy = Busy::begin(&server, "bob", "").await;
        let runs = || metric(address, "windlass_queries_running") == Some(1.0);
        until("the query runs", runs).await;
        assert_eq!(metric(address, "windlass_queries_total"), Some(1.0));
        assert_eq!(
            metric(address, "windlass_memory_limit_bytes"),
            Some(f64::from(1 << 30))
        );
        for name in ["windlass_requests_open", "windlass_tasks_open"] {
            until(name, || metric(address, name) > Some(0.0)).await;
        }
        let threads = ["0", "1"].map(|number| format!("windlass_thread_busy_seconds{{thread=\"{number}\"}}"));
        let is_busy = || threads.iter().any(|thread| metric(address, thread) > Some(0.0));
        until("a thread is busy", is_busy).await;
        assert!(threads.iter().all(|thread| metric(address, thread).is_some()));
        assert_eq!(metric(address, "windlass_spilled_bytes"), Some(0.0));
        worker.signal(Signal::SIGTERM);
        let drains = || get(address, "/health") == (503, "draining\n".to_owned());
        until("it drains", drains).await;
        busy.go_away();
    });
    assert!(worker.end(), "the worker ends well");
}

#[test]
fn requests_that_a_worker_refuses_are_counted_by_reason() {
    let trust = Trust::new();
    let secret = trust.path("secret");
    let worker = worker(&["--node-secret", secret.to_str().unwrap()]);
    let address = worker.operators.unwrap();
    let refused = "windlass_requests_refused_total{reason=\"secret\"}";
    assert_eq!(metric(address, refused), None);
    let server = server(&[worker.url()], patient());
    block_on(async {
        let client = server.connect().await;
        let error = count(&client, "orders").await.unwrap_err();
        assert_eq!(error_of(&error).0, "58000");
    });
    assert!(metric(address, refused) >= Some(1.0));
}

#[test]
fn a_server_tells_what_it_runs_and_that_it_drains() {
    let server = Process::start(&OPERATOR, &[&tpch()]);
    let address = server.operators.unwrap();
    let (host, port) = server.listens_on.rsplit_once(':').unwrap();
    let mut config = Config::new();
    config
        .host(host)
        .port(port.parse().unwrap())
        .user("alice")
        .dbname("windlass");
    block_on(async {
        assert_eq!(get(address, "/health"), (200, "ok\n".to_owned()));
        let (client, connection) = config.connect(NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.simple_query("select 1").await.unwrap();
        let ok = "windlass_statements_total{outcome=\"ok\"}";
        until("the statement is counted", || metric(address, ok) == Some(1.0)).await;
        assert_eq!(metric(address, "windlass_connections"), Some(1.0));
        let endless = tokio::spawn(async move { client.simple_query(ENDLESS).await });
        let runs = || metric(address, "windlass_statements_running") == Some(1.0);
        until("the statement runs", runs).await;
        server.signal(Signal::SIGTERM);
        let drains = || get(address, "/health") == (503, "draining\n".to_owned());
        until("it drains", drains).await;
        endless.abort();
        connection.abort();
    });
    assert!(server.end(), "the server ends well");
}

#[test]
fn operators_are_on_loopback_alone() {
    for command in [&["worker"][..], &[]] {
        let ended = Command::new(env!("CARGO_BIN_EXE_windlass-server"))
            .args(command)
            .args(["--listen", "127.0.0.1:0", "--operator", "0.0.0.0:0", "--tables"])
            .arg(tpch())
            .output()
            .unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{text}");
        assert!(text.contains("--operator 0.0.0.0:0: only loopback"), "{text}");
    }
}
