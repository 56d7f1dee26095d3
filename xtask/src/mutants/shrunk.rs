//! Sizes of shrunk failing runs, for each patch that the simulator finds and over all.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;

use super::page;
use super::patched::each_simulator;
use super::swarm::STEPS;
use crate::process::{self, Limit};
use crate::table;
use crate::workspace::Workspace;

const SEEDS: &str = "300";
const FAILURES: &str = "3";

const TIME: Duration = Duration::from_secs(900);

#[derive(Debug, Clone, PartialEq)]
struct Shrunk {
    steps: [u64; 2],
    switches: [u64; 2],
    seconds: f64,
}

pub(super) fn run(workspace: &Workspace, names: &[String], write: bool) -> anyhow::Result<()> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    each_simulator(workspace, names, |title, simulator| {
        let mut command = Command::new(simulator);
        command.args(["--seeds", SEEDS, "--shrink", "--report", FAILURES]);
        command.args(["--steps", &STEPS.to_string()]);
        command.arg("--out").arg(simulator.with_file_name("choices"));
        let output = process::silent_output(&mut command, Limit::of(TIME))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let shrunk: Vec<Shrunk> = said.lines().filter_map(Shrunk::read).collect();
        if !shrunk.is_empty() {
            println!("{title}: {}", Median::of(&shrunk));
            rows.push((title.to_owned(), shrunk.len(), Median::of(&shrunk)));
            all.extend(shrunk);
        }
        Ok(())
    })?;
    ensure!(!all.is_empty(), "nothing failed, so nothing was made small");
    let whole = Median::of(&all);
    let cells = |name: &str, count: usize, median: &Median| {
        let [steps, switches, seconds] = median.cells();
        [name.to_owned(), count.to_string(), steps, switches, seconds]
    };
    let mut table_rows: Vec<[String; 5]> = rows
        .iter()
        .map(|(name, count, median)| cells(name, *count, median))
        .collect();
    table_rows.push(cells("all", all.len(), &whole));
    println!();
    let head = ["patch", "failures", "steps", "switches", "seconds"];
    table::print(head, &table_rows);
    if write {
        let mut text = format!("| {} |\n|---|---|---|---|---|\n", head.join(" | "));
        for row in &table_rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        page::rewrite(workspace, "shrunk", |_| text)?;
    }
    Ok(())
}

impl Shrunk {
    /// Reads ``shrunk `oracle`: steps 74 -> 19, switches 22 -> 2, 770 runs, 0.01 s``.
    fn read(line: &str) -> Option<Shrunk> {
        let (_, figures) = line.strip_prefix("shrunk `")?.split_once("`: ")?;
        let mut figures = figures.split(", ");
        let mut pair = |name: &str| {
            let (before, after) = figures.next()?.strip_prefix(name)?.split_once(" -> ")?;
            Some([before.trim().parse().ok()?, after.parse().ok()?])
        };
        let (steps, switches) = (pair("steps")?, pair("switches")?);
        let seconds = line.rsplit(", ").next()?.strip_suffix(" s")?.parse().ok()?;
        Some(Shrunk {
            steps,
            switches,
            seconds,
        })
    }
}

/// The median of each figure; of two in the middle, the larger.
#[derive(Debug)]
struct Median(Shrunk);

impl Median {
    fn of(shrunk: &[Shrunk]) -> Median {
        let middle = |figure: &dyn Fn(&Shrunk) -> u64| {
            let mut figures: Vec<u64> = shrunk.iter().map(figure).collect();
            figures.sort_unstable();
            figures[figures.len() / 2]
        };
        Median(Shrunk {
            steps: [middle(&|one| one.steps[0]), middle(&|one| one.steps[1])],
            switches: [middle(&|one| one.switches[0]), middle(&|one| one.switches[1])],
            seconds: middle(&|one| (one.seconds * 1e3) as u64) as f64 / 1e3,
        })
    }

    fn cells(&self) -> [String; 3] {
        let Shrunk {
            steps: [steps_before, steps],
            switches: [switches_before, switches],
            seconds,
        } = &self.0;
        [
            format!("{steps_before} → {steps}"),
            format!("{switches_before} → {switches}"),
            format!("{seconds:.2}"),
        ]
    }
}

impl std::fmt::Display for Median {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [steps, switches, seconds] = self.cells();
        write!(f, "steps {steps}, switches {switches}, {seconds} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_simulator_says_is_read_and_the_middle_one_is_told() {
        let line = "shrunk `lost-wake-up`: steps 74 -> 19, switches 22 -> 2, 770 runs, 0.01 s";
        let one = Shrunk::read(line).unwrap();
        assert_eq!(
            one,
            Shrunk {
                steps: [74, 19],
                switches: [22, 2],
                seconds: 0.01
            }
        );
        let larger = Shrunk {
            steps: [80, 21],
            ..one.clone()
        };
        assert_eq!(
            Median::of(&[one.clone(), larger, one]).to_string(),
            "steps 74 → 19, switches 22 → 2, 0.01 s"
        );
        assert_eq!(
            Shrunk::read("shrunk 6 failures, in the median: steps 74 -> 19"),
            None
        );
    }
}
