//! Statements that are asked for at the page.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::tab::{Tab, page_anywhere, with_page};
use crate::cancelling::until_running;
use crate::served::{ENDLESS, Served, block_on, within};

#[test]
fn rows_come_as_text_with_their_columns() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let sql = "select city, people, nullif(country, 'CH') as abroad from cities order by city";
        let answer = tab.query(sql).await.json();
        let columns = json!([
            { "name": "city", "is_number": false },
            { "name": "people", "is_number": true },
            { "name": "abroad", "is_number": false },
        ]);
        assert_eq!(answer["columns"], columns);
        let rows = json!([
            ["Bern", "134591", null],
            ["Oslo", "697549", "NO"],
            ["Zug", "30542", null]
        ]);
        assert_eq!(answer["rows"], rows);
        assert_eq!(
            (&answer["tag"], &answer["is_cut"]),
            (&json!("SELECT"), &json!(false))
        );
        assert!(answer["took_ms"].as_f64().unwrap() > 0.0);
        let several = "set windlass.class = 'batch'; show windlass.class";
        let answer = tab.query(several).await.json();
        assert_eq!(answer["rows"], json!([["batch"]]), "the last statement's");
        let asked = json!({ "sql": "show windlass.class", "class": "interactive" });
        let answer = tab.post("/api/sql", &asked).await.json();
        assert_eq!(answer["rows"], json!([["interactive"]]));
        let plan = tab.query("explain select count(*) from cities").await.json();
        assert_eq!(plan["columns"][1]["name"], "plan");
        let plan = tab.query("explain analyze select count(*) from cities").await;
        assert!(plan.body.contains("WindlassExec"), "{}", plan.body);
    });
}

#[test]
fn errors_have_the_code_that_a_connection_is_told() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        for (sql, code) in [
            ("selec 1", "42601"),
            ("select * from nowhere", "42P01"),
            ("select 1 / 0", "22012"),
            ("drop table cities", "25006"),
            ("set windlass.class = 'royal'", "22023"),
            ("select 1; select 1 / 0; select 2", "22012"),
        ] {
            let answer = tab.query(sql).await;
            assert_eq!(
                (answer.status, answer.error_code().as_str()),
                (422, code),
                "{sql}"
            );
        }
        assert_eq!(server.watch.load().running, 0);
    });
}

#[test]
fn a_large_result_is_cut_and_its_statement_ends() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let many = tab
            .query("select i from generate_series(1, 20000000000) as a(i)")
            .await
            .json();
        assert_eq!(
            (many["rows"].as_array().unwrap().len(), &many["is_cut"]),
            (1_000, &json!(true))
        );
        let exact = tab
            .query("select i from generate_series(1, 1000) as a(i)")
            .await
            .json();
        assert_eq!(
            (exact["rows"].as_array().unwrap().len(), &exact["is_cut"]),
            (1_000, &json!(false))
        );
        let wide = tab
            .query("select repeat('x', 50000) from generate_series(1, 500) as a(i)")
            .await
            .json();
        let rows = wide["rows"].as_array().unwrap().len();
        assert_eq!((rows, &wide["is_cut"]), ((1 << 20) / 50_000, &json!(true)));
        let long = tab.query("select repeat('x', 100000)").await.json();
        assert_eq!(long["rows"][0][0].as_str().unwrap().len(), 65_536);
        assert_eq!(
            (&long["is_cut"], &long["is_value_cut"]),
            (&json!(false), &json!(true))
        );
        until_running(&server, 0).await;
    });
}

#[test]
fn a_statement_of_the_page_is_one_like_any_other_and_is_cancelled_by_number() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let cancel = async {
            until_running(&server, 1).await;
            let client = server.connect_as("alice").await;
            let sql = "select number, query from windlass.queries order by number";
            let rows = client.query(sql, &[]).await.unwrap();
            assert_eq!(rows[0].get::<_, Option<&str>>(1), Some(ENDLESS));
            let number = json!({ "number": rows[0].get::<_, i64>(0) });
            assert_eq!(tab.post("/api/cancel", &number).await.status, 204);
            number
        };
        let both = async { tokio::join!(tab.query(ENDLESS), cancel) };
        let (answer, number) = within("the end of a cancelled statement", both).await;
        assert_eq!((answer.status, answer.error_code().as_str()), (422, "57014"));
        assert_eq!(tab.post("/api/cancel", &number).await.status, 404);
    });
}

#[test]
fn a_page_that_goes_away_ends_its_statement() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let body = json!({ "sql": ENDLESS }).to_string();
        let mut stream = TcpStream::connect(tab.address).await.unwrap();
        let request = format!("{}\r\n{body}", tab.post_head("/api/sql", body.len()));
        stream.write_all(request.as_bytes()).await.unwrap();
        until_running(&server, 1).await;
        drop(stream);
        until_running(&server, 0).await;
        within("the end of the page's connection", async {
            while server.watch.load().connections > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    });
}

#[test]
fn a_statement_of_the_page_has_the_drains_time() {
    for (drain, running, status) in [
        (
            Duration::from_secs(60),
            "select count(*) from generate_series(1, 30000000)",
            200,
        ),
        (Duration::from_millis(50), ENDLESS, 422),
    ] {
        let mut server = Served::with(move |config| {
            config.ui = Some(page_anywhere());
            config.drain = drain;
            config.login_timeout = Duration::from_secs(3_600);
        });
        let answer = block_on(async {
            let tab = Tab::logged_in(&server, "alice").await;
            let mut idle = TcpStream::connect(tab.address).await.unwrap();
            let running = tokio::spawn(async move { tab.query(running).await });
            until_running(&server, 1).await;
            server.ask_to_end();
            let mut nothing = Vec::new();
            let closed = within("the end of an idle connection", idle.read_to_end(&mut nothing));
            closed.await.unwrap();
            assert!(nothing.is_empty(), "an idle connection is closed");
            within("the statement's answer", running).await.unwrap()
        });
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_eq!(server.end().ended, usize::from(status == 422));
    }
}

#[test]
fn a_page_that_asks_again_and_again_does_not_hold_up_the_servers_end() {
    let mut server = Served::with(|config| {
        config.ui = Some(page_anywhere());
        config.drain = Duration::from_secs(3_600);
    });
    block_on(async {
        let tab = Tab::of(&server);
        let mut stream = TcpStream::connect(tab.address).await.unwrap();
        let request = format!("GET /icon.svg HTTP/1.1\r\n{}\r\n", tab.headers());
        let mut answers = 0;
        within("the end of a connection that asks on", async {
            loop {
                let asked = stream.write_all(request.as_bytes()).await;
                let mut answer = [0; 16 * 1024];
                match stream.read(&mut answer).await {
                    Ok(1..) if asked.is_ok() => answers += 1,
                    _ => break,
                }
                server.ask_to_end();
            }
        })
        .await;
        assert!(answers > 0);
    });
    assert_eq!(server.end().ended, 0);
}
