//! DataFusion as it is, behind the crate datafusion-postgres.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_postgres::ServerOptions;
use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::options::Options;
use crate::process::Process;
use crate::tables::Tables;

/// Starts this program again, in the mode `plain`.
pub(crate) fn start(
    options: &Options,
    address: SocketAddr,
    parquet: Option<&Path>,
) -> anyhow::Result<Process> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["plain", "--port", &address.port().to_string()])
        .args(["--scale", &options.load.scale.to_string()])
        .args(["--threads", &options.threads.to_string()]);
    if let Some(parquet) = parquet {
        command.arg("--parquet").arg(parquet);
    }
    Process::start("plain DataFusion", &mut command, Signal::SIGTERM)
}

/// Serves until SIGTERM.
pub(crate) fn serve(options: &Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads)
        .enable_all()
        .build()?;
    let tables = match &options.parquet {
        Some(folder) => Tables::Parquet(folder.clone()),
        None => Tables::in_memory(options.load.scale)?,
    };
    runtime.block_on(async {
        let config = SessionConfig::new()
            .with_target_partitions(options.threads)
            .with_information_schema(true);
        let session = SessionContext::new_with_config(config);
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
