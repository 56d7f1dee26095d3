//! Prepared statements, portals, and values in binary form.

use std::num::NonZeroUsize;

use futures_util::StreamExt;
use tokio_postgres::types::Type;

use super::served::{Served, block_on, error_of};

#[test]
fn a_prepared_statement_takes_values_and_gives_typed_rows() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let sql = "select city, people, people > $1 as large from cities where country = $2 order by city";
        let statement = client.prepare(sql).await.unwrap();
        assert_eq!(statement.params(), [Type::INT8, Type::TEXT]);
        let columns: Vec<_> = statement
            .columns()
            .iter()
            .map(|column| (column.name(), column.type_()))
            .collect();
        assert_eq!(
            columns,
            [
                ("city", &Type::TEXT),
                ("people", &Type::INT8),
                ("large", &Type::BOOL)
            ]
        );
        let rows = client.query(&statement, &[&100_000_i64, &"CH"]).await.unwrap();
        let found: Vec<(String, i64, bool)> = rows
            .iter()
            .map(|row| (row.get(0), row.get(1), row.get(2)))
            .collect();
        assert_eq!(
            found,
            [
                ("Bern".to_owned(), 134_591, true),
                ("Zug".to_owned(), 30_542, false)
            ]
        );
    });
}

#[test]
fn a_cast_says_which_type_a_parameter_has() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let statement = client.prepare("select $1::int + 1, $2::date").await.unwrap();
        assert_eq!(statement.params(), [Type::INT4, Type::DATE]);
        let row = client.query_one("select $1::int + 1", &[&41]).await.unwrap();
        // DataFusion adds in 64 bits.
        assert_eq!(row.get::<_, i64>(0), 42);
        let none = client.query_one("select $1::int", &[&None::<i32>]).await.unwrap();
        assert_eq!(none.get::<_, Option<i32>>(0), None);
    });
}

#[test]
fn a_portal_pauses_after_the_rows_that_were_asked_for() {
    let server = Served::start();
    block_on(async {
        let mut client = server.connect().await;
        let transaction = client.transaction().await.unwrap();
        let sql = "select value from generate_series(1, 1000)";
        let portal = transaction.bind(sql, &[]).await.unwrap();
        for _ in 0..3 {
            assert_eq!(transaction.query_portal(&portal, 300).await.unwrap().len(), 300);
        }
        assert_eq!(transaction.query_portal(&portal, 300).await.unwrap().len(), 100);
        assert!(transaction.query_portal(&portal, 300).await.unwrap().is_empty());
    });
}

#[test]
fn a_portal_that_pauses_leaves_its_place_to_others() {
    let server = Served::with(|config| {
        config.statements.running = NonZeroUsize::MIN;
        config.statements.waiting = 0;
    });
    block_on(async {
        let (mut first, second) = (server.connect().await, server.connect().await);
        let transaction = first.transaction().await.unwrap();
        let sql = "select value from generate_series(1, 1000)";
        let portal = transaction.bind(sql, &[]).await.unwrap();
        assert_eq!(transaction.query_portal(&portal, 300).await.unwrap().len(), 300);
        second.simple_query("select 1").await.unwrap();
        transaction
            .batch_execute("declare c cursor for select 1")
            .await
            .unwrap();
        second.simple_query("select 1").await.unwrap();
        assert_eq!(transaction.query_portal(&portal, 900).await.unwrap().len(), 700);
        assert_eq!(transaction.query("fetch 1 from c", &[]).await.unwrap().len(), 1);
    });
}

#[test]
fn a_cursor_takes_values_and_gives_rows_in_parts() {
    let server = Served::start();
    block_on(async {
        let mut client = server.connect().await;
        let transaction = client.transaction().await.unwrap();
        let declare = "declare c cursor for select city, people from cities where people > $1 order by city";
        transaction.execute(declare, &[&100_000_i64]).await.unwrap();
        let fetch = transaction.prepare("fetch 1 from c").await.unwrap();
        let cities = ["Bern", "Oslo"];
        for city in cities {
            let row = transaction.query_one(&fetch, &[]).await.unwrap();
            assert_eq!(row.get::<_, &str>(0), city);
            assert!(row.get::<_, i64>(1) > 100_000);
        }
        assert!(transaction.query(&fetch, &[]).await.unwrap().is_empty());
        transaction
            .batch_execute("close c; declare c cursor for select 1")
            .await
            .unwrap();
        let error = transaction.query(&fetch, &[]).await.unwrap_err();
        assert_eq!(error_of(&error).1, "cached plan must not change result type");
    });
}

#[test]
fn a_cursor_over_a_wrong_query_fails_when_it_is_declared() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let error = client
            .batch_execute("begin; declare c cursor for select nowhere.x from cities")
            .await
            .unwrap_err();
        assert_eq!(error_of(&error).0, "42703");
    });
}

#[test]
fn statements_are_sent_ahead_of_their_answers() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let statement = client.prepare("select $1::bigint * 2").await.unwrap();
        let values: Vec<i64> = (0..100).collect();
        let answers = values.iter().map(|value| {
            let (client, statement) = (&client, &statement);
            async move {
                client
                    .query_one(statement, &[value])
                    .await
                    .unwrap()
                    .get::<_, i64>(0)
            }
        });
        let answers: Vec<i64> = futures_util::stream::iter(answers).buffered(100).collect().await;
        assert_eq!(answers, (0..100).map(|value| value * 2).collect::<Vec<_>>());
    });
}

#[test]
fn an_error_leaves_the_connection_usable_and_the_statement_too() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let statement = client.prepare("select 10 / $1::int").await.unwrap();
        let error = client.query(&statement, &[&0]).await.unwrap_err();
        assert_eq!(error_of(&error).0, "22012");
        assert_eq!(client.query(&statement, &[&5]).await.unwrap().len(), 1);
        let error = client.prepare("select nowhere.x from cities").await.unwrap_err();
        assert_eq!(error_of(&error).0, "42703");
        let error = client.prepare("select 1; select 2").await.unwrap_err();
        assert_eq!(error_of(&error).0, "42601");
    });
}

#[test]
fn a_prepared_statement_sees_rows_that_came_after_it() {
    let server = Served::start();
    let file = server.folder().join("cities.csv");
    block_on(async {
        let client = server.connect().await;
        let statement = client.prepare("select count(*) from cities").await.unwrap();
        let count = async || client.query_one(&statement, &[]).await.unwrap().get::<_, i64>(0);
        assert_eq!(count().await, 3);
        std::fs::write(&file, format!("{}Bergen,NO,286930\n", super::served::CITIES)).unwrap();
        assert_eq!(count().await, 4);
    });
}

#[test]
fn a_prepared_statement_does_not_change_its_columns() {
    let server = Served::start();
    let file = server.folder().join("cities.csv");
    block_on(async {
        let client = server.connect().await;
        let statement = client.prepare("select * from cities").await.unwrap();
        std::fs::write(&file, "town\nBern\n").unwrap();
        let error = client.query(&statement, &[]).await.unwrap_err();
        assert_eq!(error_of(&error).0, "0A000");
    });
}

#[test]
fn a_type_that_the_client_names_is_the_columns_too() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let types = [Type::INT4, Type::BOOL, Type::FLOAT8, Type::TEXT];
        let statement = client
            .prepare_typed("select $1, $2, $3, $4", &types)
            .await
            .unwrap();
        let row = client
            .query_one(&statement, &[&7_i32, &true, &0.5_f64, &"x"])
            .await
            .unwrap();
        assert_eq!((row.get::<_, i32>(0), row.get::<_, bool>(1)), (7, true));
        assert_eq!(
            (row.get::<_, f64>(2), row.get::<_, String>(3)),
            (0.5, "x".to_owned())
        );
    });
}
