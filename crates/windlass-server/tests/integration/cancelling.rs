//! What ends a statement before its end.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::{CancelToken, Client, NoTls};

use super::served::{ENDLESS, Served, block_on, error_of, within};

pub(crate) async fn until_running(server: &Served, number: usize) {
    within(&format!("{number} statements run"), async {
        while server.watch.load().running != number {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

pub(crate) struct Endless {
    token: CancelToken,
    running: JoinHandle<bool>,
}

impl Endless {
    pub(crate) async fn begin(server: &Served, client: Client) -> Self {
        let token = client.cancel_token();
        let running = tokio::spawn(async move { client.simple_query(ENDLESS).await.is_err() });
        until_running(server, 1).await;
        Self { token, running }
    }

    pub(crate) async fn cancel(self) {
        self.token.cancel_query(NoTls).await.unwrap();
        assert!(self.running.await.unwrap());
    }
}

#[test]
fn a_cancel_request_ends_the_statement_and_nothing_else() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        for _ in 0..3 {
            let cancel = async {
                until_running(&server, 1).await;
                client.cancel_token().cancel_query(NoTls).await.unwrap();
            };
            let (error, ()) = tokio::join!(client.simple_query(ENDLESS), cancel);
            assert_eq!(error_of(&error.unwrap_err()).0, "57014");
            client.simple_query("select 1").await.unwrap();
        }
        until_running(&server, 0).await;
    });
}

#[test]
fn a_statement_ends_at_its_timeout() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        client
            .simple_query("set statement_timeout = '50ms'")
            .await
            .unwrap();
        for _ in 0..2 {
            let error = client.simple_query(ENDLESS).await.unwrap_err();
            assert_eq!(
                error_of(&error),
                (
                    "57014".to_owned(),
                    "canceling statement due to statement timeout".to_owned()
                )
            );
        }
        let error = client.query(ENDLESS, &[]).await.unwrap_err();
        assert_eq!(error_of(&error).0, "57014");
        client
            .simple_query("set statement_timeout = 0; select 1")
            .await
            .unwrap();
        client
            .simple_query("set windlass.deadline = '50ms'")
            .await
            .unwrap();
        let error = client.simple_query(ENDLESS).await.unwrap_err();
        assert_eq!(error_of(&error).0, "57014");
    });
}

#[test]
fn a_timeout_is_a_timeout_whichever_task_sees_it_first() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let sql = "select count(*) from (select value % 1000 as k, count(*) from generate_series(1, 300000) group by 1)";
        for timeout in 1..60 {
            let sql = format!("set statement_timeout = {timeout}; {sql}");
            if let Err(error) = client.simple_query(&sql).await {
                assert_eq!(error_of(&error).0, "57014", "{error:?}");
            }
        }
    });
}

#[test]
fn the_server_bounds_the_time_of_every_statement() {
    let server = Served::with(|config| config.statement_time_max = Some(Duration::from_millis(50)));
    block_on(async {
        let client = server.connect().await;
        client.simple_query("set statement_timeout = '1h'").await.unwrap();
        let error = client.simple_query(ENDLESS).await.unwrap_err();
        assert_eq!(error_of(&error).0, "57014");
    });
}

#[test]
fn a_client_that_goes_away_ends_its_statement() {
    let server = Served::start();
    block_on(async {
        let (client, connection) = server.config("alice").connect(NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let asked = tokio::spawn(async move { client.simple_query(ENDLESS).await.is_err() });
        until_running(&server, 1).await;
        connection.abort();
        assert!(asked.await.unwrap());
        until_running(&server, 0).await;
        while server.watch.load().connections > 0 || server.watch.load().memory_bytes > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}
