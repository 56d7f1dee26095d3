//! Clients that ask heavy queries back to back, as a server's connections would: each is a task of
//! the clients' runtime.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use arrow::array::RecordBatch;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::engine::Engine;
use crate::options::Options;
use crate::queries;

/// They ask until they are told to stop.
pub(crate) struct HeavyClients {
    over: Arc<AtomicBool>,
    clients: JoinSet<anyhow::Result<usize>>,
}

impl HeavyClients {
    /// As many as `options` says, with its heavy queries in turn, which ask `engine`.
    pub(crate) fn of(engine: &Engine, options: &Options, runtime: &Handle) -> anyhow::Result<Self> {
        let engine = engine.clone();
        Self::start(options, runtime, move |_client, sql| {
            let engine = engine.clone();
            async move { engine.query(sql).await }
        })
    }

    /// As many as `options` says, with its heavy queries in turn. `ask` is given a client's number
    /// and its query.
    pub(crate) fn start<F>(
        options: &Options,
        runtime: &Handle,
        ask: impl Fn(usize, &'static str) -> F + Clone + Send + 'static,
    ) -> anyhow::Result<Self>
    where
        F: Future<Output = anyhow::Result<Vec<RecordBatch>>> + Send,
    {
        let heavies = queries::heavy(&options.heavy).context("no such heavy query")?;
        let over = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for client in 0..options.clients {
            let (ask, over) = (ask.clone(), Arc::clone(&over));
            let sql = heavies[client % heavies.len()];
            let asks = async move {
                let mut answers = 0;
                // Ordering: Relaxed. It asks only to stop.
                while !over.load(Ordering::Relaxed) {
                    ask(client, sql).await?;
                    answers += 1;
                }
                anyhow::Ok(answers)
            };
            clients.spawn_on(asks, runtime);
        }
        Ok(Self { over, clients })
    }

    /// Waits until each has its last answer. Gives how many answers they had in all.
    pub(crate) async fn stop(mut self) -> anyhow::Result<usize> {
        // Ordering: Relaxed. As above.
        self.over.store(true, Ordering::Relaxed);
        let mut answers = 0;
        while let Some(client) = self.clients.join_next().await {
            answers += client.context("a heavy client")??;
        }
        Ok(answers)
    }
}
