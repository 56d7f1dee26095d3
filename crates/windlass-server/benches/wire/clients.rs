//! Clients of an engine, and the rows that they get.

use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::engine::Running;

/// A thread's own runtime: a client and the bytes of its connection.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

pub(crate) async fn connect(engine: &Running) -> anyhow::Result<Client> {
    let mut config = Config::new();
    config
        .host(engine.address.ip().to_string())
        .port(engine.address.port())
        .user(engine.user)
        .dbname(engine.database);
    let (client, connection) = config.connect(NoTls).await?;
    // Ends when the client is dropped; its error is the client's as well.
    tokio::spawn(connection);
    Ok(client)
}

/// The rows as text, with `|` between values.
pub(crate) fn rows(messages: &[SimpleQueryMessage]) -> Vec<Vec<String>> {
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some(
            (0..row.len())
                .map(|column| row.get(column).unwrap_or("NULL").to_owned())
                .collect(),
        ),
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}
