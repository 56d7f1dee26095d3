//! An engine that listens, in processes of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::ValueEnum;
use tempfile::TempDir;

use crate::clients;
use crate::options::Options;
use crate::postgres::Postgres;
use crate::process::{Held, Process};
use crate::{plain, tables, windlass};

/// Longest time until an engine answers: it generates its tables first.
const STARTS_WITHIN: Duration = Duration::from_secs(600);

/// CPU time of a worker that has computed parts of the heavy queries.
const BUSY: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Windlass,
    /// DataFusion behind the crate datafusion-postgres
    Plain,
    Postgres,
}

/// Where the tables of TPC-H are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tables {
    Memory,
    Parquet,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Windlass => "windlass",
            Self::Plain => "plain",
            Self::Postgres => "postgres",
        }
    }

    /// PostgreSQL's tables are its own, and count as those in memory.
    pub(crate) fn has(self, tables: Tables) -> bool {
        self != Self::Postgres || tables == Tables::Memory
    }
}

/// An engine that answers. Its drop kills it.
pub(crate) struct Running {
    pub(crate) kind: Kind,
    pub(crate) address: SocketAddr,
    pub(crate) user: &'static str,
    pub(crate) database: &'static str,
    process: Process,
    /// Workers besides it.
    nodes: Vec<Process>,
    _folder: Option<TempDir>,
}

impl Running {
    pub(crate) fn start(kind: Kind, tables: Tables, options: &Options) -> anyhow::Result<Self> {
        let (folder, temporary) = folder(options)?;
        let address = free_address()?;
        let parquet = match tables {
            Tables::Memory => None,
            Tables::Parquet => Some(parquet(&folder, options.load.scale)?),
        };
        let mut nodes = Vec::new();
        let mut workers = Vec::new();
        for _ in 0..options.nodes {
            let folder = parquet.as_deref().context("workers read files")?;
            let address = free_address()?;
            nodes.push(match kind {
                Kind::Windlass => windlass::start_worker(options, address, folder)?,
                Kind::Plain => plain::start_worker(options, address)?,
                Kind::Postgres => anyhow::bail!("PostgreSQL has no workers"),
            });
            wait_for_port(address)?;
            workers.push(address);
        }
        let (process, user, database) = match kind {
            Kind::Windlass => {
                let source = match &parquet {
                    None => windlass::Source::Tpch(options.load.scale),
                    Some(folder) => windlass::Source::Folder(folder),
                };
                (
                    windlass::start(options, address, &source, &windlass::over(&workers, options))?,
                    "bench",
                    "windlass",
                )
            }
            Kind::Plain => (
                plain::start(options, address, parquet.as_deref(), &workers)?,
                "postgres",
                "postgres",
            ),
            Kind::Postgres => (
                Postgres::new(options, &folder)?.start(address)?,
                "bench",
                "postgres",
            ),
        };
        let mut running = Self {
            kind,
            address,
            user,
            database,
            process,
            nodes,
            _folder: temporary,
        };
        running.wait()?;
        Ok(running)
    }

    /// A windlass-server that was started otherwise.
    pub(crate) fn of_windlass(address: SocketAddr, process: Process) -> anyhow::Result<Self> {
        let mut running = Self {
            kind: Kind::Windlass,
            address,
            user: "bench",
            database: "windlass",
            process,
            nodes: Vec::new(),
            _folder: None,
        };
        running.wait()?;
        Ok(running)
    }

    /// Waits until it answers.
    fn wait(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + STARTS_WITHIN;
        let runtime = clients::runtime()?;
        loop {
            self.process.ensure_runs()?;
            let connected = runtime.block_on(async {
                let client = clients::connect(self).await?;
                anyhow::Ok(client.simple_query("select 1").await?)
            });
            match connected {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > until => {
                    return Err(error).with_context(|| format!("{} does not answer", self.kind.name()));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// What the server and then each worker holds.
    pub(crate) fn held(&self) -> anyhow::Result<Vec<Held>> {
        let processes = std::iter::once(&self.process).chain(&self.nodes);
        processes.map(Process::held).collect()
    }

    /// # Errors
    ///
    /// If a worker has computed nothing worth mentioning.
    pub(crate) fn ensure_distributed(&self) -> anyhow::Result<()> {
        for node in &self.nodes {
            let cpu = node.cpu()?;
            anyhow::ensure!(
                cpu >= BUSY,
                "a worker has computed for {cpu:?} only: the files are small, so try --worker-bytes 1"
            );
        }
        Ok(())
    }

    /// The workers, to break them.
    pub(crate) fn take_nodes(&mut self) -> Vec<Process> {
        std::mem::take(&mut self.nodes)
    }

    pub(crate) fn give_nodes(&mut self, nodes: Vec<Process>) {
        self.nodes = nodes;
    }

    /// Asks it to end, and waits.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        self.process.stop()?;
        self.nodes.iter_mut().try_for_each(Process::stop)
    }
}

impl paced_load::Engine for Running {
    fn client(&self) -> anyhow::Result<impl FnMut(&'static str) -> anyhow::Result<()>> {
        let runtime = clients::runtime()?;
        let client = runtime.block_on(clients::connect(self))?;
        Ok(move |sql| {
            runtime.block_on(client.simple_query(sql))?;
            Ok(())
        })
    }

    /// Of its processes.
    fn cpu(&self) -> anyhow::Result<Duration> {
        let processes = std::iter::once(&self.process).chain(&self.nodes);
        processes.map(Process::cpu).sum()
    }
}

/// The folder for tables, and what removes it if it is a temporary one.
pub(crate) fn folder(options: &Options) -> anyhow::Result<(PathBuf, Option<TempDir>)> {
    Ok(match &options.folder {
        Some(folder) => (folder.clone(), None),
        None => {
            let temporary = tempfile::tempdir()?;
            (temporary.path().to_owned(), Some(temporary))
        }
    })
}

/// The folder of the Parquet files, which are written if they are not there.
pub(crate) fn parquet(folder: &Path, scale: f64) -> anyhow::Result<PathBuf> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match runtime.block_on(tables::Tables::in_files(folder, scale))? {
        tables::Tables::Parquet(folder) => Ok(folder),
        tables::Tables::Memory(_) => anyhow::bail!("tables in files are in memory"),
    }
}

/// Waits until `address` takes connections.
fn wait_for_port(address: SocketAddr) -> anyhow::Result<()> {
    let until = Instant::now() + STARTS_WITHIN;
    while let Err(error) = TcpStream::connect(address) {
        if Instant::now() > until {
            return Err(error).with_context(|| format!("nothing listens on {address}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A port that was free a moment ago.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?)
}
