//! DataFusion as it is, behind the crate datafusion-postgres, and over workers of
//! datafusion-distributed as they are.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{DistributedExt as _, SessionStateBuilderExt as _, Worker, WorkerResolver};
use datafusion_postgres::ServerOptions;
use nix::sys::signal::Signal;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tonic::transport::Server;
use url::Url;

use crate::options::Options;
use crate::process::Process;
use crate::tables::Tables;

/// Starts this program again, in the mode `plain`.
pub(crate) fn start(
    options: &Options,
    address: SocketAddr,
    parquet: Option<&Path>,
    workers: &[SocketAddr],
) -> anyhow::Result<Process> {
    let mut command = again("plain", options, address)?;
    command.args(["--scale", &options.load.scale.to_string()]);
    if let Some(parquet) = parquet {
        command.arg("--parquet").arg(parquet);
    }
    for worker in workers {
        command.args(["--worker", &worker.port().to_string()]);
    }
    Process::start("plain DataFusion", command, Signal::SIGTERM)
}

/// Starts this program again, in the mode `plain-worker`.
pub(crate) fn start_worker(options: &Options, address: SocketAddr) -> anyhow::Result<Process> {
    let command = again("plain-worker", options, address)?;
    Process::start("a plain worker", command, Signal::SIGTERM)
}

/// Serves until SIGTERM.
pub(crate) fn serve(options: &Options) -> anyhow::Result<()> {
    let runtime = runtime(options)?;
    let tables = match &options.parquet {
        Some(folder) => Tables::Parquet(folder.clone()),
        None => Tables::in_memory(options.load.scale)?,
    };
    runtime.block_on(async {
        let config = SessionConfig::new()
            .with_target_partitions(options.threads)
            .with_information_schema(true);
        let mut state = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features();
        if !options.workers.is_empty() {
            state = state
                .with_distributed_worker_resolver(Ports(options.workers.clone()))
                .with_distributed_planner();
        }
        let session = SessionContext::new_with_state(state.build());
        tables.register(&session, options.threads).await?;
        let listens = ServerOptions::new().with_port(options.port);
        let mut ends = signal(SignalKind::terminate())?;
        tokio::select! {
            ended = datafusion_postgres::serve(Arc::new(session), &listens) => ended?,
            _ = ends.recv() => {}
        }
        anyhow::Ok(())
    })?;
    // Statements that run would hold up the runtime's drop.
    runtime.shutdown_background();
    Ok(())
}

/// Computes parts of queries until SIGTERM.
pub(crate) fn serve_parts(options: &Options) -> anyhow::Result<()> {
    let runtime = runtime(options)?;
    runtime.block_on(async {
        let mut ends = signal(SignalKind::terminate())?;
        let server = Server::builder().add_service(Worker::default().into_worker_server());
        tokio::select! {
            ended = server.serve((Ipv4Addr::LOCALHOST, options.port).into()) => ended?,
            _ = ends.recv() => {}
        }
        anyhow::Ok(())
    })?;
    runtime.shutdown_background();
    Ok(())
}

fn again(mode: &str, options: &Options, address: SocketAddr) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([mode, "--port", &address.port().to_string()])
        .args(["--threads", &options.threads.to_string()]);
    Ok(command)
}

fn runtime(options: &Options) -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(options.threads)
        .enable_all()
        .build()
}

/// Workers on this machine, by their ports.
struct Ports(Vec<u16>);

impl WorkerResolver for Ports {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        let url = |port: &u16| Url::parse(&format!("http://127.0.0.1:{port}"));
        let urls = self.0.iter().map(url).collect::<Result<_, _>>();
        urls.map_err(|error| DataFusionError::External(error.into()))
    }
}
