//! The swarm of a patched simulator: the oracle that fails a run, and after how many schedules.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::process::{self, Limit, OverLimit};

const SCHEDULES: u64 = 20_000;

/// Limit of a run's steps: the longest of 20,000 healthy runs has 407,000.
pub(super) const STEPS: u64 = 600_000;

/// A patched simulator may hang in a loop without a shared operation.
const SWARM: Duration = Duration::from_secs(120);

/// Longer, because each failing run may take all its steps.
const ALL_RUNS: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    By { oracle: String, schedule: u64 },
    Nothing,
    Hang,
    Crash(String),
}

pub(super) fn first_failure(simulator: &Path, twice: bool) -> anyhow::Result<Found> {
    let mut command = command(simulator, (0, SCHEDULES), twice);
    let output = match process::silent_output(&mut command, Limit::of(SWARM)) {
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

/// Lines of the failing runs, each beginning with its oracle. The second of `seeds` is their
/// number. They stay in `file`.
pub(super) fn failing_runs(
    simulator: &Path,
    seeds: (u64, u64),
    twice: bool,
    silenced: Option<&str>,
    file: &Path,
) -> anyhow::Result<Vec<String>> {
    let mut command = command(simulator, seeds, twice);
    command.arg("--failures").arg(file);
    if let Some(oracle) = silenced {
        command.args(["--silence", oracle]);
    }
    let output = process::silent_output(&mut command, Limit::of(ALL_RUNS))?;
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "the simulator ended with {}",
        output.status
    );
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn command(simulator: &Path, (base, schedules): (u64, u64), twice: bool) -> Command {
    let mut command = Command::new(simulator);
    command.args(["--expect-failure", "--steps", &STEPS.to_string()]);
    command.args(["--seeds", &schedules.to_string()]);
    command.args(["--seed-base", &base.to_string()]);
    if twice {
        command.arg("--twice");
    }
    let folder = simulator.parent().unwrap_or(Path::new(".")).join("choices");
    command.arg("--out").arg(folder);
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
    fn the_last_line_names_the_oracle_and_the_schedule() {
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
}
