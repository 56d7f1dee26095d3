//! Which workers have failed. One that failed gets no further query until it answers a probe.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use datafusion_distributed::{GetWorkerInfoRequest, WorkerChannel as _};
use pipeline_exec::lock;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::channel::{Channels, Reports};
use super::failure::Failure;
use super::patience::NodePatience;

pub(crate) struct Health {
    channels: Channels,
    patience: NodePatience,
    failed: Mutex<HashMap<Url, Failure>>,
    stopped: CancellationToken,
}

/// Notes failures while the health is there; probes hold no handle that would keep it.
pub(crate) struct Reporter(pub(crate) Arc<Health>);

impl Health {
    pub(crate) fn new(channels: Channels, patience: NodePatience) -> Arc<Self> {
        Arc::new(Self {
            channels,
            patience,
            failed: Mutex::default(),
            stopped: CancellationToken::new(),
        })
    }

    pub(crate) fn is_good(&self, worker: &Url) -> bool {
        !lock(&self.failed).contains_key(worker)
    }

    /// Forgets workers that are no longer named.
    pub(crate) fn retain(&self, is_named: impl Fn(&Url) -> bool) {
        lock(&self.failed).retain(|worker, _| is_named(worker));
    }

    /// Looks whether a worker answers, and notes if it does not.
    pub(crate) fn look(self: &Arc<Self>, worker: &Url) {
        let (health, worker) = (Arc::clone(self), worker.clone());
        self.spawn(async move {
            match health.probe(&worker).await {
                Ok(()) => tracing::info!(%worker, "a worker answers"),
                Err(failure) => health.fail(&worker, &failure),
            }
        });
    }

    /// Leaves a worker out until it answers.
    pub(crate) fn fail(self: &Arc<Self>, worker: &Url, failure: &Failure) {
        if lock(&self.failed)
            .insert(worker.clone(), failure.clone())
            .is_some()
        {
            return;
        }
        tracing::warn!(%worker, why = failure.why, "a worker failed");
        let (health, worker) = (Arc::clone(self), worker.clone());
        self.spawn(async move { health.until_good(&worker).await });
    }

    async fn until_good(&self, worker: &Url) {
        loop {
            tokio::time::sleep(self.patience.probe_every).await;
            if self.is_good(worker) {
                // It is no longer named.
                return;
            }
            if self.probe(worker).await.is_ok() {
                lock(&self.failed).remove(worker);
                tracing::info!(%worker, "a worker answers again");
                return;
            }
        }
    }

    async fn probe(&self, worker: &Url) -> Result<(), Failure> {
        let failure = |why: String| Failure::new(worker, why);
        let client = self.channels.client(worker);
        let mut client = client.map_err(|error| failure(error.strip_backtrace()))?;
        let longest = self.patience.connect + self.patience.ping_every + self.patience.ping;
        let answered = tokio::time::timeout(longest, client.get_worker_info(GetWorkerInfoRequest {})).await;
        match answered {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Failure::find(&error).unwrap_or_else(|| failure(error.strip_backtrace()))),
            Err(_late) => Err(failure(format!("no answer within {longest:?}"))),
        }
    }

    /// Runs on this thread's runtime until it is done or the process stops probing.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopped = self.stopped.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stopped.cancelled() => {}
                () = work => {}
            }
        });
    }

    pub(crate) fn stop(&self) {
        self.stopped.cancel();
    }
}

impl Reports for Reporter {
    fn failed(&self, worker: &Url, failure: &Failure) {
        self.0.fail(worker, failure);
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("failed", &lock(&self.failed))
            .finish_non_exhaustive()
    }
}
