//! `cargo xtask sim [ARGS...]`: builds the simulator's runner in release mode and hands the arguments to it.
//!
//! The runner has its own `--help`; without arguments it runs the swarm that CI runs. `--predict` is another program, which
//! measures threads as well and so belongs to the benches.

mod swarm_report;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

pub(crate) use self::swarm_report::SwarmReport;
use crate::process::{self, Limit};
use crate::usage::Outcome;
use crate::workspace::Workspace;

const RUNNER: &str = "windlass-sim";

/// The option that asks for predictions, and the one of those that writes them into the documentation.
const PREDICT: &str = "--predict";
const WRITE: &str = "--write";

/// Passes arguments and exit code through.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let workspace = Workspace::load()?;
    let mut command = match prediction(&arguments, &workspace.root.join("docs")) {
        Some(arguments) => {
            let mut command = workspace.program("benches", "bin", "predict")?;
            command.args(arguments);
            command
        }
        None => {
            let mut command = command(&workspace)?;
            command.args(arguments);
            command
        }
    };
    process::pass_through(&mut command, Limit::NONE)
}

/// The arguments for the program that predicts, if it is asked for; it writes into the folder `docs`.
fn prediction(arguments: &[OsString], docs: &Path) -> Option<Vec<OsString>> {
    arguments.iter().find(|argument| *argument == PREDICT)?;
    let others = arguments.iter().filter(|argument| *argument != PREDICT);
    let passed_on = others.flat_map(|argument| {
        let folder = (argument == WRITE).then(|| docs.as_os_str().to_owned());
        std::iter::once(argument.clone()).chain(folder)
    });
    Some(passed_on.collect())
}

/// Runs the runner; its arguments come last.
///
/// # Errors
///
/// When the workspace has no such program.
pub(crate) fn command(workspace: &Workspace) -> anyhow::Result<Command> {
    workspace.program("sim", "bin", RUNNER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_another_program_which_writes_into_the_documentation() {
        let predict = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            prediction(&words, Path::new("docs"))
        };
        let expected: Vec<OsString> = ["--rounds", "5", "--write", "docs"].map(OsString::from).into();
        assert_eq!(
            predict(&["--rounds", "5", "--predict", "--write"]),
            Some(expected)
        );
        assert_eq!(predict(&["--seeds", "5"]), None);
    }
}
