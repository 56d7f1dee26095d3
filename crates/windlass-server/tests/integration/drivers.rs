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
