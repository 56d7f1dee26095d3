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
use windlass_server::access::{AccessOptions, resolve, run_passwd};
use windlass_server::pools::Pools;
use windlass_server::{
    Access, MemoryLimits, Server, ServerConfig, Source, Spill, SpillFolder, StatementLimits, TableSummary,
    Tables, answer_operators, machine_memory, record_metrics,
};

use arguments::{Arguments, Command, ServeArguments};

/// Threads for what waits: sockets, timers, files.
const WAITING_THREADS: usize = 2;

/// Bytes of a worker's stack, for the deepest statement that is not refused. Memory is taken only as
/// far as it is used.
const WORKER_STACK: usize = 64 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        Some(Command::Passwd(passwd)) => run_passwd(&passwd.users, &passwd.name, passwd.remove),
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
    start_log(arguments.log_json);
    if arguments.tables.is_empty() && arguments.table.is_empty() && arguments.tpch.is_none() {
        bail!("there is nothing to serve: --tables DIR, --table NAME=PATH or --tpch SCALE");
    }
    let addresses = resolve(&arguments.listen)?;
    let access = Access::decide(
        &addresses,
        &AccessOptions {
            users: arguments.users.clone(),
            tls_cert: arguments.tls_cert.clone(),
            tls_key: arguments.tls_key.clone(),
        },
    )?;
    let mut builder = Pools::builder()
        .mixed_threads(WAITING_THREADS)
        .cpu_stack_size(WORKER_STACK);
    if let Some(workers) = arguments.workers {
        builder = builder.cpu_threads(workers.get());
    }
    let pools = builder.build()?;
    open_files::allow(arguments.connections.get());
    let workers = arguments.workers.unwrap_or_else(cores);
    let tables = Tables::new(&sources(arguments, workers))?;
    let served = tables.summary();
    let spill = arguments.spill.as_deref().map(SpillFolder::open).transpose()?;
    let config = config(
        arguments,
        addresses[0],
        access,
        tables,
        workers.get(),
        spill.as_ref(),
    );
    let operator = arguments.operator.as_deref().map(operator_address).transpose()?;
    for table in &served {
        if let Err(error) = &table.contents {
            tracing::warn!(table = table.name, %error, "a table cannot be read");
        }
    }
    tracing::info!(
        tables = served.len(),
        names = shortened(&served),
        workers,
        memory_bytes = config.memory_bytes,
        statements = config.statements.running,
        connections = config.connections_max,
        passwords = config.access.users().is_some(),
        tls = config.access.identity().is_some(),
        spill = arguments.spill.is_some(),
        "serving"
    );
    let mixed = pools.mixed();
    mixed.block_on(run(config, pools, operator))?
}

async fn run(config: ServerConfig, pools: Pools, operator: Option<SocketAddr>) -> anyhow::Result<()> {
    let metrics = record_metrics()?;
    let server = Server::start(config, pools).await?;
    let address = server.address()?;
    let watch = server.watch();
    let stopped = stop_signal()?;
    tracing::info!(%address, "listening");
    eprintln!(
        "windlass-server listens on {address}: psql -h {} -p {} -U $USER windlass",
        address.ip(),
        address.port()
    );
    let operators = async {
        match operator {
            Some(address) => answer_operators(address, watch, metrics).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        drained = server.serve(stopped) => {
            tracing::info!(ended = drained.ended, "drained");
            Ok(())
        }
        failed = operators => failed,
    }
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

fn sources(arguments: &ServeArguments, partitions: NonZeroUsize) -> Vec<Source> {
    let folders = arguments.tables.iter().cloned().map(Source::Folder);
    let named = arguments.table.iter().cloned().map(Source::Named);
    let tpch = arguments.tpch.map(|scale| Source::Tpch { scale, partitions });
    folders.chain(named).chain(tpch).collect()
}

fn config(
    arguments: &ServeArguments,
    listen: SocketAddr,
    access: Access,
    tables: Tables,
    workers: usize,
    spill: Option<&SpillFolder>,
) -> ServerConfig {
    let mut config = ServerConfig::new(listen, access, tables, workers);
    config.connections_max = arguments.connections.get();
    config.statements = StatementLimits {
        running: arguments.statements,
        per_user: arguments.user_statements,
        ..config.statements
    };
    config.statement_time_max = arguments.statement_time;
    config.memory_bytes = arguments.memory.unwrap_or_else(half_of_memory);
    config.memory = MemoryLimits {
        statement: arguments.statement_memory,
        user: arguments.user_memory,
    };
    config.spill = spill.map(|folder| Spill {
        folder: folder.path().to_owned(),
        bytes_max: arguments.spill_max as u64,
    });
    config.drain = arguments.drain;
    config
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Half of the machine's memory; 1 GiB where the system does not tell.
fn half_of_memory() -> usize {
    let half = machine_memory().and_then(|bytes| usize::try_from(bytes / 2).ok());
    half.unwrap_or(1 << 30)
}

fn operator_address(text: &str) -> anyhow::Result<SocketAddr> {
    let addresses = resolve(text).context("--operator")?;
    // It has no password.
    if let Some(open) = addresses
        .iter()
        .find(|address| !address.ip().to_canonical().is_loopback())
    {
        bail!("--operator {open}: only loopback, since it asks for no password");
    }
    Ok(addresses[0])
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
