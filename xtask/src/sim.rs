//! `cargo xtask sim [ARGS...]`: builds the simulator's runner in release mode and hands the arguments to it.
//!
//! The runner has its own `--help`; without arguments it runs the swarm that CI runs. `--predict` is another program, which
//! measures threads as well and so belongs to the benches, and so is `--load`, which draws with what they draw with.

mod swarm_report;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

pub(crate) use self::swarm_report::SwarmReport;
use crate::process::{self, Limit};
use crate::usage::Outcome;
use crate::workspace::Workspace;

const RUNNER: &str = "windlass-sim";

/// The options that ask for another program, which is called the same; and the one of those that writes into the documentation.
const OTHERS: [&str; 2] = ["--predict", "--load"];
const WRITE: &str = "--write";

/// Passes arguments and exit code through.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let workspace = Workspace::load()?;
    let mut command = match other(&arguments, &workspace.root.join("docs")) {
        Some((program, arguments)) => {
            let mut command = workspace.program("benches", "bin", program)?;
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

/// The program of the benches that is asked for, if one is, and its arguments; it writes into the folder `docs`.
fn other(arguments: &[OsString], docs: &Path) -> Option<(&'static str, Vec<OsString>)> {
    let option = OTHERS
        .into_iter()
        .find(|option| arguments.iter().any(|argument| argument == option))?;
    let others = arguments.iter().filter(|argument| *argument != option);
    let passed_on = others.flat_map(|argument| {
        let folder = (argument == WRITE).then(|| docs.as_os_str().to_owned());
        std::iter::once(argument.clone()).chain(folder)
    });
    Some((option.trim_start_matches('-'), passed_on.collect()))
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
    fn predictions_and_loads_are_other_programs_which_write_into_the_documentation() {
        let asked = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            other(&words, Path::new("docs"))
        };
        let expected: Vec<OsString> = ["--rounds", "5", "--write", "docs"].map(OsString::from).into();
        assert_eq!(
            asked(&["--rounds", "5", "--predict", "--write"]),
            Some(("predict", expected))
        );
        assert_eq!(asked(&["--load"]), Some(("load", Vec::new())));
        assert_eq!(asked(&["--seeds", "5"]), None);
    }
}
