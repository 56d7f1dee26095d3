//! `cargo xtask docs [--open]`: rustdoc of the whole workspace, where a warning is an error.

use std::ffi::OsString;

use crate::process::{self, Limit, cargo};
use crate::usage::{self, Outcome};

/// Builds the documentation; the only flag shows it as well.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let [open] = usage::flags(arguments, ["open"])?;
    build(open, Limit::NONE)
}

/// Builds the documentation with all features, so that no item hides from the check.
///
/// # Errors
///
/// When cargo cannot be run, or was ended because the limit was over.
pub(crate) fn build(open: bool, limit: Limit) -> anyhow::Result<Outcome> {
    let mut command = cargo();
    command.args(["doc", "--workspace", "--no-deps", "--all-features"]);
    if open {
        command.arg("--open");
    }
    let flags = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
    command.env("RUSTDOCFLAGS", format!("{flags} -D warnings").trim());
    process::pass_through(&mut command, limit)
}
