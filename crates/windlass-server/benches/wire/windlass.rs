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

pub(crate) fn start(
    options: &Options,
    address: SocketAddr,
    source: &Source<'_>,
    more: &[&str],
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
    Process::start("windlass-server", &mut command, Signal::SIGTERM)
}
