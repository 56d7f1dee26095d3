//! What the page shows of the server, and what it may cancel.

use std::time::Duration;

use serde_json::{Value, json};

use super::tab::{Tab, page_anywhere, served, with_page};
use crate::access::Secrets;
use crate::cancelling::{Endless, until_running};
use crate::served::{ENDLESS, Served, block_on, error_of, within};

#[test]
fn the_page_sees_what_runs_and_the_texts_of_its_own_user_alone() {
    let server = with_page();
    block_on(async {
        let client = server.connect_as("alice").await;
        client.simple_query("set windlass.class = 'batch'").await.unwrap();
        let endless = Endless::begin(&server, client).await;
        let (alice, bob) = (
            Tab::logged_in(&server, "alice").await,
            Tab::logged_in(&server, "bob").await,
        );
        let seen = alice.live().await;
        let statement = &seen["statements"][0];
        assert_eq!(
            (&statement["user"], &statement["class"]),
            (&json!("alice"), &json!("batch"))
        );
        assert_eq!(
            (&statement["text"], &statement["is_running"]),
            (&json!(ENDLESS), &json!(true))
        );
        assert_eq!((&seen["running"], &seen["waiting"]), (&json!(1), &json!(0)));
        let seen = bob.live().await;
        assert_eq!(seen["statements"][0]["text"], Value::Null);
        assert!(!seen.to_string().contains("generate_series"), "{seen}");
        endless.cancel().await;
        until_running(&server, 0).await;
        let times = &alice.live().await["times"]["classes"];
        let batch = times
            .as_array()
            .unwrap()
            .iter()
            .find(|class| class["class"] == "batch")
            .unwrap();
        assert_eq!(batch["count"], 1);
        assert!(batch["p99_ms"].as_f64().unwrap() >= batch["p50_ms"].as_f64().unwrap());
    });
}

#[test]
fn the_page_sees_what_each_worker_ran_while_it_looks() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let endless = Endless::begin(&server, server.connect().await).await;
        let number = tab.live().await["statements"][0]["number"].as_u64().unwrap();
        within("a turn is seen", async {
            loop {
                let lanes = tab.live().await["lanes"].clone();
                assert_eq!(lanes["workers"], 2);
                let turns = lanes["turns"].as_array().unwrap().clone();
                let now_us = lanes["now_us"].as_u64().unwrap();
                for turn in &turns {
                    let [lane, statement, from, length] = [0, 1, 2, 3].map(|at| turn[at].as_u64().unwrap());
                    assert!(
                        lane <= 2 && statement == number && from + length <= now_us,
                        "{turn}"
                    );
                }
                if !turns.is_empty() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        endless.cancel().await;
    });
}

#[test]
fn the_page_cancels_statements_of_connections_that_run_or_wait() {
    let server = Served::with(|config| {
        config.ui = Some(page_anywhere());
        config.statements.running = std::num::NonZeroUsize::MIN;
    });
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let (one, other) = (server.connect().await, server.connect().await);
        let first = tokio::spawn(async move { one.simple_query(ENDLESS).await.map(|_| ()) });
        until_running(&server, 1).await;
        let second = tokio::spawn(async move { other.simple_query(ENDLESS).await.map(|_| ()) });
        within("the second statement waits", async {
            while server.watch.load().waiting != 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        let statements = tab.live().await["statements"].clone();
        assert_eq!(statements[1]["is_running"], json!(false));
        for (number, running) in [(1, second), (0, first)] {
            let number = json!({ "number": statements[number]["number"] });
            assert_eq!(tab.post("/api/cancel", &number).await.status, 204);
            let ended = within("the end of a cancelled statement", running).await;
            assert_eq!(error_of(&ended.unwrap().unwrap_err()).0, "57014");
        }
        until_running(&server, 0).await;
    });
}

#[test]
fn another_users_statement_is_not_cancelled_where_there_are_passwords() {
    let secrets = Secrets::new();
    secrets.set("bob", "builder");
    let server = served(secrets.access("127.0.0.1:5432", false));
    block_on(async {
        let (mut alice, mut bob) = (Tab::of(&server), Tab::of(&server));
        assert_eq!(alice.log_in("alice", "wonderland").await.status, 204);
        assert_eq!(bob.log_in("bob", "builder").await.status, 204);
        let cancel = async {
            until_running(&server, 1).await;
            let seen = bob.live().await["statements"][0].clone();
            assert_eq!(
                (&seen["may_cancel"], &seen["text"]),
                (&json!(false), &Value::Null)
            );
            let number = json!({ "number": seen["number"] });
            assert_eq!(bob.post("/api/cancel", &number).await.status, 403);
            assert_eq!(server.watch.load().running, 1);
            assert_eq!(alice.live().await["statements"][0]["may_cancel"], json!(true));
            assert_eq!(alice.post("/api/cancel", &number).await.status, 204);
        };
        let both = async { tokio::join!(alice.query(ENDLESS), cancel) };
        let (answer, ()) = within("the end of a cancelled statement", both).await;
        assert_eq!(answer.error_code(), "57014");
    });
}
