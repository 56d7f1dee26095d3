//! Statements by the simple protocol.

use tokio_postgres::SimpleQueryMessage;

use super::served::{Served, block_on, error_of};

async fn rows(client: &tokio_postgres::Client, sql: &str) -> Vec<Vec<Option<String>>> {
    let messages = client.simple_query(sql).await.unwrap();
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
        }
        _ => None,
    });
    rows.collect()
}

fn texts(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).to_owned())).collect()
}

#[test]
fn a_statement_gives_its_rows_as_text() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let found = rows(
            &client,
            "select city, people, null as x from cities where country = 'CH' order by city",
        )
        .await;
        assert_eq!(
            found,
            [
                [texts(&["Bern", "134591"]), vec![None]].concat(),
                [texts(&["Zug", "30542"]), vec![None]].concat(),
            ]
        );
    });
}

#[test]
fn statements_in_one_message_run_up_to_the_first_error() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        assert_eq!(
            rows(&client, "select 1; select 2;").await,
            [texts(&["1"]), texts(&["2"])]
        );
        assert!(rows(&client, "").await.is_empty());
        let error = client
            .simple_query("select 1; select x; select 2")
            .await
            .unwrap_err();
        assert_eq!(error_of(&error).0, "42703");
        assert_eq!(
            rows(&client, "select 3").await,
            [texts(&["3"])],
            "the connection goes on"
        );
    });
}

#[test]
fn errors_have_codes_that_clients_know() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        for (sql, code, words) in [
            ("selec 1", "42601", "syntax error"),
            ("select * from nowhere", "42P01", "nowhere"),
            ("select town from cities", "42703", "town"),
            ("select nofunction(1)", "42883", "nofunction"),
            ("select 1 / 0", "22012", "zero"),
            ("select cast('x' as int)", "22P02", "x"),
            ("set statement_timeout = 'soon'", "22023", "soon"),
            ("set windlass.class = 'urgent'", "22023", "urgent"),
            ("set nosuch.setting = 1", "42704", "nosuch.setting"),
            ("set datafusion.catalog.location = '/'", "42501", "the server's"),
            (
                "set datafusion.execution.target_partitions = 100000",
                "22023",
                "1 to 64",
            ),
            ("show nosuch", "42704", "nosuch"),
            ("fetch 1 from nosuch", "34000", "nosuch"),
        ] {
            let error = client.simple_query(sql).await.unwrap_err();
            let (found, text) = error_of(&error);
            assert_eq!(found, code, "{sql}: {text}");
            assert!(text.contains(words), "{sql}: {text}");
        }
    });
}

#[test]
fn settings_are_a_sessions_own() {
    let server = Served::start();
    block_on(async {
        let (first, second) = (server.connect().await, server.connect().await);
        let shown = async |client, name: &str| rows(client, &format!("show {name}")).await.concat();
        first
            .simple_query("set windlass.class = 'batch'; set statement_timeout = '5s'")
            .await
            .unwrap();
        assert_eq!(shown(&first, "windlass.class").await, texts(&["batch"]));
        assert_eq!(shown(&first, "statement_timeout").await, texts(&["5000ms"]));
        assert_eq!(shown(&second, "windlass.class").await, texts(&["normal"]));
        assert_eq!(shown(&second, "statement_timeout").await, texts(&["0"]));
        first.simple_query("reset all").await.unwrap();
        assert_eq!(shown(&first, "windlass.class").await, texts(&["normal"]));
        first.simple_query("set windlass.class = 'batch'").await.unwrap();
        first.simple_query("discard all").await.unwrap();
        assert_eq!(shown(&first, "windlass.class").await, texts(&["normal"]));
    });
}

#[test]
fn aggregates_are_by_the_stages_if_the_session_says_so() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let sql = "select n, count(*) from (values (1), (2), (1)) as t (n) group by n order by n";
        let expected = rows(&client, sql).await;
        assert_eq!(expected, [texts(&["1", "2"]), texts(&["2", "1"])]);
        for (setting, is_by_stages) in [("true", true), ("false", false)] {
            let set = format!("set windlass.operators = {setting}");
            client.simple_query(&set).await.unwrap();
            assert_eq!(rows(&client, sql).await, expected, "{setting}");
            let plan = rows(&client, &format!("explain {sql}")).await;
            assert_eq!(
                format!("{plan:?}").contains("WindlassAggregateExec"),
                is_by_stages,
                "{plan:?}"
            );
        }
    });
}

#[test]
fn a_time_zone_is_the_engines_as_well_until_it_is_reset() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let zone = async || {
            rows(&client, "show datafusion.execution.time_zone")
                .await
                .concat()
        };
        let before = zone().await;
        client.simple_query("set time zone '+02:00'").await.unwrap();
        assert_eq!(zone().await, texts(&["+02:00"]));
        client.simple_query("reset timezone").await.unwrap();
        assert_eq!(zone().await, before);
    });
}

/// The engine's session is made by the first query.
#[test]
fn what_is_set_before_and_after_the_first_query_holds_for_the_next() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let engines = async || {
            let setting = "where name = 'datafusion.execution.batch_size'";
            let sql = format!("select value from information_schema.df_settings {setting}");
            rows(&client, &sql).await.concat()
        };
        for size in ["77", "78"] {
            let set = format!("set datafusion.execution.batch_size = {size}");
            client.simple_query(&set).await.unwrap();
            assert_eq!(engines().await, texts(&[size]));
        }
        client.simple_query("discard all").await.unwrap();
        assert_eq!(engines().await, texts(&["8192"]));
        client.simple_query("discard all").await.unwrap();
        client
            .simple_query("set datafusion.execution.batch_size = 79")
            .await
            .unwrap();
        assert_eq!(engines().await, texts(&["79"]));
    });
}

#[test]
fn a_failed_transaction_takes_no_statement_before_its_end() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        client.simple_query("begin").await.unwrap();
        client.simple_query("select x").await.unwrap_err();
        let error = client.simple_query("select 1").await.unwrap_err();
        assert_eq!(error_of(&error).0, "25P02");
        client.simple_query("commit").await.unwrap();
        assert_eq!(rows(&client, "select 1").await, [texts(&["1"])]);
    });
}

#[test]
fn a_cursor_gives_rows_in_parts() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let outside = client
            .simple_query("declare c cursor for select 1")
            .await
            .unwrap_err();
        assert_eq!(error_of(&outside).0, "25P01");
        client
            .simple_query("begin; declare c cursor for select value from generate_series(1, 1000)")
            .await
            .unwrap();
        assert_eq!(
            rows(&client, "fetch 2 from c").await,
            [texts(&["1"]), texts(&["2"])]
        );
        assert_eq!(rows(&client, "fetch next from c").await, [texts(&["3"])]);
        assert_eq!(rows(&client, "fetch all from c").await.len(), 997);
        assert!(rows(&client, "fetch 5 from c").await.is_empty());
        client.simple_query("commit").await.unwrap();
        let closed = client.simple_query("fetch 1 from c").await.unwrap_err();
        assert_eq!(error_of(&closed).0, "34000");
    });
}

#[test]
fn explain_analyze_shows_the_plan_and_its_times() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let plan = rows(
            &client,
            "explain analyze select country, sum(people) from cities group by country",
        )
        .await;
        let text = format!("{plan:?}");
        assert!(
            text.contains("AggregateExec") && text.contains("elapsed_compute"),
            "{text}"
        );
    });
}
