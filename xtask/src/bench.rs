//! `cargo xtask bench BENCH [FILTER] [OPTIONS]`: one bench of the program `benches`, which has its
//! own usage. The default is the executor.
//!
//! `scan` measures whole commands, so the program `windlass` is built before it.
//!
//! Three are other programs: `micro` is criterion over our own parts; `datafusion [MODE]`, beside its
//! crate, compares plain DataFusion with windlass; `wire [MODE]`, beside the server, does so over
//! PostgreSQL's protocol.

use std::ffi::OsString;

use crate::process::{self, Limit, cargo};
use crate::usage::Outcome;
use crate::workspace::Workspace;

const DEFAULT: &str = "executor";
const WRITE: &str = "--write";
/// Path of a program that takes the place of the one built here.
const WINDLASS: &str = "--windlass";

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) if !name.to_string_lossy().starts_with('-') => (name.clone(), rest),
        _ => (DEFAULT.into(), arguments.as_slice()),
    };
    match name.to_str() {
        Some("micro") => criterion("benches", &["--benches"], rest),
        Some("datafusion") => criterion("windlass-datafusion", &["--bench", "beside"], rest),
        Some("wire") => criterion("windlass-server", &["--bench", "wire"], rest),
        _ => {
            let workspace = Workspace::load()?;
            let given = rest.iter().any(|word| word == WINDLASS);
            let measured = (name == "scan" && !given).then_some("windlass");
            for package in measured.into_iter().chain(["benches"]) {
                let mut build = cargo();
                build.args(["build", "--release", "--quiet", "--package", package, "--bins"]);
                let built = process::pass_through(&mut build, Limit::NONE)?;
                if built != Outcome::Passed {
                    return Ok(built);
                }
            }
            let mut program = workspace.program("benches", "bin", "benches")?;
            program
                .arg(name)
                .args(passed_on(rest, workspace.root.as_os_str()));
            process::pass_through(&mut program, Limit::NONE)
        }
    }
}

fn criterion(package: &str, targets: &[&str], arguments: &[OsString]) -> anyhow::Result<Outcome> {
    let mut bench = cargo();
    bench.args(["bench", "--package", package]).args(targets);
    process::pass_through(bench.arg("--").args(arguments), Limit::NONE)
}

fn passed_on(arguments: &[OsString], workspace: &std::ffi::OsStr) -> Vec<OsString> {
    let with_workspace = |argument: &OsString| {
        let workspace = (argument == WRITE).then(|| workspace.to_owned());
        std::iter::once(argument.clone()).chain(workspace)
    };
    arguments.iter().flat_map(with_workspace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_gets_the_workspace() {
        let words = ["--rounds", "3", "--write"].map(OsString::from);
        assert_eq!(
            passed_on(&words, "root".as_ref()),
            ["--rounds", "3", "--write", "root"]
        );
    }
}
