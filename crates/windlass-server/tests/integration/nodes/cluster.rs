//! Workers on ports of their own, and a server over them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use datafusion::parquet::arrow::ArrowWriter;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::oneshot;
use tokio_postgres::{Client, NoTls, RowStream};
use url::Url;
use windlass_datafusion::pools::Pools;
use windlass_server::nodes::{
    NodeAccess, NodePatience, WorkerConfig, WorkerList, WorkerServer, WorkerWatch, WorkersConfig,
};
use windlass_server::{Access, ServerConfig, Source, Tables};

use crate::served::{Served, block_on};
use crate::tpch::session;

const SCALE: f64 = 0.01;

const TABLES: [&str; 8] = [
    "nation", "region", "part", "supplier", "partsupp", "customer", "orders", "lineitem",
];

/// Rows that no client reads to their end, from a join of two large tables.
pub(crate) const MANY_ROWS: &str =
    "select a.l_orderkey, b.l_comment from lineitem a join lineitem b on a.l_linenumber = b.l_linenumber";

/// A folder with TPC-H as Parquet files, made once.
pub(crate) fn tpch() -> PathBuf {
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.join("tpch-0.01");
    if !folder.exists() {
        let new = tempfile::tempdir_in(target).unwrap();
        block_on(write_tpch(new.path()));
        // Another process may have been faster.
        if fs::rename(new.path(), &folder).is_ok() {
            let _ = new.keep();
        }
    }
    folder
}

async fn write_tpch(folder: &Path) {
    let partitions = NonZeroUsize::new(2).unwrap();
    let tables = Tables::new(&[Source::Tpch {
        scale: SCALE,
        partitions,
    }]);
    let context = session(&tables.unwrap());
    for name in TABLES {
        let rows = context.table(name).await.unwrap().collect().await.unwrap();
        let file = fs::File::create(folder.join(format!("{name}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(file, rows[0].schema(), None).unwrap();
        for batch in &rows {
            writer.write(batch).unwrap();
        }
        writer.close().unwrap();
    }
}

/// Times for tests on a busy machine: no worker is taken for dead while it is not.
pub(crate) fn patient() -> NodePatience {
    let mut patience = NodePatience::default();
    patience.connect = Duration::from_secs(60);
    patience.ping = Duration::from_secs(60);
    patience.probe_every = Duration::from_millis(20);
    patience.coordinator = Duration::from_secs(60);
    patience
}

/// Times by which a worker that does not answer is found soon. One that runs has three seconds for
/// an answer, which a busy machine may take from it.
pub(crate) fn impatient() -> NodePatience {
    let mut patience = patient();
    patience.ping_every = Duration::from_millis(100);
    patience.ping = Duration::from_secs(3);
    patience.connect = Duration::from_millis(900);
    patience
}

/// A worker in a thread of this process. Its drop drains it.
pub(crate) struct Worker {
    pub(crate) url: Url,
    pub(crate) watch: WorkerWatch,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<usize>>,
}

impl Worker {
    pub(crate) fn start() -> Self {
        Self::with(&tpch(), NodeAccess::open_loopback(), "http", |_| {})
    }

    pub(crate) fn with(
        folder: &Path,
        access: NodeAccess,
        scheme: &str,
        change: impl FnOnce(&mut WorkerConfig) + Send + 'static,
    ) -> Self {
        Self::over(vec![Source::Folder(folder.to_owned())], access, scheme, change)
    }

    pub(crate) fn over(
        sources: Vec<Source>,
        access: NodeAccess,
        scheme: &str,
        change: impl FnOnce(&mut WorkerConfig) + Send + 'static,
    ) -> Self {
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let pools = Pools::builder().cpu_threads(2).mixed_threads(2).build().unwrap();
            let mixed = pools.mixed();
            let tables = Tables::new(&sources).unwrap();
            mixed
                .block_on(async move {
                    let mut config = WorkerConfig::new("127.0.0.1:0".parse().unwrap(), access, tables);
                    config.drain = Duration::from_secs(60);
                    config.patience = patient();
                    change(&mut config);
                    let worker = WorkerServer::start(config, pools).await.unwrap();
                    ready.send((worker.addresses()[0], worker.watch())).unwrap();
                    worker
                        .serve(async {
                            // A dropped sender stops the worker as well.
                            let _ = stopped.await;
                        })
                        .await
                })
                .unwrap()
        });
        let (address, watch) = started.recv().expect("the worker starts");
        Self {
            url: Url::parse(&format!("{scheme}://localhost:{}", address.port())).unwrap(),
            watch,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Asks the worker to end, without waiting for it.
    pub(crate) fn ask_to_end(&mut self) {
        drop(self.stop.take());
    }

    /// Ends the worker. Returns the number of queries that it had to end.
    pub(crate) fn end(mut self) -> usize {
        self.ask_to_end();
        self.thread.take().expect("ended once").join().unwrap()
    }

    /// Waits until it has `number` queries.
    pub(crate) async fn until(&self, number: usize) {
        let waited = tokio::time::timeout(Duration::from_secs(60), async {
            while self.watch.queries().len() != number {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        if waited.await.is_err() {
            panic!("{number} queries were expected: {:?}", self.watch);
        }
    }
}

/// A client that reads none of its many rows.
pub(crate) struct Busy {
    connection: tokio::task::JoinHandle<Result<(), tokio_postgres::Error>>,
    _rows: RowStream,
    _client: Client,
}

impl Busy {
    pub(crate) async fn begin(server: &Served, user: &str, set: &str) -> Self {
        let (client, connection) = server.config(user).connect(NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.simple_query(set).await.unwrap();
        let rows = client
            .query_raw(MANY_ROWS, std::iter::empty::<i32>())
            .await
            .unwrap();
        Self {
            connection,
            _rows: rows,
            _client: client,
        }
    }

    /// Closes its connection, as a client that dies does.
    pub(crate) fn go_away(self) {
        self.connection.abort();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.ask_to_end();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the worker panicked");
        }
    }
}

/// A program of this crate in a process of its own. Its drop kills it.
pub(crate) struct Process {
    child: Child,
    /// What follows `listens on` in its words.
    pub(crate) listens_on: String,
    /// Where its health and metrics are, if anywhere.
    pub(crate) operators: Option<SocketAddr>,
}

impl Process {
    pub(crate) fn worker() -> Self {
        let folder = tpch();
        Self::start(&["worker", "--listen", "127.0.0.1:0", "--tables"], &[&folder])
    }

    pub(crate) fn start(arguments: &[&str], paths: &[&Path]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_windlass-server"))
            .args(arguments)
            .args(paths)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap());
        let mut operators = None;
        let listens_on = loop {
            let mut line = String::new();
            assert!(words.read_line(&mut line).unwrap() > 0, "the process ended");
            if let Some((_, rest)) = line.split_once(" has health and metrics on http://") {
                operators = Some(rest.trim_end().trim_end_matches('/').parse().unwrap());
            }
            if let Some((_, rest)) = line.split_once(" listens on ") {
                break rest
                    .split_whitespace()
                    .next()
                    .unwrap()
                    .trim_end_matches(':')
                    .to_owned();
            }
        };
        // Its pipe must not fill.
        std::thread::spawn(move || std::io::copy(&mut words, &mut std::io::sink()));
        Self {
            child,
            listens_on,
            operators,
        }
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&self.listens_on).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits for its end. Returns whether it ended well.
    pub(crate) fn end(mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that accepts and never answers.
pub(crate) fn silent_port() -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            kept.push(stream);
        }
    });
    Url::parse(&format!("http://127.0.0.1:{port}")).unwrap()
}

/// A server over TPC-H's files and these workers.
pub(crate) fn server(workers: &[Url], patience: NodePatience) -> Served {
    let list = WorkerList::Fixed(workers.to_vec());
    server_over(list, NodeAccess::open_loopback(), patience, |_| {})
}

/// A server over these tables and workers.
pub(crate) fn server_of(workers: &[Url], sources: Vec<Source>, patience: NodePatience) -> Served {
    let list = WorkerList::Fixed(workers.to_vec());
    over(&sources, list, NodeAccess::open_loopback(), patience, |_| {})
}

pub(crate) fn server_over(
    list: WorkerList,
    access: NodeAccess,
    patience: NodePatience,
    change: impl FnOnce(&mut ServerConfig) + Send + 'static,
) -> Served {
    over(&[Source::Folder(tpch())], list, access, patience, change)
}

fn over(
    sources: &[Source],
    list: WorkerList,
    access: NodeAccess,
    patience: NodePatience,
    change: impl FnOnce(&mut ServerConfig) + Send + 'static,
) -> Served {
    Served::over(Access::open_loopback(), sources, move |config| {
        let mut workers = WorkersConfig::new(list, access);
        workers.patience = patience;
        // Every file is worth a worker.
        workers.bytes_per_thread = 1;
        config.workers = Some(workers);
        change(config);
    })
}
