//! The members that are built apart from the others, each in a step of its own.
//!
//! Cargo unites the features of all packages that one command builds. DataFusion switches on features of Arrow,
//! Parquet and tokio, so in one build with it the other members would be tested with features that they do not ask
//! for, and every command would compile some 200 packages more. Commands that say `--workspace` leave these out.

use std::ffi::OsString;

use crate::outside;
use crate::process::{self, Limit, cargo};
use crate::workspace::Workspace;

/// Names of the members, those with the smaller trees first.
pub(crate) const APART: &[&str] = &["windlass-datafusion"];

/// The members with an example in their README, and the package beside them that the example uses.
const EXAMPLES: &[(&str, &str)] = &[("windlass-datafusion", "datafusion")];

/// The smaller sets of features that each of these members offers beside its default: what a user gets who asks for
/// one of them alone.
const DEPTHS: &[(&str, &[&str])] = &[("windlass-datafusion", &["hook", "plan"])];

/// The arguments that name all members but [`APART`].
pub(crate) fn all_others() -> impl Iterator<Item = &'static str> {
    let excluded = APART.iter().flat_map(|name| ["--exclude", name]);
    std::iter::once("--workspace").chain(excluded)
}

/// Lints a member with its default features and all targets, and its library with each smaller set of features.
/// Returns whether all is well.
///
/// # Errors
///
/// When cargo cannot be run, or was ended because the limit was over.
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

/// The command that runs a member's tests, in its default features.
pub(crate) fn tests(member: &str) -> Vec<OsString> {
    ["test", "--package", member, "--no-fail-fast"]
        .map(OsString::from)
        .to_vec()
}

/// Builds and runs the example in a member's README outside the workspace, if it has one.
///
/// # Errors
///
/// When the example does not build or run, or when the limit was over.
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
