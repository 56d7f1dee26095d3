//! The program: arguments, log, signals, exit codes. What it does is the library's.

mod arguments;
mod open_files;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use windlass_server::access::{AccessOptions, is_loopback, resolve, run_passwd};
use windlass_server::nodes::{
    NodeAccess, NodeAccessOptions, WorkerConfig, WorkerList, WorkerServer, WorkersConfig,
};
use windlass_server::pools::Pools;
use windlass_server::{
    Access, MemoryLimits, Observed, Operators, Server, ServerConfig, Source, Spill, SpillFolder,
    StatementLimits, TableSummary, Tables, UiConfig, UrlOptions, machine_memory,
};

use arguments::{Arguments, Command, MachineArguments, ServeArguments, WorkerArguments};

/// Threads for what waits: sockets, timers, files.
const WAITING_THREADS: usize = 2;

/// Bytes of a worker's stack, for the deepest statement that is not refused. Memory is taken only
/// as far as it is used.
const WORKER_STACK: usize = 64 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        Some(Command::Passwd(passwd)) => run_passwd(&passwd.users, &passwd.name, passwd.remove),
        Some(Command::Worker(worker)) => work(worker),
        None => serve(&arguments.serve),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("windlass-server: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &ServeArguments) -> anyhow::Result<()> {
    let machine = &arguments.machine;
    start_log(machine.log_json);
    if machine.tables.is_empty() && machine.table.is_empty() && arguments.tpch.is_none() {
        bail!("there is nothing to serve: --tables DIR, --table NAME=PATH|URL or --tpch SCALE");
    }
    let addresses = resolve("--listen", &arguments.listen)?;
    let access = Access::decide(
        &addresses,
        &AccessOptions {
            users: arguments.users.clone(),
            tls_cert: machine.tls_cert.clone(),
            tls_key: machine.tls_key.clone(),
        },
    )?;
    let ui = arguments
        .ui
        .as_deref()
        .map(|text| ui_config(text, &arguments.ui_host, &access));
    let ui = ui.transpose()?;
    let pools = pools(machine)?;
    open_files::allow(arguments.connections.get());
    let threads = machine.threads.unwrap_or_else(cores);
    let sources = sources(machine, arguments.tpch, threads);
    let tables = Tables::with_urls(&sources, &url_options(machine))?;
    let spill = spill(machine)?;
    let mut config = config(
        arguments,
        addresses,
        access,
        tables,
        threads.get(),
        spill.as_ref(),
    )?;
    config.ui = ui;
    let operator = operator_addresses(machine)?;
    let served = tell_tables(&config.tables, &pools)?;
    if arguments.tpch.is_some() && config.workers.is_some() {
        let what = "the tables of --tpch are in this process's memory: statements that read them run here, not on workers";
        tracing::warn!("{what}");
    }
    tracing::info!(
        tables = served.len(),
        names = shortened(&served),
        threads,
        memory_bytes = config.memory_bytes,
        statements = config.statements.running,
        connections = config.connections_max,
        passwords = config.access.users().is_some(),
        tls = config.access.identity().is_some(),
        workers = config.workers.is_some(),
        spill = machine.spill.is_some(),
        "serving"
    );
    let mixed = pools.mixed();
    mixed.block_on(run(config, pools, operator))?
}

fn work(arguments: &WorkerArguments) -> anyhow::Result<()> {
    let machine = &arguments.machine;
    start_log(machine.log_json);
    if machine.tables.is_empty() && machine.table.is_empty() {
        bail!("there is nothing to read: --tables DIR or --table NAME=PATH|URL, as the server has them");
    }
    let addresses = resolve("--listen", &arguments.listen)?;
    let access = NodeAccess::of_worker(&addresses, &node_options(machine, true))?;
    let operator = operator_addresses(machine)?;
    let pools = pools(machine)?;
    let threads = machine.threads.unwrap_or_else(cores);
    let tables = Tables::with_urls(&sources(machine, None, threads), &url_options(machine))?;
    let served = tell_tables(&tables, &pools)?;
    let spill = spill(machine)?;
    let mut config = WorkerConfig::new(addresses[0], access, tables);
    config.listen = addresses;
    config.memory_bytes = machine.memory.unwrap_or_else(half_of_memory);
    config.memory = memory_limits(machine);
    config.spill = spill_of(machine, spill.as_ref());
    config.queries_max = arguments.queries.get();
    config.drain = machine.drain;
    tracing::info!(
        tables = served.len(),
        names = shortened(&served),
        threads,
        memory_bytes = config.memory_bytes,
        queries = config.queries_max,
        secret = config.access.has_secret(),
        tls = config.access.has_tls(),
        spill = machine.spill.is_some(),
        "working"
    );
    let mixed = pools.mixed();
    mixed.block_on(run_worker(config, pools, operator))?
}

async fn run_worker(config: WorkerConfig, pools: Pools, operator: Vec<SocketAddr>) -> anyhow::Result<()> {
    let scheme = if config.access.has_tls() { "https" } else { "http" };
    let operators = listen_for_operators(&operator).await?;
    let worker = WorkerServer::start(config, pools).await?;
    let watch = worker.watch();
    let stopped = stop_signal()?;
    for address in worker.addresses() {
        tracing::info!(%address, "listening");
        eprintln!("windlass-server worker listens on {scheme}://{address}");
    }
    tokio::select! {
        ended = worker.serve(stopped) => tracing::info!(ended, "drained"),
        () = answer_operators(operators, watch) => {}
    }
    Ok(())
}

/// Listens on these addresses, if there are any.
async fn listen_for_operators(addresses: &[SocketAddr]) -> anyhow::Result<Option<Operators>> {
    if addresses.is_empty() {
        return Ok(None);
    }
    let operators = Operators::listen(addresses).await?;
    for address in operators.addresses() {
        tracing::info!(%address, "health and metrics");
        eprintln!("windlass-server has health and metrics on http://{address}/");
    }
    Ok(Some(operators))
}

/// Does not end.
async fn answer_operators(operators: Option<Operators>, observed: impl Observed) {
    match operators {
        Some(operators) => operators.answer(observed).await,
        None => std::future::pending().await,
    }
}

fn pools(machine: &MachineArguments) -> anyhow::Result<Pools> {
    let mut builder = Pools::builder()
        .mixed_threads(WAITING_THREADS)
        .cpu_stack_size(WORKER_STACK);
    if let Some(threads) = machine.threads {
        builder = builder.cpu_threads(threads.get());
    }
    Ok(builder.build()?)
}

fn spill(machine: &MachineArguments) -> anyhow::Result<Option<SpillFolder>> {
    machine.spill.as_deref().map(SpillFolder::open).transpose()
}

fn spill_of(machine: &MachineArguments, folder: Option<&SpillFolder>) -> Option<Spill> {
    folder.map(|folder| Spill {
        folder: folder.path().to_owned(),
        bytes_max: machine.spill_max as u64,
    })
}

fn memory_limits(machine: &MachineArguments) -> MemoryLimits {
    MemoryLimits {
        statement: machine.statement_memory,
        user: machine.user_memory,
    }
}

/// The tables, after a word about those that cannot be read, and those that others can.
fn tell_tables(tables: &Tables, pools: &Pools) -> anyhow::Result<Vec<TableSummary>> {
    let mut served = tables.summary();
    served.extend(pools.mixed().block_on(tables.url_summary())?);
    for (table, url) in tables.open_urls() {
        let what = "its rows come by http from another machine: who is between can read and change them";
        tracing::warn!(table, %url, "{what}");
    }
    for table in &served {
        if let Err(error) = &table.contents {
            tracing::warn!(table = table.name, %error, "a table cannot be read");
        }
    }
    Ok(served)
}

/// How the other machines are trusted. The certificate of a server is for its clients.
fn node_options(machine: &MachineArguments, is_worker: bool) -> NodeAccessOptions {
    NodeAccessOptions {
        secret: machine.node_secret.clone(),
        ca: machine.node_ca.clone(),
        tls_cert: machine.tls_cert.clone().filter(|_| is_worker),
        tls_key: machine.tls_key.clone().filter(|_| is_worker),
    }
}

fn workers(arguments: &ServeArguments) -> anyhow::Result<Option<WorkersConfig>> {
    let list = match &arguments.workers_file {
        Some(path) => WorkerList::File(path.clone()),
        None if arguments.workers.is_empty() => return Ok(None),
        None => WorkerList::Fixed(arguments.workers.clone()),
    };
    let access = NodeAccess::of_coordinator(&node_options(&arguments.machine, false))?;
    let mut config = WorkersConfig::new(list, access);
    config.bytes_per_thread = arguments.worker_bytes;
    Ok(Some(config))
}

async fn run(config: ServerConfig, pools: Pools, operator: Vec<SocketAddr>) -> anyhow::Result<()> {
    let operators = listen_for_operators(&operator).await?;
    let server = Server::start(config, pools).await?;
    let watch = server.watch();
    let stopped = stop_signal()?;
    for address in server.addresses() {
        tracing::info!(%address, "listening");
        eprintln!(
            "windlass-server listens on {address}: psql -h {} -p {} -U $USER windlass",
            address.ip(),
            address.port()
        );
    }
    let pages = server.ui_addresses();
    let scheme = if pages.iter().all(is_loopback) {
        "http"
    } else {
        "https"
    };
    for page in pages {
        tracing::info!(address = %page, "the page");
        eprintln!("windlass-server shows what runs on {scheme}://{page}/");
    }
    tokio::select! {
        drained = server.serve(stopped) => tracing::info!(ended = drained.ended, "drained"),
        () = answer_operators(operators, watch) => {}
    }
    Ok(())
}

/// Done at the first SIGTERM or Ctrl-C.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = tokio::select! {
            _ = terminated.recv() => "SIGTERM",
            _ = interrupted.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "draining");
    })
}

fn start_log(is_json: bool) {
    let filter = EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("warn,windlass_server=info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    if is_json { log.json().init() } else { log.init() }
}

fn sources(machine: &MachineArguments, tpch: Option<f64>, partitions: NonZeroUsize) -> Vec<Source> {
    let folders = machine.tables.iter().cloned().map(Source::Folder);
    let named = machine.table.iter().cloned().map(Source::Named);
    let tpch = tpch.map(|scale| Source::Tpch { scale, partitions });
    folders.chain(named).chain(tpch).collect()
}

fn url_options(machine: &MachineArguments) -> UrlOptions {
    UrlOptions {
        ca: machine.table_ca.clone(),
        ..UrlOptions::default()
    }
}

fn config(
    arguments: &ServeArguments,
    listen: Vec<SocketAddr>,
    access: Access,
    tables: Tables,
    threads: usize,
    spill: Option<&SpillFolder>,
) -> anyhow::Result<ServerConfig> {
    let machine = &arguments.machine;
    let mut config = ServerConfig::new(listen[0], access, tables, threads);
    config.listen = listen;
    config.workers = workers(arguments)?;
    config.connections_max = arguments.connections.get();
    config.statements = StatementLimits {
        running: arguments.statements,
        per_user: arguments.user_statements,
        ..config.statements
    };
    config.statement_time_max = arguments.statement_time;
    config.memory_bytes = machine.memory.unwrap_or_else(half_of_memory);
    config.memory = memory_limits(machine);
    config.spill = spill_of(machine, spill);
    config.drain = machine.drain;
    Ok(config)
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Half of the machine's memory; 1 GiB where the system does not tell.
fn half_of_memory() -> usize {
    let half = machine_memory().and_then(|bytes| usize::try_from(bytes / 2).ok());
    half.unwrap_or(1 << 30)
}

fn ui_config(text: &str, hosts: &[String], access: &Access) -> anyhow::Result<UiConfig> {
    let addresses = resolve("--ui", text)?;
    access.check_page(&addresses).context("--ui")?;
    let mut config = UiConfig::new(addresses[0]);
    config.listen = addresses;
    config.hosts = hosts.to_vec();
    Ok(config)
}

/// Where health and metrics are to be; nowhere, if that is not asked for.
fn operator_addresses(machine: &MachineArguments) -> anyhow::Result<Vec<SocketAddr>> {
    let Some(text) = &machine.operator else {
        return Ok(Vec::new());
    };
    let addresses = resolve("--operator", text)?;
    // It has no password.
    if let Some(open) = addresses.iter().find(|address| !is_loopback(address)) {
        bail!("--operator {open}: only loopback, since it asks for no password");
    }
    Ok(addresses)
}

fn shortened(tables: &[TableSummary]) -> String {
    const SHOWN: usize = 20;
    let names = tables.iter().take(SHOWN).map(|table| table.name.as_str());
    let mut text = names.collect::<Vec<_>>().join(", ");
    if tables.len() > SHOWN {
        text += ", …";
    }
    text
}
