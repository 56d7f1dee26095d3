//! A server on a port of its own, and clients of it.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_postgres::{Client, Config, NoTls};
use windlass_datafusion::pools::Pools;
use windlass_server::{Access, Drained, Server, ServerConfig, Source, Tables, Watch};

use super::program::PATIENCE;

/// Its drop drains the server.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    /// The page's address, if it has one.
    pub(crate) page: Option<SocketAddr>,
    pub(crate) watch: Watch,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Drained>>,
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    /// Serves a folder with `cities.csv`.
    pub(crate) fn with(change: impl FnOnce(&mut ServerConfig) + Send + 'static) -> Self {
        Self::over(Access::open_loopback(), &[], change)
    }

    pub(crate) fn over(
        access: Access,
        more: &[Source],
        change: impl FnOnce(&mut ServerConfig) + Send + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cities.csv"), CITIES).unwrap();
        let mut sources = vec![Source::Folder(folder.path().to_owned())];
        sources.extend_from_slice(more);
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let pools = Pools::builder()
                .cpu_threads(2)
                .mixed_threads(2)
                .cpu_stack_size(64 << 20)
                .build()
                .unwrap();
            let mixed = pools.mixed();
            let tables = Tables::new(&sources).unwrap();
            mixed
                .block_on(async move {
                    let mut config = ServerConfig::new("127.0.0.1:0".parse().unwrap(), access, tables, 2);
                    config.drain = Duration::from_secs(60);
                    change(&mut config);
                    let server = Server::start(config, pools).await.unwrap();
                    let addresses = (server.addresses()[0], server.ui_addresses().first().copied());
                    ready.send((addresses, server.watch())).unwrap();
                    server
                        .serve(async {
                            // A dropped sender stops the server too.
                            let _ = stopped.await;
                        })
                        .await
                })
                .unwrap()
        });
        let ((address, page), watch) = started.recv().expect("the server starts");
        Self {
            address,
            page,
            watch,
            folder,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(crate) fn config(&self, user: &str) -> Config {
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(self.address.port())
            .user(user)
            .dbname("windlass");
        config
    }

    pub(crate) async fn connect(&self) -> Client {
        self.connect_as("alice").await
    }

    pub(crate) async fn connect_as(&self, user: &str) -> Client {
        let (client, connection) = self.config(user).connect(NoTls).await.unwrap();
        // Ends when the client is dropped or the server closes.
        tokio::spawn(connection);
        client
    }

    /// Does not wait.
    pub(crate) fn ask_to_end(&mut self) {
        drop(self.stop.take());
    }

    pub(crate) fn end(mut self) -> Drained {
        self.ask_to_end();
        let thread = self.thread.take().expect("ended once");
        // Longer than the drain of most tests.
        let until = Instant::now() + 2 * PATIENCE;
        while !thread.is_finished() {
            assert!(Instant::now() < until, "the server does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        thread.join().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.ask_to_end();
        // A server whose test has failed may have a reason not to end.
        if let Some(thread) = self.thread.take()
            && !std::thread::panicking()
            && thread.join().is_err()
        {
            panic!("the server panicked");
        }
    }
}

pub(crate) const CITIES: &str = "city,country,people\nBern,CH,134591\nOslo,NO,697549\nZug,CH,30542\n";

/// Waits for `what`, and fails where a fault would have it wait for ever.
pub(crate) async fn within<T>(what: &str, waited_for: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, waited_for).await;
    waited.unwrap_or_else(|_| panic!("waited in vain: {what}"))
}

pub(crate) fn block_on<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(test)
}

/// Code and text.
pub(crate) fn error_of(error: &tokio_postgres::Error) -> (String, String) {
    let error = error
        .as_db_error()
        .unwrap_or_else(|| panic!("no error of the server: {error:?}"));
    (error.code().code().to_owned(), error.message().to_owned())
}

/// Takes minutes, and pauses often.
pub(crate) const ENDLESS: &str =
    "select count(*) from generate_series(1, 20000000000) as a(i) where i % 7 = 3";
