//! `cargo xtask ci [--quick]`: every check of a change in one command, with a table at the end.
//!
//! ```text
//! fmt ──► clippy ──► tidy ──► docs ──► tests ──► loom ──► sim ──► exhaustive ──► recorded ──► planted bugs ──► patches ──► outside
//!                                  ──► a step for each member that is built apart                                                  all
//! fmt ──► clippy ──► tidy ──► tests of the small crates                                                                      --quick
//! ```
//!
//! A failed step does not stop the next. Each step and the run have limits, generous for two cores
//! and a cold build.

mod test_count;

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::bail;

use self::test_count::TestCount;
use crate::mutants;
use crate::process::{self, Limit, OverLimit, cargo};
use crate::sim::SwarmReport;
use crate::usage::{self, Outcome};
use crate::workspace::Workspace;
use crate::{apart, docs, loom, outside, record, sim, table, tidy};

/// Crates tested by a quick run: those that build without the columns.
const SMALL: &[&str] = &[
    "executor-core",
    "injector",
    "executor-threaded",
    "pipeline-exec",
    "sim",
    "recorded",
    "xtask",
];

const RUN: Duration = minutes(85);

/// Builds included.
const TESTS: Duration = minutes(30);
const SMALL_TESTS: Duration = minutes(10);

/// Limit for a cold build of a member's tree.
const APART: Duration = minutes(50);

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let [quick] = usage::flags(arguments, ["quick"])?;
    require("fmt", "rustfmt")?;
    require("clippy", "clippy")?;
    let workspace = Workspace::load()?;
    let mut ci = Ci::new();
    ci.step("fmt", minutes(2), |limit| {
        plain(
            cargo().args(["fmt", "--all", "--check"]),
            limit,
            "formatting of all members",
        )
    });
    ci.step("clippy", minutes(15), |limit| clippy(&workspace, limit));
    ci.step("tidy", minutes(1), |_limit| {
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
            "tests",
            SMALL_TESTS,
            cargo()
                .args(["test", "--no-fail-fast", "--lib", "--bins", "--tests"])
                .args(small),
        );
    } else {
        ci.step("docs", minutes(15), |limit| {
            let passed = docs::build(false, limit)? == Outcome::Passed;
            Ok(Step {
                passed,
                ran: "rustdoc of all members and features, warnings denied".to_owned(),
            })
        });
        ci.tests(
            "tests",
            TESTS,
            cargo().args(["test", "--no-fail-fast"]).args(apart::all_others()),
        );
        ci.step("loom", minutes(20), |limit| {
            let report = loom::check(&workspace, None, limit)?;
            report.print();
            Ok(Step {
                passed: report.is_closed(),
                ran: report.summary(),
            })
        });
        ci.step("sim", minutes(10), |limit| swarm(&workspace, limit));
        ci.step("exhaustive", minutes(10), |limit| exhaustive(&workspace, limit));
        ci.step("recorded", minutes(10), |limit| recorded(&workspace, limit));
        ci.step("planted bugs", minutes(15), |limit| {
            let report = mutants::patched::canaries(&workspace, limit)?;
            Ok(Step {
                passed: report.passed(),
                ran: report.summary(),
            })
        });
        ci.step("patches", minutes(10), |limit| {
            let compiled = mutants::patched::compile::compile(&workspace, limit)?;
            Ok(Step {
                passed: compiled.passed(),
                ran: compiled.summary(),
            })
        });
        ci.step("outside", minutes(15), |limit| {
            let report = outside::check(&workspace, limit)?;
            report.print();
            Ok(Step {
                passed: report.passed(),
                ran: report.summary(),
            })
        });
        for member in apart::APART {
            ci.apart(&workspace, member);
        }
    }
    Ok(ci.finish())
}

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}

struct Step {
    passed: bool,
    ran: String,
}

#[derive(Debug)]
struct Ci {
    until: Instant,
    rows: Vec<[String; 4]>,
    failed: Vec<&'static str>,
    tests: TestCount,
}

impl Ci {
    fn new() -> Ci {
        Ci {
            until: Instant::now() + RUN,
            rows: Vec::new(),
            failed: Vec::new(),
            tests: TestCount::none(),
        }
    }

    fn step(
        &mut self,
        name: &'static str,
        limit: Duration,
        body: impl FnOnce(Limit) -> anyhow::Result<Step>,
    ) {
        eprintln!("\n=== {name}");
        let started = Instant::now();
        let left = self.until.saturating_duration_since(started);
        let step = body(Limit::of(limit.min(left))).unwrap_or_else(|error| {
            eprintln!("xtask: {name}: {error:#}");
            let stopped = if error.is::<OverLimit>() { "" } else { "stopped: " };
            Step {
                passed: false,
                ran: format!("{stopped}{error:#}"),
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

    fn apart(&mut self, workspace: &Workspace, member: &'static str) {
        self.step(member, APART, |limit| {
            let linted = apart::lint(member, limit)?;
            let documented = docs::build_member(member, limit)? == Outcome::Passed;
            Ok(Step {
                passed: linted && documented,
                ran: "clippy with each set of features, rustdoc, warnings denied".to_owned(),
            })
        });
        self.tests(member, APART, cargo().args(apart::tests(member)));
        self.step(member, APART, |limit| {
            apart::example(workspace, member, limit)?;
            Ok(Step {
                passed: true,
                ran: "the example of its README, outside the workspace".to_owned(),
            })
        });
    }

    fn tests(&mut self, name: &'static str, limit: Duration, command: &mut Command) {
        let mut count = TestCount::default();
        self.step(name, limit, |limit| {
            let status = match process::run_reading(command, limit, |line| count.read(line)) {
                Err(error) if error.is::<OverLimit>() => {
                    return Ok(Step {
                        passed: false,
                        ran: format!("{error}{}", count.unended()),
                    });
                }
                status => status?,
            };
            count.succeeded = status.success();
            Ok(Step {
                passed: status.success(),
                ran: count.summary(),
            })
        });
        self.tests.add(count);
    }

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

fn plain(command: &mut Command, limit: Limit, ran: &str) -> anyhow::Result<Step> {
    Ok(Step {
        passed: process::run(command, limit)?.success(),
        ran: ran.to_owned(),
    })
}

fn clippy(workspace: &Workspace, limit: Limit) -> anyhow::Result<Step> {
    let mut command = cargo();
    command.arg("clippy").args(apart::all_others());
    command.args(["--all-targets", "--all-features", "--", "-D", "warnings"]);
    let all = process::run(&mut command, limit)?;
    let models = process::run(&mut loom::clippy(workspace)?, limit)?;
    Ok(Step {
        passed: all.success() && models.success(),
        ran: "all targets and features of all members, and the loom models, warnings denied".to_owned(),
    })
}

fn swarm(workspace: &Workspace, limit: Limit) -> anyhow::Result<Step> {
    let mut report = SwarmReport::default();
    let status = process::run_reading(&mut sim::command(workspace)?, limit, |line| report.read(line))?;
    Ok(Step {
        passed: status.success(),
        ran: report.summary(),
    })
}

fn exhaustive(workspace: &Workspace, limit: Limit) -> anyhow::Result<Step> {
    last_line(sim::command(workspace)?.arg("--exhaustive"), limit)
}

/// Recorded runs on threads; runs with a planted bug, one of which must be rejected.
fn recorded(workspace: &Workspace, limit: Limit) -> anyhow::Result<Step> {
    let sound = last_line(&mut record::command(workspace)?, limit)?;
    let planted = last_line(&mut record::planted(workspace, record::COUNT_BUG)?, limit)?;
    Ok(Step {
        passed: sound.passed && planted.passed,
        ran: format!("{}; {}: {}", sound.ran, record::COUNT_BUG, planted.ran),
    })
}

fn last_line(command: &mut Command, limit: Limit) -> anyhow::Result<Step> {
    let mut last = String::new();
    let status = process::run_reading(command, limit, |line| line.trim().clone_into(&mut last))?;
    Ok(Step {
        passed: status.success(),
        ran: last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_stops_fails_and_the_next_one_still_runs() {
        let mut ci = Ci::new();
        ci.step("first", minutes(1), |_| bail!("nothing to run"));
        ci.step("second", minutes(1), |_| {
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

    #[cfg(unix)]
    #[test]
    fn a_step_over_its_limit_fails_says_so_and_the_next_one_still_runs() {
        let mut ci = Ci::new();
        ci.step("spins", Duration::ZERO, |limit| {
            plain(Command::new("sleep").arg("30"), limit, "sleep")
        });
        ci.step("second", minutes(1), |limit| {
            plain(Command::new("true").arg("second"), limit, "all")
        });
        assert_eq!(ci.failed, ["spins"]);
        assert_eq!(
            (ci.rows[0][1].as_str(), ci.rows[0][3].as_str()),
            ("FAILED", "stopped after 0 s, in `sleep 30`")
        );
        assert_eq!(ci.rows[1][1], "ok");
    }

    #[cfg(unix)]
    #[test]
    fn a_step_has_no_longer_than_what_is_left_of_the_run() {
        let mut ci = Ci::new();
        ci.until = Instant::now();
        ci.step("late", minutes(1), |limit| {
            plain(Command::new("sleep").arg("30"), limit, "sleep")
        });
        assert_eq!(ci.rows[0][1], "FAILED");
    }
}
