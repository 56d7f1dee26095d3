//! `cargo xtask docs [--open]`: rustdoc of the workspace, where a warning is an error.

use std::ffi::OsString;
use std::process::Command;

use crate::apart;
use crate::process::{self, Limit, cargo};
use crate::usage::{self, Outcome};

/// Builds the documentation; the only flag shows it as well.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let [open] = usage::flags(arguments, ["open"])?;
    build(open, Limit::NONE)
}

/// Builds the documentation of all members but those that are built apart, with all features, so that no item hides
/// from the check.
///
/// # Errors
///
/// When cargo cannot be run, or was ended because the limit was over.
pub(crate) fn build(open: bool, limit: Limit) -> anyhow::Result<Outcome> {
    let mut command = cargo();
    command.args(["doc", "--no-deps", "--all-features"]);
    command.args(apart::all_others());
    if open {
        command.arg("--open");
    }
    deny_warnings(command, limit)
}

/// Builds the documentation of one member that is built apart, in its default features.
///
/// # Errors
///
/// As [`build`].
pub(crate) fn build_member(member: &str, limit: Limit) -> anyhow::Result<Outcome> {
    let mut command = cargo();
    command.args(["doc", "--no-deps", "--package", member]);
    deny_warnings(command, limit)
}

fn deny_warnings(mut command: Command, limit: Limit) -> anyhow::Result<Outcome> {
    let flags = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
    command.env("RUSTDOCFLAGS", format!("{flags} -D warnings").trim());
    process::pass_through(&mut command, limit)
}
