//! Requests to other nodes: one connection to each, shared by all queries.
//!
//! A connection is pinged while it is open. One that does not answer ends, and with it every
//! request on it, each with an error that names the node. The next request connects anew.
//!
//! The window of a connection is far larger than that of a stream: streams that are not read, since
//! a client of theirs does not read, must not hold up those of other queries.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest, GetWorkerInfoResponse,
    SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use pipeline_exec::lock;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::transport::{Channel, Endpoint};
use url::Url;

use super::connector::Connector;
use super::failure::{Failed, Failure, Trouble, named};
use super::patience::NodePatience;
use super::policy::NodeAccess;

/// Bytes of a stream, and of a connection, that may be on their way.
pub(crate) const STREAM_WINDOW: u32 = 1 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 1 << 30;

/// Bytes of a request's or an answer's headers.
pub(crate) const HEADERS_MAX: u32 = 32 << 10;

/// Number of connections that are kept.
const KEPT_MAX: usize = 256;

/// Told of a worker that failed.
pub(crate) trait Reports: Send + Sync {
    fn failed(&self, worker: &Url, failure: &Failure);
}

/// The connections of this process to others.
#[derive(Clone)]
pub(crate) struct Channels {
    pool: Arc<Pool>,
    reports: Option<Arc<dyn Reports>>,
}

struct Pool {
    access: Arc<NodeAccess>,
    patience: NodePatience,
    open: Mutex<HashMap<Url, Channel>>,
}

impl Channels {
    pub(crate) fn new(access: Arc<NodeAccess>, patience: NodePatience) -> Self {
        Self {
            pool: Arc::new(Pool {
                access,
                patience,
                open: Mutex::default(),
            }),
            reports: None,
        }
    }

    /// The same connections; failures are told to `reports`.
    pub(crate) fn reporting(&self, reports: Arc<dyn Reports>) -> Self {
        Self {
            pool: Arc::clone(&self.pool),
            reports: Some(reports),
        }
    }

    /// A client of a node. It connects with its first request.
    pub(crate) fn client(&self, worker: &Url) -> Result<NodeChannel> {
        let channel = Signed {
            channel: self.pool.channel(worker)?,
            access: Arc::clone(&self.pool.access),
        };
        Ok(NodeChannel {
            inner: create_worker_client(BoxCloneSyncChannel::new(channel)),
            worker: worker.clone(),
            reports: self.reports.clone(),
        })
    }
}

impl Pool {
    fn channel(&self, worker: &Url) -> Result<Channel> {
        let mut open = lock(&self.open);
        if let Some(channel) = open.get(worker) {
            return Ok(channel.clone());
        }
        let wrong = |error: &dyn fmt::Display| DataFusionError::Configuration(error.to_string());
        self.access.check(worker).map_err(|error| wrong(&error))?;
        let endpoint = Endpoint::from_shared(worker.to_string()).map_err(|error| wrong(&error))?;
        let connector = Connector {
            access: Arc::clone(&self.access),
            timeout: self.patience.connect,
        };
        let channel = endpoint
            .http2_keep_alive_interval(self.patience.ping_every)
            .keep_alive_timeout(self.patience.ping)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_max_header_list_size(HEADERS_MAX)
            .connect_with_connector_lazy(connector);
        if open.len() >= KEPT_MAX {
            // Those in use live on with their users.
            open.clear();
        }
        open.insert(worker.clone(), channel.clone());
        Ok(channel)
    }
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        Ok(Box::new(self.client(url)?))
    }
}

/// Requests with the token of the shared secret.
#[derive(Clone)]
struct Signed {
    channel: Channel,
    access: Arc<NodeAccess>,
}

impl Service<Request<Body>> for Signed {
    type Response = Response<Body>;
    type Error = tonic::transport::Error;
    type Future = <Channel as Service<Request<Body>>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<std::result::Result<(), Self::Error>> {
        Service::poll_ready(&mut self.channel, cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        self.access.sign(request.headers_mut());
        self.channel.call(request)
    }
}

/// A client of one node, whose errors name it.
pub(crate) struct NodeChannel {
    inner: Box<dyn WorkerChannel>,
    worker: Url,
    reports: Option<Arc<dyn Reports>>,
}

/// Where the errors of a request go.
#[derive(Clone)]
struct Errors {
    worker: Url,
    reports: Option<Arc<dyn Reports>>,
    trouble: Option<Arc<Trouble>>,
}

impl NodeChannel {
    fn errors(&self, context: Option<&TaskContext>) -> Errors {
        Errors {
            worker: self.worker.clone(),
            reports: self.reports.clone(),
            trouble: context.and_then(|context| context.session_config().get_extension()),
        }
    }
}

impl Errors {
    fn told(&self, error: DataFusionError) -> DataFusionError {
        let (error, failure) = named(&self.worker, error);
        if let Some(failure) = failure {
            if let Some(reports) = &self.reports {
                reports.failed(&self.worker, &failure);
            }
            if let Some(trouble) = &self.trouble {
                trouble.note(Failed::Worker(failure));
            }
        }
        error
    }

    fn stream<T: 'static>(self, stream: BoxStream<'static, Result<T>>) -> BoxStream<'static, Result<T>> {
        stream
            .map(move |item| item.map_err(|error| self.told(error)))
            .boxed()
    }
}

#[async_trait]
impl WorkerChannel for NodeChannel {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        set_plan_request: SetPlanRequest,
        c2w_stream: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let errors = self.errors(Some(task_ctx));
        let answered = self
            .inner
            .coordinator_channel(headers, set_plan_request, c2w_stream, metrics, task_ctx)
            .await;
        match answered {
            Ok(messages) => Ok(errors.stream(messages)),
            // The library looks at this error when the query is over.
            Err(error) => {
                let error = Arc::new(errors.told(error));
                if let Some(trouble) = &errors.trouble {
                    trouble.note(DataFusionError::Shared(Arc::clone(&error)).into());
                }
                Err(DataFusionError::Shared(error))
            }
        }
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let errors = self.errors(Some(task_ctx));
        let answered = self.inner.execute_task(headers, request, metrics, task_ctx).await;
        let streams = answered.map_err(|error| errors.told(error))?;
        let named = streams.into_iter().map(|stream| errors.clone().stream(stream));
        Ok(named.collect())
    }

    async fn get_worker_info(&mut self, request: GetWorkerInfoRequest) -> Result<GetWorkerInfoResponse> {
        let errors = self.errors(None);
        let answered = self.inner.get_worker_info(request).await;
        answered.map_err(|error| errors.told(error))
    }
}

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open: Vec<_> = lock(&self.pool.open).keys().map(Url::to_string).collect();
        f.debug_tuple("Channels").field(&open).finish()
    }
}
