//! Members built apart from the others, in steps of their own: those on DataFusion.
//!
//! Cargo unites the features of all packages in one command. DataFusion enables features of Arrow,
//! Parquet and tokio, so the other members would be tested with features that they do not ask for,
//! and each command would compile 300 packages more. Commands with `--workspace` leave these
//! members out. One command for all of these members compiles DataFusion once.

use crate::process::{self, Limit, cargo};

/// Names of these members, smaller trees first.
pub(crate) const APART: &[&str] = &["windlass-datafusion", "windlass-ballista", "windlass-server"];

/// Smaller feature sets of these members, each linted alone.
const DEPTHS: &[(&str, &[&str])] = &[("windlass-datafusion", &["hook", "plan", "session"])];

/// Arguments that name all members but [`APART`].
pub(crate) fn all_others() -> impl Iterator<Item = &'static str> {
    let excluded = APART.iter().flat_map(|name| ["--exclude", name]);
    std::iter::once("--workspace").chain(excluded)
}

/// Arguments that name these members.
pub(crate) fn these() -> impl Iterator<Item = &'static str> {
    APART.iter().flat_map(|name| ["--package", name])
}

/// Lints these members with all targets, and the library of each with its smaller feature sets.
/// Returns whether all pass.
pub(crate) fn lint(limit: Limit) -> anyhow::Result<bool> {
    let mut all = cargo();
    all.arg("clippy").args(these()).arg("--all-targets");
    let mut commands = vec![all];
    for (name, depths) in DEPTHS {
        for features in *depths {
            let mut smaller = cargo();
            smaller.args([
                "clippy",
                "--package",
                name,
                "--lib",
                "--no-default-features",
                "--features",
                features,
            ]);
            commands.push(smaller);
        }
    }
    let mut passed = true;
    for command in &mut commands {
        command.args(["--", "-D", "warnings"]);
        passed &= process::run(command, limit)?.success();
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn every_member_apart_is_left_out_of_the_others_and_exists() {
        let others: Vec<_> = all_others().collect();
        assert_eq!(others[..3], ["--workspace", "--exclude", "windlass-datafusion"]);
        let workspace = Workspace::load().unwrap();
        for name in APART {
            assert!(
                workspace.packages.iter().any(|package| package.name == *name),
                "{name}"
            );
        }
    }

    #[test]
    fn no_other_member_depends_on_one_apart() {
        let workspace = Workspace::load().unwrap();
        for package in &workspace.packages {
            let inside = APART.contains(&package.name.as_str());
            let apart = package
                .dependencies
                .iter()
                .find(|dependency| APART.contains(&dependency.name.as_str()));
            assert!(inside || apart.is_none(), "{} depends on {apart:?}", package.name);
        }
    }
}
