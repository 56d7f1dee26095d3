//! The process that people share: listens, serves connections, and drains.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use datafusion_pg_catalog::sql::PostgresCompatibilityParser;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use windlass_datafusion::Windlass;
use windlass_datafusion::pools::Pools;

use crate::access::Access;
use crate::admission::{Admission, StatementLimits};
use crate::connections::Connections;
use crate::engine::Engine;
use crate::listener::{self, Listener};
use crate::login;
use crate::logins::Logins;
use crate::memory::{MemoryLimits, UsersMemory};
use crate::nodes::{Nodes, WorkersConfig};
use crate::queries::Queries;
use crate::runtime::{self, Spill};
use crate::shared::Shared;
use crate::tables::Tables;
use crate::turns::Turns;
use crate::ui::{Page, UiConfig};
use crate::wire::{Backend, SqlError};

/// Connections that are refused at once while the server drains.
const REFUSED_AT_ONCE: usize = 64;

/// Time without a word from a client after which its machine is asked whether it is there.
const SILENT: Duration = Duration::from_secs(60);

/// Time between two such questions.
const PROBE_EVERY: Duration = Duration::from_secs(10);

/// Questions without an answer after which a connection ends.
const PROBES: u32 = 6;

/// What a server serves, and within which bounds.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Where clients connect: all of these addresses. Where they leave the port to the system, it
    /// is the same for all.
    pub listen: Vec<SocketAddr>,
    /// Who may connect.
    pub access: Access,
    /// What they can ask for.
    pub tables: Tables,
    /// Number of partitions into which DataFusion cuts a plan: the workers.
    pub partitions: usize,
    /// Other machines that compute, if there are.
    pub workers: Option<WorkersConfig>,
    /// Number of connections at once, logged in or not.
    pub connections_max: usize,
    /// Time from connecting to the end of the login.
    pub login_timeout: Duration,
    /// Bytes of a client's message, and so of a statement.
    pub message_bytes_max: usize,
    /// Bounds on statements.
    pub statements: StatementLimits,
    /// Longest time of a statement, whatever its session has set.
    pub statement_time_max: Option<Duration>,
    /// Bytes that all statements may hold.
    pub memory_bytes: usize,
    /// Bounds on a user's and on a statement's bytes.
    pub memory: MemoryLimits,
    /// Folder for what does not fit into memory; without one, a statement that needs it fails.
    pub spill: Option<Spill>,
    /// Time that running statements have after the shutdown was asked for.
    pub drain: Duration,
    /// Where a browser sees what runs, if anywhere.
    pub ui: Option<UiConfig>,
}

impl ServerConfig {
    /// The defaults for two workers and more: bounds that a team of people does not notice.
    #[must_use]
    pub fn new(listen: SocketAddr, access: Access, tables: Tables, partitions: usize) -> Self {
        let some = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
        Self {
            listen: vec![listen],
            access,
            tables,
            partitions,
            workers: None,
            connections_max: 1_000,
            login_timeout: Duration::from_secs(10),
            message_bytes_max: 16 << 20,
            statements: StatementLimits {
                running: some(64),
                waiting: 256,
                per_user: some(128),
            },
            statement_time_max: None,
            memory_bytes: 1 << 30,
            memory: MemoryLimits::default(),
            spill: None,
            drain: Duration::from_secs(30),
            ui: None,
        }
    }
}

/// A server that listens.
pub struct Server {
    listener: Listener,
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
    drain: Duration,
    page: Option<Page>,
}

/// What a shutdown had to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Number of statements that were ended because their time was over.
    pub ended: usize,
}

impl Server {
    /// Starts to listen. Queries run on the CPU pool of `pools`; call it in async code of its mixed
    /// pool.
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on, DataFusion's hook is another's, or a folder is not
    /// usable.
    pub async fn start(config: ServerConfig, pools: Pools) -> anyhow::Result<Self> {
        let windlass = Windlass::install(pools)?;
        let memory = runtime::memory(config.memory_bytes);
        let runtime = runtime::runtime(config.spill.as_ref(), Arc::clone(&memory))?;
        let queries = Arc::<Queries>::default();
        let nodes = config.workers.map(Nodes::open).transpose()?;
        let engine = Engine::new(
            &windlass,
            runtime,
            config.partitions,
            &config.tables,
            &queries,
            |builder| match &nodes {
                Some(nodes) => nodes.plan_over_workers(builder),
                None => Ok(builder),
            },
        )?;
        let listener = Listener::bind(&config.listen)?;
        let page = match &config.ui {
            Some(ui) => Some(Page::listen(ui, &config.access).await?),
            None => None,
        };
        let turns = page.is_some().then(|| Turns::new(workers(&windlass)));
        if let Some(nodes) = &nodes {
            nodes.look();
        }
        let shared = Shared {
            windlass,
            engine,
            nodes,
            parser: PostgresCompatibilityParser::new(),
            access: config.access,
            admission: Admission::new(config.statements),
            memory: UsersMemory::new(memory, config.memory),
            queries,
            connections: Connections::new(),
            logins: Logins::new(),
            turns,
            message_bytes_max: config.message_bytes_max,
            login_timeout: config.login_timeout,
            statement_time_max: config.statement_time_max,
            draining: CancellationToken::new(),
            killed: CancellationToken::new(),
        };
        let shared = Arc::new(shared);
        Ok(Self {
            listener,
            page: page.map(|page| page.of(&shared)),
            shared,
            places: Arc::new(Semaphore::new(config.connections_max.min(Semaphore::MAX_PERMITS))),
            drain: config.drain,
        })
    }

    /// The addresses on which it listens: one or more.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listener.addresses()
    }

    /// The addresses of the page: none if there is no page.
    #[must_use]
    pub fn ui_addresses(&self) -> &[SocketAddr] {
        self.page.as_ref().map_or(&[], Page::addresses)
    }

    /// A handle for those who look at the server.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.shared))
    }

    /// Serves until `shutdown` is done. Then idle connections end, running statements have the
    /// drain's time, and the rest is ended.
    pub async fn serve(mut self, shutdown: impl Future<Output = ()>) -> Drained {
        let mut connections = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_ended) = connections.join_next() => {}
                (stream, peer) = self.next() => self.accept(&mut connections, stream, peer),
                (stream, peer) = accept_page(self.page.as_ref()) => {
                    if let Some(page) = &self.page {
                        page.accept(&mut connections, stream, peer);
                    }
                }
            }
        }
        drop(self.page.take());
        self.shared.draining.cancel();
        let in_time = tokio::time::timeout(self.drain, async {
            while connections.join_next().await.is_some() {}
        });
        tokio::select! {
            biased;
            drained = in_time => if drained.is_ok() {
                return Drained { ended: 0 };
            },
            () = self.refuse() => {}
        }
        let ended = self.shared.queries.open().len();
        self.shared.killed.cancel();
        listener::farewell(connections).await;
        Drained { ended }
    }

    /// The next connection. May be dropped at any time.
    async fn next(&self) -> (TcpStream, SocketAddr) {
        let (stream, peer) = self.listener.accept("a connection").await;
        if let Err(error) = set_options(&stream) {
            tracing::debug!(%peer, %error, "options of a socket");
        }
        (stream, peer)
    }

    /// Takes cancel requests for statements that still run, and refuses other connections, which
    /// the drain does not wait for. Does not end.
    async fn refuse(&self) {
        let mut refused = JoinSet::new();
        loop {
            tokio::select! {
                Some(_ended) = refused.join_next() => {}
                (stream, peer) = self.next() => if refused.len() < REFUSED_AT_ONCE {
                    let shared = Arc::clone(&self.shared);
                    refused.spawn(async move {
                        if let Err(gone) = login::refuse(stream, shared).await {
                            tracing::debug!(%peer, %gone, "a connection ended");
                        }
                    });
                },
            }
        }
    }

    fn accept(&self, connections: &mut JoinSet<()>, stream: TcpStream, peer: SocketAddr) {
        let shared = Arc::clone(&self.shared);
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            // No task and no memory for a connection too many. The kernel has room for one error.
            let mut out = Backend::default();
            out.error(&SqlError::fatal("53300", "sorry, too many clients already"));
            let told = stream.try_write(out.as_bytes());
            tracing::warn!(%peer, told = told.is_ok(), "a connection too many");
            return;
        };
        connections.spawn(async move {
            let _place = place;
            if let Err(gone) = login::serve(stream, peer, shared).await {
                tracing::debug!(%peer, %gone, "a connection ended");
            }
        });
    }
}

/// Small messages go out at once; a client whose machine is gone is found.
fn set_options(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(SILENT)
        .with_interval(PROBE_EVERY)
        .with_retries(PROBES);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

async fn accept_page(page: Option<&Page>) -> (TcpStream, SocketAddr) {
    match page {
        Some(page) => page.next().await,
        None => std::future::pending().await,
    }
}

/// Number of CPU workers.
fn workers(windlass: &Windlass) -> usize {
    let executor = windlass.pools().cpu().executor();
    executor.map_or(1, |executor| executor.snapshot().workers.len())
}

/// Looks at a server without holding it up.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

/// A server at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// Number of connections that are logged in.
    pub connections: usize,
    /// Number of statements that run.
    pub running: usize,
    /// Number of statements that wait for a place.
    pub waiting: usize,
    /// Bytes that statements hold.
    pub memory_bytes: usize,
    /// Whether the server is about to end.
    pub is_draining: bool,
}

impl Watch {
    /// The server at this moment.
    #[must_use]
    pub fn load(&self) -> Load {
        let (running, waiting) = self.0.admission.counts();
        Load {
            connections: self.0.connections.len(),
            running,
            waiting,
            memory_bytes: self.0.memory.reserved(),
            is_draining: self.0.draining.is_cancelled(),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.load()).finish()
    }
}
