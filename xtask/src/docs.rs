//! `cargo xtask docs [--open]`: rustdoc of the workspace, with warnings as errors.

use std::ffi::OsString;
use std::process::Command;

use crate::apart;
use crate::process::{self, Limit, cargo};
use crate::usage::{self, Outcome};

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let [open] = usage::flags(arguments, ["open"])?;
    build(open, Limit::NONE)
}

/// Without the members built apart; with all features, so that the check sees every item.
pub(crate) fn build(open: bool, limit: Limit) -> anyhow::Result<Outcome> {
    let mut command = cargo();
    command.args(["doc", "--no-deps", "--all-features"]);
    command.args(apart::all_others());
    if open {
        command.arg("--open");
    }
    deny_warnings(command, limit)
}

/// With the examples: documentation of them needs the development dependencies, so that DataFusion
/// has the features with which it was checked for clippy. Otherwise 70 packages are checked again.
pub(crate) fn build_apart(limit: Limit) -> anyhow::Result<Outcome> {
    let mut command = cargo();
    command
        .args(["doc", "--no-deps", "--lib", "--bins", "--examples"])
        .args(apart::these());
    deny_warnings(command, limit)
}

fn deny_warnings(mut command: Command, limit: Limit) -> anyhow::Result<Outcome> {
    let flags = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
    command.env("RUSTDOCFLAGS", format!("{flags} -D warnings").trim());
    process::pass_through(&mut command, limit)
}
