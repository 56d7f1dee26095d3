//! `cargo xtask sim [ARGS...]`: the simulator's runner in release mode. It has its own `--help`;
//! without arguments it runs CI's swarm.

mod swarm_report;

use std::ffi::OsString;
use std::process::Command;

pub(crate) use self::swarm_report::SwarmReport;
use crate::process::{self, Limit};
use crate::usage::Outcome;
use crate::workspace::Workspace;

const RUNNER: &str = "windlass-sim";

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let mut command = command(&Workspace::load()?)?;
    command.args(arguments);
    process::pass_through(&mut command, Limit::NONE)
}

pub(crate) fn command(workspace: &Workspace) -> anyhow::Result<Command> {
    workspace.program("sim", "bin", RUNNER)
}
