//! windlass-server as a process of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;

use crate::options::Options;
use crate::process::Process;

pub(crate) enum Source<'a> {
    Tpch(f64),
    Folder(&'a Path),
}

/// The arguments of a server that plans over `workers`.
pub(crate) fn over(workers: &[SocketAddr], options: &Options) -> Vec<String> {
    if workers.is_empty() {
        return Vec::new();
    }
    let urls: Vec<_> = workers
        .iter()
        .map(|address| format!("http://{address}"))
        .collect();
    let mut arguments = vec!["--workers".to_owned(), urls.join(",")];
    if let Some(bytes) = &options.worker_bytes {
        arguments.extend(["--worker-bytes".to_owned(), bytes.clone()]);
    }
    arguments
}

/// Starts a worker of several machines.
pub(crate) fn start_worker(options: &Options, address: SocketAddr, folder: &Path) -> anyhow::Result<Process> {
    let mut command = Command::new(&options.server);
    command
        .args(["worker", "--listen", &address.to_string()])
        .args(["--threads", &options.threads.to_string(), "--drain", "5s"])
        .arg("--tables")
        .arg(folder);
    command.env("RUST_LOG", "warn");
    Process::start("a worker of windlass-server", command, Signal::SIGTERM)
}

pub(crate) fn start(
    options: &Options,
    address: SocketAddr,
    source: &Source<'_>,
    more: &[String],
) -> anyhow::Result<Process> {
    let mut command = Command::new(&options.server);
    command
        .args([
            "--listen",
            &address.to_string(),
            "--threads",
            &options.threads.to_string(),
        ])
        .args(["--drain", "5s"])
        .args(more);
    match source {
        Source::Tpch(scale) => command.args(["--tpch", &scale.to_string()]),
        Source::Folder(folder) => command.arg("--tables").arg(folder),
    };
    command.env("RUST_LOG", "warn");
    Process::start("windlass-server", command, Signal::SIGTERM)
}
