//! TPC-H through the wire against the same plans in process.

use std::num::NonZeroUsize;

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::{SessionConfig, SessionContext};
use tokio_postgres::{Client, SimpleQueryMessage};
use windlass_server::tables::{CATALOG, SCHEMA};
use windlass_server::{Access, Source, Tables};

use super::served::{Served, block_on};

const SCALE: f64 = 0.01;

pub(crate) fn query(number: usize) -> String {
    let path = format!(
        "{}/../windlass-datafusion/tests/tpch/q{number:02}.sql",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).unwrap()
}

/// Plain DataFusion over the tables.
pub(crate) fn session(tables: &Tables) -> SessionContext {
    let config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false);
    let context = SessionContext::new_with_config(config);
    tables.register(&context.state()).unwrap();
    context
}

pub(crate) async fn all_queries_equal(client: &Client, context: &SessionContext) {
    for number in 1..=22 {
        let sql = query(number);
        let expected = in_process(context, &sql).await;
        let found = over_the_wire(client, number, &sql).await;
        same_rows(number, &found, &expected);
    }
}

async fn in_process(context: &SessionContext, sql: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for batch in context.sql(sql).await.unwrap().collect().await.unwrap() {
        let options = FormatOptions::default();
        let columns = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap());
        let columns: Vec<_> = columns.collect();
        for row in 0..batch.num_rows() {
            rows.push(
                columns
                    .iter()
                    .map(|column| column.value(row).to_string())
                    .collect(),
            );
        }
    }
    rows
}

/// The two sides write the zeros behind a point differently.
fn plain(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(_) if value.contains('.') => value.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => value.to_owned(),
    }
}

/// The rows as text.
async fn over_the_wire(client: &Client, number: usize, sql: &str) -> Vec<Vec<String>> {
    let messages = client
        .simple_query(sql)
        .await
        .unwrap_or_else(|error| panic!("Q{number}: {error:?}"));
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(
            (0..row.len())
                .map(|at| row.get(at).unwrap_or_default().to_owned())
                .collect(),
        ),
        _ => None,
    });
    rows.collect()
}

fn same_rows(number: usize, found: &[Vec<String>], expected: &[Vec<String>]) {
    assert_eq!(found.len(), expected.len(), "Q{number}");
    for (found, expected) in found.iter().zip(expected) {
        let found: Vec<_> = found.iter().map(|value| plain(value)).collect();
        let expected: Vec<_> = expected.iter().map(|value| plain(value)).collect();
        assert_eq!(found, expected, "Q{number}");
    }
}

#[test]
fn twenty_two_queries_through_the_wire_equal_those_in_process() {
    let tpch = Source::Tpch {
        scale: SCALE,
        partitions: NonZeroUsize::new(2).unwrap(),
    };
    let server = Served::over(Access::open_loopback(), std::slice::from_ref(&tpch), |_| {});
    let tables = Tables::new(&[tpch]).unwrap();
    block_on(async {
        let client = server.connect().await;
        all_queries_equal(&client, &session(&tables)).await;
    });
}
