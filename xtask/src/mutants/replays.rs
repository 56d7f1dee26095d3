//! Failing runs of all bugs that the simulator finds, replayed from their lines: the same trace in
//! another build and process.

use std::path::Path;
use std::process::Command;

use super::bug::{BUGS, Bug, Hint};
use super::build::{plant, simulator};
use super::swarm::failing_runs;
use super::verdict::limit;
use crate::process::{self, Limit};
use crate::table;
use crate::workspace::Workspace;

/// Fewest failing runs to replay.
const RUNS: usize = 1_000;

/// Most runs of one bug; bugs that fail seldom give fewer.
const RUNS_OF_ONE: usize = 40;

/// Seeds per batch, and in all, for one bug.
const SEEDS_AT_ONCE: u64 = 200;
const SEEDS_MAX: u64 = 4_000;

/// Seconds of one bug's replays in a debug build.
const REPLAY_SECONDS: u64 = 300;

/// Collects runs, replays them in both builds and prints the count. Returns whether all were equal.
pub(super) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    super::bug::check_lists(workspace)?;
    let release = simulator(workspace, true, Limit::NONE)?;
    let debug = simulator(workspace, false, Limit::NONE)?;
    let folder = workspace.target.join("mutants").join("replays");
    std::fs::create_dir_all(&folder)?;
    let mut rows = Vec::new();
    let mut totals = [0; 3];
    for bug in BUGS.iter().filter(|bug| is_replayable(**bug)) {
        let lines = collect(&release, *bug, &folder)?;
        if lines.is_empty() {
            continue;
        }
        let file = folder.join(bug.name);
        std::fs::write(&file, lines.concat())?;
        let same = [&release, &debug].map(|program| replay(program, *bug, &file));
        let [release, debug] = same;
        let counts = [lines.len(), release?, debug?];
        totals
            .iter_mut()
            .zip(counts)
            .for_each(|(total, count)| *total += count);
        rows.push([
            bug.name.to_owned(),
            counts[0].to_string(),
            counts[1].to_string(),
            counts[2].to_string(),
        ]);
    }
    println!();
    table::print(
        [
            "planted bug",
            "failing runs",
            "again in release",
            "again in debug",
        ],
        &rows,
    );
    let [all, release, debug] = totals;
    println!("replayed of {all} failing runs: {release} in release, {debug} in debug");
    Ok(all >= RUNS && release == all && debug == all)
}

/// The process-wide bug cannot be replayed from a line: that is its fault.
fn is_replayable(bug: Bug) -> bool {
    bug.hint != Hint::Twice && !bug.is_invisible_to_the_simulator()
}

fn collect(release: &Path, bug: Bug, folder: &Path) -> anyhow::Result<Vec<String>> {
    let file = folder.join("collected");
    let mut lines = Vec::new();
    let mut base = 0;
    while lines.len() < RUNS_OF_ONE && base < SEEDS_MAX {
        let runs = failing_runs(release, bug, (base, SEEDS_AT_ONCE), None, &file)?;
        lines.extend(runs.into_iter().map(|line| line + "\n"));
        base += SEEDS_AT_ONCE;
    }
    lines.truncate(RUNS_OF_ONE);
    Ok(lines)
}

fn replay(program: &Path, bug: Bug, file: &Path) -> anyhow::Result<usize> {
    let mut command = Command::new(program);
    command.arg("--replay-all").arg(file);
    plant(&mut command, Some(bug));
    let output = process::silent_output(&mut command, limit(REPLAY_SECONDS))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = said.lines().last().unwrap_or_default();
    let same = last
        .strip_prefix("replayed ")
        .and_then(|rest| rest.split(' ').next()?.parse().ok());
    if !output.status.success() {
        println!("{} in {}:\n{said}", bug.name, program.display());
    }
    Ok(same.unwrap_or(0))
}
