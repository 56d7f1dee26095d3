//! `cargo xtask bench [FILTER]`: our own micro-benches, then the comparison with others where it is built.

use std::ffi::OsString;

use crate::process::{self, Limit, cargo};
use crate::usage::Outcome;
use crate::workspace::Workspace;

/// Passes the arguments on to both; the first failure ends it.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let workspace = Workspace::load()?;
    let own = process::pass_through(
        cargo()
            .args(["bench", "--package", "benches", "--benches", "--"])
            .args(&arguments),
        Limit::NONE,
    )?;
    if own != Outcome::Passed || workspace.with_target("bin", "compare").next().is_none() {
        return Ok(own);
    }
    process::pass_through(
        cargo()
            .args([
                "run",
                "--release",
                "--package",
                "benches",
                "--bin",
                "compare",
                "--",
            ])
            .args(&arguments),
        Limit::NONE,
    )
}
