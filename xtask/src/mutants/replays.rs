//! Failing runs of patched simulators, replayed from their lines by another process: the same
//! oracle and the same trace.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::patched::each_simulator;
use super::swarm::failing_runs;
use crate::process::{self, Limit};
use crate::table;
use crate::workspace::Workspace;

/// Fewest failing runs if no patch is named.
const RUNS: usize = 1_000;

/// Patches that fail seldom give fewer.
const RUNS_OF_ONE: usize = 40;

const SEEDS_AT_ONCE: u64 = 200;
const SEEDS_MAX: u64 = 4_000;

const TIME: Duration = Duration::from_secs(300);

/// Returns whether all runs were equal.
pub(super) fn run(workspace: &Workspace, names: &[String]) -> anyhow::Result<bool> {
    let mut rows = Vec::new();
    let (mut all, mut same) = (0, 0);
    each_simulator(workspace, names, |title, simulator| {
        let file = simulator.with_file_name("replays");
        let lines = collect(simulator, &file)?;
        if lines.is_empty() {
            return Ok(());
        }
        std::fs::write(&file, lines.concat())?;
        let replayed = replay(title, simulator, &file)?;
        all += lines.len();
        same += replayed;
        rows.push([title.to_owned(), lines.len().to_string(), replayed.to_string()]);
        Ok(())
    })?;
    println!();
    table::print(["patch", "failing runs", "the same again"], &rows);
    println!("replayed of {all} failing runs: {same}");
    Ok(same == all && (all >= RUNS || !names.is_empty()))
}

fn collect(simulator: &Path, file: &Path) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut base = 0;
    while lines.len() < RUNS_OF_ONE && base < SEEDS_MAX {
        let runs = failing_runs(simulator, (base, SEEDS_AT_ONCE), false, None, file)?;
        lines.extend(runs.into_iter().map(|line| line + "\n"));
        base += SEEDS_AT_ONCE;
    }
    lines.truncate(RUNS_OF_ONE);
    Ok(lines)
}

fn replay(title: &str, simulator: &Path, file: &Path) -> anyhow::Result<usize> {
    let mut command = Command::new(simulator);
    command.arg("--replay-all").arg(file);
    let output = process::silent_output(&mut command, Limit::of(TIME))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = said.lines().last().unwrap_or_default();
    let same = last
        .strip_prefix("replayed ")
        .and_then(|rest| rest.split(' ').next()?.parse().ok());
    if !output.status.success() {
        println!("{title}:\n{said}");
    }
    Ok(same.unwrap_or(0))
}
