//! Clients that send heavy queries back to back, each a task of the clients' runtime.

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

pub(crate) struct HeavyClients {
    over: Arc<AtomicBool>,
    clients: JoinSet<anyhow::Result<usize>>,
}

impl HeavyClients {
    pub(crate) fn of(engine: &Engine, options: &Options, runtime: &Handle) -> anyhow::Result<Self> {
        let engine = engine.clone();
        Self::start(options, runtime, move |_client, sql| {
            let engine = engine.clone();
            async move { engine.query(sql).await }
        })
    }

    pub(crate) fn start<F>(
        options: &Options,
        runtime: &Handle,
        ask: impl Fn(usize, &'static str) -> F + Clone + Send + 'static,
    ) -> anyhow::Result<Self>
    where
        F: Future<Output = anyhow::Result<Vec<RecordBatch>>> + Send,
    {
        let heavies = queries::heavy(&options.load.heavy).context("no such heavy query")?;
        let over = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for client in 0..options.load.clients {
            let (ask, over) = (ask.clone(), Arc::clone(&over));
            let sql = heavies[client % heavies.len()];
            let asks = async move {
                let mut answers = 0;
                // Ordering: Relaxed. It only requests a stop.
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
