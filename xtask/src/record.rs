//! `cargo xtask record [ARGS...]`: recorded runs on threads, checked by the simulator's oracles.
//!
//! The program is an example of the crate `recorded`, and gets the arguments (`--events N`,
//! `--cost`, `--trace FILE`). With `--planted NAME` it has a patch of `mutants/`, and a run must be
//! rejected.

use std::ffi::OsString;
use std::process::Command;

use crate::mutants::patched;
use crate::process::{self, Limit};
use crate::usage::{Misuse, Outcome};
use crate::workspace::Workspace;

const PROGRAM: &str = "recorded";

/// The patch whose run must be rejected in CI.
pub(crate) const COUNT_BUG: &str = "executor-core/private_not_covered";

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let workspace = Workspace::load()?;
    let mut command = command(&workspace)?;
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut rest = Vec::new();
    while let Some(argument) = parser.next().map_err(|error| Misuse::new(error.to_string()))? {
        match argument {
            lexopt::Arg::Long("planted") => {
                let name = parser.value().map_err(|error| Misuse::new(error.to_string()))?;
                command = planted(&workspace, &name.to_string_lossy())?;
            }
            lexopt::Arg::Long(name) => rest.push(format!("--{name}").into()),
            lexopt::Arg::Value(value) => rest.push(value),
            lexopt::Arg::Short(_) => return Err(Misuse::new(argument.unexpected().to_string()).into()),
        }
    }
    process::pass_through(command.args(rest), Limit::NONE)
}

pub(crate) fn planted(workspace: &Workspace, bug: &str) -> anyhow::Result<Command> {
    let copy = patched::copy_with(workspace, "recorded", bug)?;
    let mut command = command(workspace)?;
    (command.current_dir(&copy.root)).env("CARGO_TARGET_DIR", &copy.builds);
    command.arg("--expect-rejection");
    Ok(command)
}

/// The program's arguments come last.
pub(crate) fn command(workspace: &Workspace) -> anyhow::Result<Command> {
    workspace.program("recorded", "example", PROGRAM)
}
