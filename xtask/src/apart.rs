//! Members built apart from the others, in steps of their own.
//!
//! Cargo unites the features of all packages in one command: the other members would be tested with
//! features of Arrow, Parquet and tokio that only DataFusion asks for. Commands with `--workspace`
//! leave these members out.

use std::ffi::OsString;

use crate::outside;
use crate::process::{self, Limit, cargo};
use crate::workspace::Workspace;

/// Names of these members, smaller trees first.
pub(crate) const APART: &[&str] = &["windlass-datafusion"];

/// Members with an example in their README, and the package besides them that it uses.
const EXAMPLES: &[(&str, &str)] = &[("windlass-datafusion", "datafusion")];

/// Smaller feature sets of these members, each linted alone.
const DEPTHS: &[(&str, &[&str])] = &[("windlass-datafusion", &["hook", "plan"])];

pub(crate) fn all_others() -> impl Iterator<Item = &'static str> {
    let excluded = APART.iter().flat_map(|name| ["--exclude", name]);
    std::iter::once("--workspace").chain(excluded)
}

/// Also lints the library with each smaller feature set.
pub(crate) fn lint(member: &str, limit: Limit) -> anyhow::Result<bool> {
    let depths = DEPTHS.iter().filter(|(name, _)| *name == member);
    let depths = depths.flat_map(|(_, features)| *features);
    let smaller = depths.map(|features| vec!["--lib", "--no-default-features", "--features", features]);
    let all = std::iter::once(vec!["--all-targets"]).chain(smaller);
    let mut passed = true;
    for targets in all {
        let mut command = cargo();
        command.args(["clippy", "--package", member]).args(targets);
        command.args(["--", "-D", "warnings"]);
        passed &= process::run(&mut command, limit)?.success();
    }
    Ok(passed)
}

pub(crate) fn tests(member: &str) -> Vec<OsString> {
    ["test", "--package", member, "--no-fail-fast"]
        .map(OsString::from)
        .to_vec()
}

/// Runs the example in a member's README outside the workspace, if it has one.
pub(crate) fn example(workspace: &Workspace, member: &'static str, limit: Limit) -> anyhow::Result<()> {
    match EXAMPLES.iter().find(|(name, _)| *name == member) {
        Some((_, engine)) => outside::check_apart(workspace, member, engine, limit),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
