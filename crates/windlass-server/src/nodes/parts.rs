//! The session in which a worker runs a part of a query: the query's memory, the coordinator's
//! functions, and the way to other workers.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::exec_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_distributed::{DistributedExt, WorkerQueryContext, WorkerSessionBuilder};

use super::channel::Channels;
use super::headers::QueryHeaders;
use super::root::receive;
use super::running::RunningQueries;

pub(crate) struct PartSessions {
    pub(crate) queries: Arc<RunningQueries>,
    pub(crate) channels: Channels,
    pub(crate) runtime: Arc<RuntimeEnv>,
    /// Has every function that a coordinator's session has.
    pub(crate) like: SessionState,
}

#[async_trait]
impl WorkerSessionBuilder for PartSessions {
    async fn build_session_state(&self, context: WorkerQueryContext) -> Result<SessionState> {
        let WorkerQueryContext { builder, headers } = context;
        let query = QueryHeaders::read(&headers)
            .map_err(|header| exec_datafusion_err!("header {header} is missing or wrong"))?;
        let running = self.queries.find(&query.name);
        let running = running.ok_or_else(|| exec_datafusion_err!("the query has ended"))?;
        let like = &self.like;
        let mut builder = builder
            .with_runtime_env(running.runtime(&self.runtime))
            .with_scalar_functions(like.scalar_functions().values().cloned().collect())
            .with_aggregate_functions(like.aggregate_functions().values().cloned().collect())
            .with_window_functions(like.window_functions().values().cloned().collect())
            .with_distributed_channel_resolver(self.channels.clone())
            // For the requests to other workers.
            .with_distributed_passthrough_headers(query.write())?
            .with_distributed_worker_plan_rewrite_handler(receive);
        if let Some(rows) = query.batch_size {
            let config = builder.config().take().unwrap_or_default();
            builder = builder.with_config(config.with_batch_size(rows));
        }
        Ok(builder.build())
    }
}

impl fmt::Debug for PartSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartSessions")
            .field("queries", &self.queries)
            .finish_non_exhaustive()
    }
}
