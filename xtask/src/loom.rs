//! `cargo xtask loom [FILTER]`: every loom model, with its bound, executions and seconds.
//!
//! Models are the tests of `tests/loom/main.rs` in crates with atomics, empty without `--cfg
//! windlass_loom`. A model that closes prints a line ([`ModelRun`]); a model without its line is
//! reported.

pub(crate) mod model;
mod model_run;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Command;
use std::time::Instant;

use anyhow::bail;

use self::model_run::ModelRun;
use crate::process::{self, Limit, cargo};
use crate::table;
use crate::usage::{Misuse, Outcome};
use crate::workspace::Workspace;

pub(crate) const TARGET: &str = "loom";

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let filter = match arguments.as_slice() {
        [] => None,
        [filter] if !filter.to_string_lossy().starts_with('-') => Some(filter.to_string_lossy().into_owned()),
        [first, ..] => {
            let what = format!("loom takes one filter and no options, not `{}`", first.display());
            return Err(Misuse::new(what).into());
        }
    };
    let report = check(&Workspace::load()?, filter.as_deref(), Limit::NONE)?;
    report.print();
    Ok(if report.is_closed() {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

#[derive(Debug)]
pub(crate) struct Report {
    runs: Vec<ModelRun>,
    unclosed: Vec<String>,
    succeeded: bool,
    seconds: f64,
}

pub(crate) fn check(workspace: &Workspace, filter: Option<&str>, limit: Limit) -> anyhow::Result<Report> {
    let listed = list(workspace, filter, limit)?;
    if listed.is_empty() {
        bail!(
            "no loom model matches {}",
            filter.map_or("anything".to_owned(), |filter| format!("`{filter}`"))
        );
    }
    let mut command = models(workspace)?;
    // loom runs a model on one thread, so models run side by side.
    command.arg("--nocapture").args(filter);
    let mut runs = Vec::new();
    let started = Instant::now();
    let status = process::run_reading(&mut command, limit, |line| runs.extend(ModelRun::parse(line)))?;
    Ok(Report::new(
        listed,
        runs,
        status.success(),
        started.elapsed().as_secs_f64(),
    ))
}

fn list(workspace: &Workspace, filter: Option<&str>, limit: Limit) -> anyhow::Result<BTreeSet<String>> {
    let mut command = models(workspace)?;
    let output = process::output(command.args(["--list"]).args(filter), limit)?;
    if !output.status.success() {
        bail!("the loom models do not build");
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = names.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(|path| last_segment(path).to_owned()).collect())
}

pub(crate) fn clippy(workspace: &Workspace) -> anyhow::Result<Command> {
    on_models(workspace, &["clippy"], &["-D", "warnings"])
}

fn models(workspace: &Workspace) -> anyhow::Result<Command> {
    on_models(workspace, &["test", "--release", "--no-fail-fast"], &[])
}

fn on_models(workspace: &Workspace, act: &[&str], rest: &[&str]) -> anyhow::Result<Command> {
    let mut packages = workspace.with_target("test", TARGET).peekable();
    if packages.peek().is_none() {
        bail!("no crate has a test target `{TARGET}`");
    }
    let mut command = cargo();
    command
        .args(act)
        .arg("--target-dir")
        .arg(workspace.target.join("loom"));
    for package in packages {
        command.args(["--package", &package.name]);
    }
    command.args(["--test", TARGET, "--"]).args(rest);
    process::add_rustflags(&mut command, &["--cfg", "windlass_loom"]);
    Ok(command)
}

fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

impl Report {
    fn new(listed: BTreeSet<String>, mut runs: Vec<ModelRun>, succeeded: bool, seconds: f64) -> Report {
        runs.sort_by(|a, b| a.name.cmp(&b.name));
        let closed = |name: &String| runs.iter().any(|run| last_segment(&run.name) == name);
        let unclosed = listed.iter().filter(|name| !closed(name)).cloned().collect();
        Report {
            runs,
            unclosed,
            succeeded,
            seconds,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.unclosed.is_empty() && self.succeeded
    }

    pub(crate) fn summary(&self) -> String {
        let executions: u64 = self.runs.iter().map(|run| run.executions).sum();
        let bounded = self.runs.iter().filter(|run| run.bound != "none").count();
        let mut text = format!(
            "{} models closed ({bounded} bounded), {executions} executions",
            self.runs.len()
        );
        if !self.unclosed.is_empty() {
            text.push_str(&format!(", NOT CLOSED: {}", self.unclosed.join(", ")));
        }
        text
    }

    pub(crate) fn print(&self) {
        let rows: Vec<_> = self.runs.iter().map(ModelRun::row).collect();
        println!();
        table::print(["model", "bound", "executions", "seconds"], &rows);
        for name in &self.unclosed {
            println!("model `{name}` did not close");
        }
        if self.unclosed.is_empty() && !self.succeeded {
            println!("every model closed, yet a test failed; its message is above");
        }
        println!("loom: {} in {:.1} s", self.summary(), self.seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> ModelRun {
        ModelRun {
            name: name.to_owned(),
            bound: "none".to_owned(),
            executions: 7,
            seconds: 0.5,
        }
    }

    #[test]
    fn a_model_that_printed_no_line_is_named() {
        let listed = BTreeSet::from(["close_vs_spawn".to_owned(), "push_vs_park".to_owned()]);
        let report = Report::new(listed, vec![run("close_vs_spawn")], true, 1.0);
        assert!(!report.is_closed());
        assert_eq!(report.unclosed, ["push_vs_park"]);
        assert!(report.summary().contains("NOT CLOSED: push_vs_park"));
    }

    #[test]
    fn a_failed_test_is_a_failure_even_if_all_lines_are_there() {
        let listed = BTreeSet::from(["a".to_owned()]);
        assert!(!Report::new(listed.clone(), vec![run("a")], false, 1.0).is_closed());
        assert!(Report::new(listed, vec![run("word::a")], true, 1.0).is_closed());
    }
}
