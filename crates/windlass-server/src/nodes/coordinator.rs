//! The coordinator's side: which workers there are, and what each statement tells them.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion_distributed::{DistributedExt, SessionStateBuilderExt};
use url::Url;
use windlass_datafusion::WindlassOptions;

use super::channel::Channels;
use super::failure::{Failure, Trouble};
use super::headers::QueryHeaders;
use super::health::{Health, Reporter};
use super::members::{Members, WorkerList};
use super::patience::NodePatience;
use super::planner::FilesOverWorkers;
use super::policy::NodeAccess;

/// Workers over which a server plans.
#[derive(Debug)]
#[non_exhaustive]
pub struct WorkersConfig {
    /// Which there are.
    pub list: WorkerList,
    /// How they are trusted.
    pub access: NodeAccess,
    /// How long they are waited for.
    pub patience: NodePatience,
    /// Bytes of files for which a thread of a worker is worth asking.
    pub bytes_per_thread: usize,
}

impl WorkersConfig {
    /// The defaults: five seconds for a worker that is gone, 16 MiB for a thread.
    #[must_use]
    pub fn new(list: WorkerList, access: NodeAccess) -> Self {
        Self {
            list,
            access,
            patience: NodePatience::default(),
            bytes_per_thread: 16 << 20,
        }
    }
}

/// The workers of a running server.
pub(crate) struct Nodes {
    members: Members,
    channels: Channels,
    health: Arc<Health>,
    bytes_per_thread: usize,
    /// Tells this process's queries from those of others.
    process: u64,
}

/// A statement as workers get to know it.
pub(crate) struct RemoteStatement {
    members: Members,
    process: u64,
    pub(crate) number: u64,
    pub(crate) user: Arc<str>,
    pub(crate) options: WindlassOptions,
    pub(crate) deadline: Option<Instant>,
}

impl Nodes {
    pub(crate) fn open(config: WorkersConfig) -> anyhow::Result<Self> {
        let access = Arc::new(config.access);
        let probes = Channels::new(Arc::clone(&access), config.patience);
        let health = Health::new(probes.clone(), config.patience);
        let members = Members::open(config.list, Arc::clone(&health))?;
        for worker in members.all() {
            access.check(&worker).context("--workers")?;
        }
        Ok(Self {
            channels: probes.reporting(Arc::new(Reporter(Arc::clone(&health)))),
            members,
            health,
            bytes_per_thread: config.bytes_per_thread,
            // The only source of random numbers in the standard library.
            process: RandomState::new().build_hasher().finish(),
        })
    }

    /// Looks at all workers, for the log.
    pub(crate) fn look(&self) {
        for worker in self.workers() {
            self.health.look(&worker);
        }
    }

    pub(crate) fn workers(&self) -> Vec<Url> {
        self.members.all()
    }

    /// Makes sessions plan over the workers.
    pub(crate) fn plan_over_workers(&self, builder: SessionStateBuilder) -> Result<SessionStateBuilder> {
        let mut builder = builder
            .with_distributed_worker_resolver(self.members.clone())
            .with_distributed_channel_resolver(self.channels.clone())
            .with_distributed_file_scan_config_bytes_per_partition(self.bytes_per_thread)?
            // Keeps a channel to each worker open as long as the query runs.
            .with_distributed_metrics_collection(true)?
            .with_distributed_planner();
        Ok(match builder.query_planner().take() {
            Some(planner) => builder.with_query_planner(Arc::new(FilesOverWorkers::new(planner))),
            None => builder,
        })
    }

    pub(crate) fn statement(
        &self,
        number: u64,
        user: &Arc<str>,
        options: WindlassOptions,
        deadline: Option<Instant>,
    ) -> RemoteStatement {
        RemoteStatement {
            members: self.members.clone(),
            process: self.process,
            number,
            user: Arc::clone(user),
            options,
            deadline,
        }
    }
}

impl RemoteStatement {
    /// Leaves out the worker that failed. Returns whether there are others.
    pub(crate) fn leave_out(&self, failure: &Failure) -> bool {
        self.members.leave_out(failure)
    }

    /// Prepares a session for the statement's attempt with this number. The trouble is told when a
    /// worker fails.
    pub(crate) fn attempt(&self, attempt: u32, state: &mut SessionState) -> Result<Arc<Trouble>> {
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let headers = QueryHeaders {
            name: format!("{:016x}-{}-{attempt}", self.process, self.number),
            user: self.user.to_string(),
            options: WindlassOptions {
                deadline: left.map(|left| left.max(Duration::from_millis(1))),
                operators: false,
                ..self.options.clone()
            },
            batch_size: Some(state.config().batch_size()),
        };
        let trouble = Trouble::new();
        let config = state.config_mut();
        // Plans are sent, and the format of plans has DataFusion's operators alone.
        if let Some(options) = config.options_mut().extensions.get_mut::<WindlassOptions>() {
            options.operators = false;
        }
        config.set_distributed_passthrough_headers(headers.write())?;
        config.set_extension(Arc::clone(&trouble));
        Ok(trouble)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.health.stop();
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}
