//! What single drivers and their pools do beyond the common way.

use postgres_types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, SimpleQueryMessage};

use super::served::{Served, block_on, error_of};

/// A decimal number, sent as text.
#[derive(Debug)]
struct Decimal(&'static str);

impl ToSql for Decimal {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::NUMERIC
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

const PRICES: &str = "(values (1.50::decimal(15, 2)), (2.25::decimal(15, 2))) as prices(price)";

async fn count(client: &Client, comparison: &str, kind: Type, value: &(dyn ToSql + Sync)) -> i64 {
    let sql = format!("select count(*) from {PRICES} where price {comparison} $1");
    let statement = client.prepare_typed(&sql, &[kind]).await.unwrap();
    client.query_one(&statement, &[value]).await.unwrap().get(0)
}

#[test]
fn a_number_is_compared_with_a_column_of_another_type() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        assert_eq!(count(&client, ">", Type::FLOAT8, &1.75_f64).await, 1);
        assert_eq!(count(&client, ">", Type::INT4, &2_i32).await, 1);
        let interval = "select date '2024-03-01' - $1 > date '2024-01-01'";
        let statement = client.prepare_typed(interval, &[Type::INTERVAL]).await.unwrap();
        assert_eq!(statement.params(), [Type::INTERVAL]);
    });
}

#[test]
fn a_decimal_number_loses_no_digits_to_its_column() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        // At two digits they would be 1.50 and 2.25.
        assert_eq!(count(&client, "<", Type::NUMERIC, &Decimal("1.501")).await, 1);
        assert_eq!(count(&client, "=", Type::NUMERIC, &Decimal("2.2501")).await, 0);
        assert_eq!(count(&client, "=", Type::NUMERIC, &Decimal("2.250")).await, 1);
        assert_eq!(count(&client, ">", Type::NUMERIC, &Decimal("0.001")).await, 2);
        assert_eq!(count(&client, ">", Type::NUMERIC, &None::<Decimal>).await, 0);
    });
}

#[test]
fn a_cursor_is_described_before_it_is_fetched() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        client.simple_query("begin").await.unwrap();
        let declare =
            "declare c cursor for select value as number from generate_series(1, 10) where value > $1";
        client.execute(declare, &[&7_i64]).await.unwrap();
        let fetch = client.prepare("fetch 2 from c").await.unwrap();
        let columns: Vec<_> = fetch
            .columns()
            .iter()
            .map(|column| (column.name(), column.type_().clone()))
            .collect();
        assert_eq!(columns, [("number", Type::INT8)]);
        // The columns are told even if no row is left.
        for rows in [1, 1, 1, 0, 0] {
            let messages = client.simple_query("fetch 1 from c").await.unwrap();
            let described =
                |message: &&SimpleQueryMessage| matches!(message, SimpleQueryMessage::RowDescription(_));
            let is_row = |message: &&SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(_));
            assert_eq!(messages.iter().filter(described).count(), 1);
            assert_eq!(messages.iter().filter(is_row).count(), rows);
        }
        let error = client.simple_query("declare d cursor for select nothing").await;
        assert_eq!(error_of(&error.unwrap_err()).0, "42703");
    });
}

#[test]
fn a_transaction_goes_back_to_a_savepoint() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let code = async |sql| error_of(&client.simple_query(sql).await.unwrap_err()).0;
        assert_eq!(code("savepoint s").await, "25P01");
        client.simple_query("begin; savepoint s").await.unwrap();
        client
            .simple_query("declare c cursor for select 1")
            .await
            .unwrap();
        assert_eq!(code("select 1 / 0").await, "22012");
        assert_eq!(code("select 1").await, "25P02");
        client.simple_query("rollback to savepoint s").await.unwrap();
        client.simple_query("select 1").await.unwrap();
        assert_eq!(code("fetch 1 from c").await, "34000");
        client.simple_query("rollback to s; release s").await.unwrap();
        assert_eq!(code("rollback to s").await, "3B001");
        client.simple_query("rollback").await.unwrap();
    });
}

#[test]
fn a_pool_makes_a_connection_as_it_was() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        client.simple_query("set statement_timeout = 1000").await.unwrap();
        // As asyncpg does.
        let reset = "select pg_advisory_unlock_all(); close all; unlisten *; reset all;";
        client.simple_query(reset).await.unwrap();
        let shown = client.query_one("show statement_timeout", &[]).await.unwrap();
        assert_eq!(shown.get::<_, String>(0), "0");
    });
}

#[test]
fn a_session_knows_its_user() {
    let server = Served::start();
    block_on(async {
        let (alice, bob) = (server.connect_as("alice").await, server.connect_as("bob").await);
        for (client, name) in [(alice, "alice"), (bob, "bob")] {
            let row = client.query_one("select current_user", &[]).await.unwrap();
            assert_eq!(row.get::<_, String>(0), name);
        }
    });
}

async fn text(client: &Client, sql: &str) -> Option<String> {
    let messages = client.simple_query(sql).await.unwrap();
    let rows = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
        _ => None,
    });
    rows.expect("a row")
}

async fn code(client: &Client, sql: &str) -> String {
    error_of(&client.simple_query(sql).await.unwrap_err()).0
}

#[test]
fn a_setting_is_read_and_set_by_functions() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        // As asyncpg does before it looks at types.
        let sql = "select current_setting('jit') as cur, set_config('jit', 'off', false) as new";
        let row = client.query_one(sql, &[]).await.unwrap();
        assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("off", "off"));
        let back = client
            .query_one("select set_config('jit', $1, false)", &[&"off"])
            .await;
        assert_eq!(back.unwrap().get::<_, &str>(0), "off");
        for (sql, value) in [
            ("select current_setting('server_version_num')", Some("150000")),
            ("select current_setting('DateStyle')", Some("ISO, YMD")),
            ("select current_setting('windlass.class')", Some("normal")),
            ("select current_setting('no.such', true)", None),
            ("select current_setting(null)", None),
            ("select pg_catalog.set_config('search_path', '', false)", Some("")),
            (
                "select set_config('statement_timeout', '5s', false)",
                Some("5000ms"),
            ),
            ("show statement_timeout", Some("5000ms")),
            ("select set_config('statement_timeout', null, false)", Some("0")),
            (
                "select set_config('windlass.class', 'batch', null)",
                Some("batch"),
            ),
            ("show windlass.class", Some("batch")),
        ] {
            assert_eq!(text(&client, sql).await.as_deref(), value, "{sql}");
        }
        for (sql, wrong) in [
            ("select current_setting('no.such')", "42704"),
            ("select current_setting('no.such', false)", "42704"),
            ("select set_config('no.such', '1', false)", "42704"),
            ("select set_config('server_version', '9', false)", "55P02"),
            ("select set_config('extra_float_digits', '9', false)", "22023"),
            ("select set_config('windlass.class', 'royal', false)", "22023"),
            (
                "select set_config('datafusion.catalog.location', 'x', false)",
                "42501",
            ),
            ("select set_config(null, '1', false)", "22004"),
        ] {
            assert_eq!(code(&client, sql).await, wrong, "{sql}");
        }
        // A name from a row.
        let sql =
            "select current_setting(name) from (values ('jit'), ('lc_ctype')) as names(name) order by name";
        let rows = client.query(sql, &[]).await.unwrap();
        let values: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(values, ["off", "C"]);
    });
}

#[test]
fn a_setting_ends_with_its_transaction_as_in_postgresql() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let name = async || text(&client, "show application_name").await.unwrap();
        let run = async |sql| client.simple_query(sql).await.map(|_| ());
        run("select set_config('application_name', 'local', true)")
            .await
            .unwrap();
        assert_eq!(name().await, "", "a statement is a transaction");
        for set in [
            "set local application_name = 'local'",
            "select set_config('application_name', 'local', true)",
        ] {
            run("begin").await.unwrap();
            run(set).await.unwrap();
            assert_eq!(name().await, "local", "{set}");
            run("commit").await.unwrap();
            assert_eq!(name().await, "", "{set}");
        }
        for set in [
            "set application_name = 'kept'",
            "select set_config('application_name', 'kept', false)",
        ] {
            run("begin").await.unwrap();
            run(set).await.unwrap();
            run("rollback").await.unwrap();
            assert_eq!(name().await, "", "{set}");
            run("begin").await.unwrap();
            run(set).await.unwrap();
            assert_eq!(code(&client, "select 1 / 0").await, "22012");
            run("commit").await.unwrap();
            assert_eq!(name().await, "", "a failed transaction keeps nothing: {set}");
            run("begin").await.unwrap();
            run(set).await.unwrap();
            run("set local application_name = 'local'; commit").await.unwrap();
            assert_eq!(name().await, "kept", "{set}");
            run("reset application_name").await.unwrap();
        }
        run("begin; set application_name = 'a'; savepoint s; set application_name = 'b'")
            .await
            .unwrap();
        run("rollback to s").await.unwrap();
        assert_eq!(name().await, "a");
        run("rollback").await.unwrap();
        assert_eq!(name().await, "");
        // Settings of the engine as well.
        run("begin; set windlass.class = 'batch'; set time zone 'Europe/Zurich'")
            .await
            .unwrap();
        assert_eq!(
            text(&client, "show datafusion.execution.time_zone")
                .await
                .as_deref(),
            Some("Europe/Zurich")
        );
        run("rollback").await.unwrap();
        assert_eq!(
            text(&client, "show windlass.class").await.as_deref(),
            Some("normal")
        );
        assert_eq!(text(&client, "show timezone").await.as_deref(), Some("UTC"));
        assert_eq!(
            text(&client, "show datafusion.execution.time_zone")
                .await
                .as_deref(),
            Some("")
        );
    });
}

#[test]
fn a_client_is_told_of_each_setting_that_a_function_or_a_rollback_changes() {
    let server = Served::start();
    block_on(async {
        let (client, connection) = server
            .config("alice")
            .application_name("first")
            .connect(tokio_postgres::NoTls)
            .await
            .unwrap();
        let mut connection = Box::pin(connection);
        let mut run = async |sql: &str| {
            // The connection has read all up to the answer's end when the query is done.
            tokio::select! {
                done = client.simple_query(sql) => drop(done),
                _ = connection.as_mut() => panic!("the connection ended"),
            }
            connection.parameter("application_name").map(str::to_owned)
        };
        assert_eq!(run("select 1").await.as_deref(), Some("first"));
        assert_eq!(
            run("select 1 / 0").await.as_deref(),
            Some("first"),
            "a failure keeps it"
        );
        let set = "select set_config('application_name', 'second', false)";
        assert_eq!(run(set).await.as_deref(), Some("second"));
        assert_eq!(
            run("begin; set application_name = 'third'").await.as_deref(),
            Some("third")
        );
        assert_eq!(run("rollback").await.as_deref(), Some("second"));
        assert_eq!(run("discard all").await.as_deref(), Some(""));
    });
}
