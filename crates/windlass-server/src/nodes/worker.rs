//! A worker: listens, computes parts of queries for coordinators, and drains.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_distributed::Worker;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use windlass_datafusion::Windlass;
use windlass_datafusion::pools::Pools;

use super::channel::{CONNECTION_WINDOW, Channels, HEADERS_MAX, STREAM_WINDOW};
use super::connector::NodeIo;
use super::gate::Gate;
use super::parts::PartSessions;
use super::patience::NodePatience;
use super::policy::NodeAccess;
use super::running::{RunningQueries, RunningQuery};
use crate::engine::Engine;
use crate::listener::{self, Listener};
use crate::memory::{MemoryLimits, UsersMemory};
use crate::queries::Queries;
use crate::runtime::{self, Spill};
use crate::tables::Tables;

/// Time between two looks whether queries have ended.
const DRAIN_LOOK: Duration = Duration::from_millis(10);

/// Bytes of a chunk of rows on its way.
const CHUNK_BYTES: usize = 4 << 20;

/// What a worker serves, and within which bounds.
#[derive(Debug)]
#[non_exhaustive]
pub struct WorkerConfig {
    /// Where coordinators and other workers connect: all of these addresses. Where they leave the
    /// port to the system, it is the same for all.
    pub listen: Vec<SocketAddr>,
    /// How they are trusted.
    pub access: NodeAccess,
    /// The tables: the coordinator's, under the same paths.
    pub tables: Tables,
    /// Bytes that all queries may hold.
    pub memory_bytes: usize,
    /// Bounds on a user's and on a query's bytes.
    pub memory: MemoryLimits,
    /// Folder for what does not fit into memory.
    pub spill: Option<Spill>,
    /// Number of queries at once.
    pub queries_max: usize,
    /// Number of connections at once.
    pub connections_max: usize,
    /// Number of requests of a connection at once. A request that waits for a place may be needed
    /// by those that have one, so it is far above what queries use.
    pub requests_max: u32,
    /// Bytes of a message that comes: a plan.
    pub message_bytes_max: usize,
    /// How long other nodes are waited for.
    pub patience: NodePatience,
    /// Time that running queries have after the shutdown was asked for.
    pub drain: Duration,
}

impl WorkerConfig {
    /// The defaults.
    #[must_use]
    pub fn new(listen: SocketAddr, access: NodeAccess, tables: Tables) -> Self {
        Self {
            listen: vec![listen],
            access,
            tables,
            memory_bytes: 1 << 30,
            memory: MemoryLimits::default(),
            spill: None,
            queries_max: 1_024,
            connections_max: 256,
            requests_max: 65_536,
            message_bytes_max: 64 << 20,
            patience: NodePatience::default(),
            drain: Duration::from_secs(30),
        }
    }
}

/// A worker that listens.
pub struct WorkerServer {
    listener: Listener,
    shared: Arc<Shared>,
    drain: Duration,
}

struct Shared {
    access: Arc<NodeAccess>,
    queries: Arc<RunningQueries>,
    runtime: Arc<RuntimeEnv>,
    worker: Worker,
    patience: NodePatience,
    requests_max: u32,
    message_bytes_max: usize,
    places: Arc<Semaphore>,
    /// Idle connections end.
    drained: CancellationToken,
}

/// Looks at a worker without holding it up.
#[derive(Clone)]
pub struct WorkerWatch {
    queries: Arc<RunningQueries>,
    runtime: Arc<RuntimeEnv>,
}

/// A worker at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerLoad {
    /// Number of queries that it computes parts of.
    pub queries: usize,
    /// Number of queries that it has begun to compute parts of.
    pub begun: u64,
    /// Number of requests that these have open.
    pub requests: usize,
    /// Number of their tasks that have not ended.
    pub tasks: usize,
    /// Bytes that they hold.
    pub memory_bytes: usize,
    /// Bytes that they may hold.
    pub memory_limit_bytes: Option<usize>,
    /// Bytes in the folder for what does not fit into memory.
    pub spilled_bytes: u64,
    /// Time that each thread has computed, by number.
    pub busy: Vec<Duration>,
}

impl WorkerServer {
    /// Starts to listen. Call it in async code of the mixed pool of `pools`.
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on, DataFusion's hook is another's, or a folder is not
    /// usable.
    pub async fn start(config: WorkerConfig, pools: Pools) -> anyhow::Result<Self> {
        let windlass = Windlass::install(pools)?;
        let memory = runtime::memory(config.memory_bytes);
        let runtime = runtime::runtime(config.spill.as_ref(), Arc::clone(&memory))?;
        let engine = Engine::new(
            &windlass,
            Arc::clone(&runtime),
            1,
            &config.tables,
            &Arc::<Queries>::default(),
            Ok,
        )?;
        let memory = UsersMemory::new(memory, config.memory);
        let queries = Arc::new(RunningQueries::new(&windlass, memory, config.queries_max));
        let access = Arc::new(config.access);
        let sessions = PartSessions {
            queries: Arc::clone(&queries),
            channels: Channels::new(Arc::clone(&access), config.patience),
            runtime: Arc::clone(&runtime),
            like: engine.state().clone(),
        };
        let worker = Worker::from_session_builder(sessions)
            .with_runtime_env(Arc::clone(&runtime))
            .with_max_message_size(CHUNK_BYTES)
            .with_version(env!("CARGO_PKG_VERSION"));
        let listener = Listener::bind(&config.listen)?;
        let shared = Shared {
            access,
            queries,
            runtime,
            worker,
            patience: config.patience,
            requests_max: config.requests_max,
            message_bytes_max: config.message_bytes_max,
            places: Arc::new(Semaphore::new(config.connections_max.min(Semaphore::MAX_PERMITS))),
            drained: CancellationToken::new(),
        };
        Ok(Self {
            listener,
            shared: Arc::new(shared),
            drain: config.drain,
        })
    }

    /// The addresses on which it listens: one or more.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listener.addresses()
    }

    /// A handle for those who look at the worker.
    #[must_use]
    pub fn watch(&self) -> WorkerWatch {
        WorkerWatch {
            queries: Arc::clone(&self.shared.queries),
            runtime: Arc::clone(&self.shared.runtime),
        }
    }

    /// Serves until `shutdown` is done. Then no query begins, running ones have the drain's time,
    /// and the rest is ended. Returns the number of queries that were ended.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> usize {
        let mut connections = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_ended) = connections.join_next() => {}
                (stream, peer) = self.listener.accept("a node") => {
                    self.accept(&mut connections, stream, peer);
                }
            }
        }
        let queries = &self.shared.queries;
        queries.drain();
        let drained = async {
            while queries.len() > 0 {
                // Parts of running queries may come by new connections.
                tokio::select! {
                    () = tokio::time::sleep(DRAIN_LOOK) => {}
                    (stream, peer) = self.listener.accept("a node") => {
                        self.accept(&mut connections, stream, peer);
                    }
                }
            }
        };
        let ended = match tokio::time::timeout(self.drain, drained).await {
            Ok(()) => 0,
            Err(_late) => queries.kill(),
        };
        self.shared.drained.cancel();
        listener::farewell(connections).await;
        ended
    }

    fn accept(&self, connections: &mut JoinSet<()>, stream: TcpStream, peer: SocketAddr) {
        let Ok(place) = Arc::clone(&self.shared.places).try_acquire_owned() else {
            tracing::warn!(%peer, "a connection too many");
            return;
        };
        let shared = Arc::clone(&self.shared);
        connections.spawn(async move {
            let _place = place;
            if let Err(error) = shared.serve(stream).await {
                tracing::debug!(%peer, %error, "a connection ended");
            }
        });
    }
}

impl Shared {
    async fn serve(&self, stream: TcpStream) -> anyhow::Result<()> {
        stream.set_nodelay(true)?;
        let late = "nothing came";
        let io: Box<dyn NodeIo> = match self.access.server() {
            Some(config) => {
                let accepted = TlsAcceptor::from(config).accept(stream);
                let accepted = tokio::time::timeout(self.patience.coordinator, accepted).await;
                Box::new(accepted.context(late)??)
            }
            None => {
                let first = tokio::time::timeout(self.patience.coordinator, stream.readable()).await;
                first.context(late)??;
                Box::new(stream)
            }
        };
        let service = self.worker.clone().into_worker_server();
        let gate = Gate {
            service: service.max_decoding_message_size(self.message_bytes_max),
            access: Arc::clone(&self.access),
            queries: Arc::clone(&self.queries),
        };
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = gate.clone().answer(request.map(Body::new));
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(self.patience.coordinator)
            .keep_alive_timeout(self.patience.coordinator)
            .max_concurrent_streams(self.requests_max)
            .max_header_list_size(HEADERS_MAX)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .serve_connection(TokioIo::new(io), service);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            ended = connection.as_mut() => return Ok(ended?),
            () = self.drained.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        Ok(connection.await?)
    }
}

impl WorkerWatch {
    /// The queries that it computes parts of.
    #[must_use]
    pub fn queries(&self) -> Vec<RunningQuery> {
        self.queries.open()
    }

    /// The worker at this moment.
    #[must_use]
    pub fn load(&self) -> WorkerLoad {
        let queries = self.queries();
        WorkerLoad {
            queries: queries.len(),
            begun: self.begun(),
            requests: queries.iter().map(|query| query.requests).sum(),
            tasks: queries.iter().map(|query| query.tasks).sum(),
            memory_bytes: self.memory_bytes(),
            memory_limit_bytes: self.queries.memory_limit_bytes(),
            spilled_bytes: self.runtime.disk_manager.used_disk_space(),
            busy: self.queries.busy(),
        }
    }

    /// Number of queries that it has begun to compute parts of.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.queries.begun()
    }

    /// Bytes that queries hold.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.queries.memory_bytes()
    }

    /// Whether it is about to end.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.queries.is_draining()
    }
}

impl fmt::Debug for WorkerServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerServer")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WorkerWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkerWatch").field(&self.queries()).finish()
    }
}
