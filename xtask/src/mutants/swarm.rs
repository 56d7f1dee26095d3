//! The simulator's swarm in a build with a bug: the oracle that fails, and after how many
//! schedules.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::bug::{Bug, Hint};
use super::build::plant;
use super::verdict::{Verdict, limit};
use crate::process::{self, OverLimit};

/// Seed bases of the matrix, and schedules from each.
const BASES: u64 = 11;
const SCHEDULES: u64 = 1_000;

/// Schedules for a bug that the bases did not find, and for bugs that the simulator cannot see.
const SCHEDULES_IN_VAIN: u64 = 20_000;

/// Steps above which a run has failed: no healthy run of the swarm has as many.
const STEPS: u64 = 2_000_000;

/// As above, for seeds from 0: the longest of their 20,000 healthy runs has 407,000 steps. Bugs
/// found only by this limit fail sooner.
pub(super) const STEPS_FROM_0: u64 = 600_000;

/// Seconds of a swarm, which may hang in a loop without a shared operation.
const SWARM_SECONDS: u64 = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    By { oracle: String, schedule: u64 },
    Nothing,
    Hang,
    Crash(String),
}

/// Runs the swarm from several seed bases; `quick`: from one.
pub(super) fn run(simulator: &Path, bug: Option<Bug>, quick: bool) -> anyhow::Result<Verdict> {
    let bases = if quick { 1 } else { BASES };
    let schedules = if quick { SCHEDULES_IN_VAIN } else { SCHEDULES };
    let mut oracles = BTreeSet::new();
    let mut counts = Vec::new();
    if bug.is_some_and(|bug| !bug.is_invisible_to_the_simulator()) || quick {
        for base in 0..bases {
            match first_failure(simulator, bug, base * 1_000_000, schedules)? {
                Found::By { oracle, schedule } => {
                    oracles.insert(format!("`{oracle}`"));
                    counts.push(schedule);
                }
                Found::Nothing => {}
                Found::Hang => return Ok(Verdict::killed("hang".to_owned())),
                Found::Crash(status) => return Ok(Verdict::killed(format!("crash: {status}"))),
            }
        }
    }
    if counts.is_empty() {
        return Ok(
            match first_failure(simulator, bug, bases * 1_000_000, SCHEDULES_IN_VAIN)? {
                Found::By { oracle, schedule } => {
                    Verdict::killed(format!("`{oracle}` {schedule} (of {SCHEDULES_IN_VAIN})"))
                }
                Found::Nothing => Verdict::survived(format!("{SCHEDULES_IN_VAIN} schedules")),
                Found::Hang => Verdict::killed("hang".to_owned()),
                Found::Crash(status) => Verdict::killed(format!("crash: {status}")),
            },
        );
    }
    let oracles = oracles.into_iter().collect::<Vec<_>>().join(", ");
    let found = counts.len();
    Ok(Verdict::killed(format!(
        "{oracles} {} ({found}/{bases})",
        median(counts, bases as usize)
    )))
}

/// Median over all bases; those that found nothing count as the longest.
fn median(mut counts: Vec<u64>, bases: usize) -> String {
    counts.sort_unstable();
    match counts.get(bases / 2) {
        Some(count) => count.to_string(),
        None => format!("> {SCHEDULES}"),
    }
}

fn first_failure(simulator: &Path, bug: Option<Bug>, base: u64, schedules: u64) -> anyhow::Result<Found> {
    found(&mut command(simulator, bug, base, schedules))
}

/// First finding of a patched simulator, from seed 0; `twice`: it makes each run twice.
pub(super) fn of_patched(simulator: &Path, twice: bool) -> anyhow::Result<Found> {
    let mut command = command(simulator, None, 0, SCHEDULES_IN_VAIN);
    if twice {
        command.arg("--twice");
    }
    found(&mut command)
}

fn found(command: &mut Command) -> anyhow::Result<Found> {
    let output = match process::silent_output(command, limit(SWARM_SECONDS)) {
        Err(error) if error.is::<OverLimit>() => return Ok(Found::Hang),
        output => output?,
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = said.lines().last().unwrap_or_default();
    match output.status.code() {
        Some(0 | 1) => Found::read(last).with_context(|| format!("the simulator said `{last}`")),
        _ => Ok(Found::Crash(output.status.to_string())),
    }
}

/// Oracles of all failing runs among `schedules` seeds, with `silenced` silenced; writes the runs'
/// lines to `file`.
pub(super) fn failing_runs(
    simulator: &Path,
    bug: Bug,
    (base, schedules): (u64, u64),
    silenced: Option<&str>,
    file: &Path,
) -> anyhow::Result<Vec<String>> {
    let mut command = command(simulator, Some(bug), base, schedules);
    command.arg("--failures").arg(file);
    if let Some(oracle) = silenced {
        command.args(["--silence", oracle]);
    }
    let output = process::silent_output(&mut command, limit(SWARM_SECONDS))?;
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "the simulator with {} ended with {}",
        bug.name,
        output.status
    );
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn command(simulator: &Path, bug: Option<Bug>, base: u64, schedules: u64) -> Command {
    let mut command = Command::new(simulator);
    let steps = if base == 0 { STEPS_FROM_0 } else { STEPS };
    command.args(["--expect-failure", "--steps", &steps.to_string()]);
    command.args([
        "--seeds",
        &schedules.to_string(),
        "--seed-base",
        &base.to_string(),
    ]);
    if bug.is_some_and(|bug| bug.hint == Hint::Twice) {
        command.arg("--twice");
    }
    let folder = simulator.parent().unwrap_or(Path::new(".")).join("choices");
    command.arg("--out").arg(folder);
    plant(&mut command, bug);
    command
}

impl Found {
    fn read(line: &str) -> Option<Found> {
        if line.starts_with("no failure in ") {
            return Some(Found::Nothing);
        }
        let (_, rest) = line.split_once("as expected: `")?;
        let (oracle, rest) = rest.split_once("` in schedule ")?;
        let schedule = rest.split(' ').next()?.parse().ok()?;
        Some(Found::By {
            oracle: oracle.to_owned(),
            schedule,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_who_spoke_and_when() {
        let line = "failure found, as expected: `gate` in schedule 26 of 1000";
        let found = Found::By {
            oracle: "gate".to_owned(),
            schedule: 26,
        };
        assert_eq!(Found::read(line), Some(found));
        let nothing = "no failure in 1000 schedules, but one was expected";
        assert_eq!(Found::read(nothing), Some(Found::Nothing));
        assert_eq!(Found::read("swarm ok"), None);
    }

    #[test]
    fn bases_that_found_nothing_count_as_longest() {
        assert_eq!(median(vec![9, 1, 5], 3), "5");
        assert_eq!(median(vec![9, 1], 3), "9");
        assert_eq!(median(vec![1], 3), "> 1000");
    }
}
