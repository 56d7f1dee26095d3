//! `cargo xtask ci [--quick]`: everything that a change must pass, in one command, with a table at the end.
//!
//! ```text
//! fmt ─► clippy ─► tidy ─► docs ─► tests ─► loom ─► sim ─► planted bugs ─► outside        all
//! fmt ─► clippy ─► tidy ─► tests of the small crates                                      --quick
//! ```
//!
//! A step that fails does not stop the next: one run shows everything that is wrong. Cheap steps come first. The last
//! lines are the sum of what the test runner counted.

mod test_count;

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::bail;

use self::test_count::TestCount;
use crate::mutants::MUTANTS;
use crate::process::{self, cargo};
use crate::sim::SwarmReport;
use crate::usage::{self, Outcome};
use crate::workspace::Workspace;
use crate::{docs, loom, outside, sim, table, tidy};

/// The crates whose tests a quick run includes: those that build without the columns.
const SMALL: &[&str] = &[
    "executor-core",
    "executor-threaded",
    "pipeline-exec",
    "sim",
    "xtask",
];

/// Runs all steps, or the quick ones.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let [quick] = usage::flags(arguments, ["quick"])?;
    require("fmt", "rustfmt")?;
    require("clippy", "clippy")?;
    let workspace = Workspace::load()?;
    let mut ci = Ci::default();
    ci.step("fmt", || {
        plain(
            cargo().args(["fmt", "--all", "--check"]),
            "formatting of all members",
        )
    });
    ci.step("clippy", clippy);
    ci.step("tidy", || {
        let report = tidy::check(&workspace)?;
        report.print();
        Ok(Step {
            passed: report.is_tidy(),
            ran: report.summary(),
        })
    });
    if quick {
        let small = SMALL
            .iter()
            .flat_map(|name| ["--package", name])
            .collect::<Vec<_>>();
        ci.tests(
            cargo()
                .args(["test", "--no-fail-fast", "--lib", "--bins", "--tests"])
                .args(small),
        );
    } else {
        ci.step("docs", || {
            let passed = docs::run(Vec::new())? == Outcome::Passed;
            Ok(Step {
                passed,
                ran: "rustdoc of all members and features, warnings denied".to_owned(),
            })
        });
        ci.tests(cargo().args(["test", "--workspace", "--no-fail-fast"]));
        ci.step("loom", || {
            let report = loom::check(&workspace, None)?;
            report.print();
            Ok(Step {
                passed: report.is_closed(),
                ran: report.summary(),
            })
        });
        ci.step("sim", || swarm(&workspace));
        for mutant in MUTANTS {
            ci.step(mutant.step, || {
                let verdict = mutant.check(&workspace)?;
                Ok(Step {
                    passed: verdict.killed,
                    ran: mutant.summary(&verdict),
                })
            });
        }
        ci.step("outside", || {
            let report = outside::check(&workspace)?;
            report.print();
            Ok(Step {
                passed: report.passed(),
                ran: report.summary(),
            })
        });
    }
    Ok(ci.finish())
}

/// What a step found.
struct Step {
    passed: bool,
    ran: String,
}

/// A run in progress.
#[derive(Debug, Default)]
struct Ci {
    rows: Vec<[String; 4]>,
    failed: Vec<&'static str>,
    tests: TestCount,
}

impl Ci {
    /// Runs one step; whatever stops it is its failure, not that of the run.
    fn step(&mut self, name: &'static str, body: impl FnOnce() -> anyhow::Result<Step>) {
        eprintln!("\n=== {name}");
        let started = Instant::now();
        let step = body().unwrap_or_else(|error| {
            eprintln!("xtask: {name}: {error:#}");
            Step {
                passed: false,
                ran: format!("stopped: {error:#}"),
            }
        });
        let seconds = format!("{:.1}", started.elapsed().as_secs_f64());
        let result = if step.passed { "ok" } else { "FAILED" };
        if !step.passed {
            self.failed.push(name);
        }
        let ran = step.ran.lines().next().unwrap_or_default().to_owned();
        self.rows.push([name.to_owned(), result.to_owned(), seconds, ran]);
    }

    fn tests(&mut self, command: &mut Command) {
        let mut count = TestCount::default();
        self.step("tests", || {
            let status = process::run_reading(command, |line| count.read(line))?;
            count.succeeded = status.success();
            Ok(Step {
                passed: status.success(),
                ran: count.summary(),
            })
        });
        self.tests = count;
    }

    /// Prints the table and, last, what the test runner counted.
    fn finish(self) -> Outcome {
        println!();
        table::print(["step", "result", "seconds", "what ran"], &self.rows);
        println!();
        if !self.failed.is_empty() {
            println!("ci: FAILED: {}", self.failed.join(", "));
        }
        println!("{}", self.tests.closing_line());
        println!("{}", self.tests.total());
        if self.failed.is_empty() {
            Outcome::Passed
        } else {
            Outcome::Failed
        }
    }
}

/// Fails early, and with the remedy, if a part of the toolchain is not installed.
fn require(subcommand: &str, component: &str) -> anyhow::Result<()> {
    let quiet = cargo()
        .args([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !quiet.is_ok_and(|status| status.success()) {
        bail!("`cargo {subcommand}` is missing, install it: rustup component add {component}");
    }
    Ok(())
}

fn plain(command: &mut Command, ran: &str) -> anyhow::Result<Step> {
    Ok(Step {
        passed: process::run(command)?.success(),
        ran: ran.to_owned(),
    })
}

fn clippy() -> anyhow::Result<Step> {
    let mut command = cargo();
    command.args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]);
    plain(
        &mut command,
        "all targets and features of all members, warnings denied",
    )
}

/// The simulator's swarm; its own table stays on the screen, what matters of it goes into ours.
fn swarm(workspace: &Workspace) -> anyhow::Result<Step> {
    let mut report = SwarmReport::default();
    let status = process::run_reading(&mut sim::command(workspace)?, |line| report.read(line))?;
    Ok(Step {
        passed: status.success(),
        ran: report.summary(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_stops_fails_and_the_next_one_still_runs() {
        let mut ci = Ci::default();
        ci.step("first", || bail!("nothing to run"));
        ci.step("second", || {
            Ok(Step {
                passed: true,
                ran: "all".to_owned(),
            })
        });
        assert_eq!(ci.failed, ["first"]);
        assert_eq!(
            (ci.rows[0][1].as_str(), ci.rows[0][3].as_str()),
            ("FAILED", "stopped: nothing to run")
        );
        assert_eq!(ci.rows[1][1], "ok");
        assert_eq!(ci.finish(), Outcome::Failed);
    }
}
