//! Limits of a user, of a statement and of all.

use std::num::NonZeroUsize;

use windlass_server::StatementLimits;

use super::cancelling::Endless;
use super::served::{Served, block_on, error_of};

fn some(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

/// One statement runs, and `waiting` may wait.
fn with_one_place(waiting: usize) -> Served {
    Served::with(move |config| {
        config.statements = StatementLimits {
            running: some(1),
            waiting,
            per_user: some(10),
        };
    })
}

/// More groups than 1 MiB holds.
const GROUPS: &str =
    "select count(*) from (select value % 400000 as k, count(*) from generate_series(1, 800000) group by 1)";

#[test]
fn a_statement_too_many_is_an_error_that_says_so() {
    let server = with_one_place(0);
    block_on(async {
        let (first, second) = (server.connect().await, server.connect().await);
        let endless = Endless::begin(&server, first).await;
        let (code, text) = error_of(&second.simple_query("select 1").await.unwrap_err());
        assert_eq!(
            (code.as_str(), text.as_str()),
            ("53300", "the server is full: 1 statements run and 0 wait")
        );
        endless.cancel().await;
        second.simple_query("select 1").await.unwrap();
    });
}

#[test]
fn a_statement_that_waits_runs_when_there_is_room() {
    let server = with_one_place(1);
    block_on(async {
        let (first, second) = (server.connect().await, server.connect().await);
        let endless = Endless::begin(&server, first).await;
        let waits = tokio::spawn(async move { second.simple_query("select 1").await.is_ok() });
        while server.watch.load().waiting != 1 {
            tokio::task::yield_now().await;
        }
        endless.cancel().await;
        assert!(waits.await.unwrap());
    });
}

#[test]
fn a_user_at_its_limits_does_not_stop_another() {
    let server = Served::with(|config| {
        config.statements.per_user = some(1);
        config.memory.user = Some(1 << 20);
    });
    block_on(async {
        let (alice, again, bob) = (
            server.connect_as("alice").await,
            server.connect_as("alice").await,
            server.connect_as("bob").await,
        );
        let endless = Endless::begin(&server, alice).await;
        let (code, text) = error_of(&again.simple_query("select 1").await.unwrap_err());
        assert_eq!(code, "53300", "{text}");
        bob.simple_query("select 1").await.unwrap();
        endless.cancel().await;
        let (code, text) = error_of(&again.simple_query(GROUPS).await.unwrap_err());
        assert_eq!(code, "53200", "{text}");
        // The statement's other tasks end a little later.
        while server.watch.load().memory_bytes > 0 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_session_may_bound_its_statements_memory() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        client.simple_query("set windlass.memory = '1MiB'").await.unwrap();
        assert_eq!(
            error_of(&client.simple_query(GROUPS).await.unwrap_err()).0,
            "53200"
        );
        client.simple_query("set windlass.memory = 'none'").await.unwrap();
        client.simple_query(GROUPS).await.unwrap();
    });
}

#[test]
fn a_connection_too_many_is_told_so() {
    let server = Served::with(|config| config.connections_max = 1);
    block_on(async {
        let first = server.connect().await;
        let refused = server.config("bob").connect(tokio_postgres::NoTls).await;
        let Err(error) = refused else {
            panic!("connected");
        };
        assert_eq!(error_of(&error).0, "53300");
        drop(first);
        while server.config("bob").connect(tokio_postgres::NoTls).await.is_err() {
            tokio::task::yield_now().await;
        }
    });
}
