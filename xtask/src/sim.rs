//! `cargo xtask sim [ARGS...]`: builds the simulator's runner in release mode and hands the arguments to it.
//!
//! The runner has its own `--help`; without arguments it runs the swarm that CI runs.

mod swarm_report;

use std::ffi::OsString;
use std::process::Command;

use anyhow::bail;

pub(crate) use self::swarm_report::SwarmReport;
use crate::process::{self, Limit, cargo};
use crate::usage::Outcome;
use crate::workspace::Workspace;

const RUNNER: &str = "windlass-sim";

/// Passes arguments and exit code through.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    process::pass_through(
        command(&Workspace::load()?)?.arg("--").args(arguments),
        Limit::NONE,
    )
}

/// Runs the runner; its arguments go behind a `--`.
///
/// # Errors
///
/// When the workspace has no such program.
pub(crate) fn command(workspace: &Workspace) -> anyhow::Result<Command> {
    if workspace.with_target("bin", RUNNER).next().is_none() {
        bail!("crate `sim` has no program `{RUNNER}`");
    }
    let mut command = cargo();
    command.args(["run", "--release", "--quiet", "--package", "sim", "--bin", RUNNER]);
    Ok(command)
}
