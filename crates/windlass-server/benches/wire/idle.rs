//! Connections that do nothing while an engine is measured.

use anyhow::Context as _;
use tokio::runtime::Runtime;
use tokio_postgres::Client;

use crate::clients;
use crate::engine::Running;

pub(crate) struct Idle {
    clients: Vec<Client>,
    runtime: Runtime,
}

impl Idle {
    /// Opens them. Each has had an answer.
    pub(crate) fn connect(engine: &Running, count: usize) -> anyhow::Result<Self> {
        let runtime = clients::runtime()?;
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(runtime.block_on(clients::connect(engine))?);
        }
        let idle = Self { clients, runtime };
        idle.ensure_answered()?;
        Ok(idle)
    }

    /// Asks each again.
    ///
    /// # Errors
    ///
    /// If one was closed.
    pub(crate) fn ensure_answered(&self) -> anyhow::Result<()> {
        for client in &self.clients {
            let answered = self.runtime.block_on(client.simple_query("select 1"));
            answered.context("an idle connection")?;
        }
        Ok(())
    }
}
