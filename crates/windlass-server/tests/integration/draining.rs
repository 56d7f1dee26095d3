//! The end of a server.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio_postgres::NoTls;

use super::cancelling::{Endless, until_running};
use super::served::{ENDLESS, Served, block_on, error_of};

#[test]
fn an_idle_connection_is_told_that_the_server_ends() {
    let mut server = Served::start();
    block_on(async {
        let client = server.connect().await;
        client.simple_query("select 1").await.unwrap();
        server.ask_to_end();
        while !client.is_closed() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    assert_eq!(server.end().ended, 0);
}

#[test]
fn a_running_statement_has_the_drains_time() {
    let mut server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let running = "select count(*) from generate_series(1, 30000000)";
        let end = async {
            until_running(&server, 1).await;
        };
        let (rows, ()) = tokio::join!(client.simple_query(running), end);
        rows.unwrap();
        server.ask_to_end();
    });
    assert_eq!(server.end().ended, 0);
}

#[test]
fn what_runs_longer_than_the_drain_is_ended() {
    let mut server = Served::with(|config| config.drain = Duration::from_millis(50));
    block_on(async {
        let client = server.connect().await;
        let asked = tokio::spawn(async move { client.simple_query(ENDLESS).await.unwrap_err() });
        until_running(&server, 1).await;
        server.ask_to_end();
        assert_eq!(error_of(&asked.await.unwrap()).0, "57P01");
    });
    assert_eq!(server.end().ended, 1);
}

#[test]
fn a_server_that_ends_takes_cancel_requests_and_no_login() {
    let mut server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let idle = server.connect().await;
        let running = Endless::begin(&server, client).await;
        server.ask_to_end();
        while !idle.is_closed() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let Err(refused) = server.config("alice").connect(NoTls).await else {
            panic!("a login while the server ends");
        };
        assert_eq!(error_of(&refused).0, "57P03");
        // A stranger without a word does not hold the server up.
        let _silent = TcpStream::connect(server.address).await.unwrap();
        running.cancel().await;
    });
    assert_eq!(server.end().ended, 0);
}
