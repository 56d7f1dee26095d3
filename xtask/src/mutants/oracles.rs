//! Each oracle of the simulator is needed: it has a bug whose failing runs it alone reports, and
//! which survives when the oracle is silenced.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::bug::{Bug, ONLY_ORACLES};
use super::swarm::failing_runs;
use crate::table;
use crate::workspace::Workspace;

/// Seeds for each half of the test.
const SEEDS: u64 = 2_000;

#[derive(Debug)]
pub(super) struct OnlyTable(Vec<Only>);

#[derive(Debug)]
struct Only {
    oracle: &'static str,
    bug: &'static str,
    /// Failing runs that it reported, and that others reported.
    told: usize,
    others: usize,
    silenced: usize,
}

impl Only {
    fn is_needed(&self) -> bool {
        self.told > 0 && self.others == 0 && self.silenced == 0
    }
}

/// Tests each oracle whose name contains one of `names`, or all.
pub(super) fn table(
    workspace: &Workspace,
    simulator: Option<&Path>,
    names: &[String],
) -> anyhow::Result<OnlyTable> {
    let simulator = simulator.context("the simulator was not built")?;
    let file = workspace.target.join("mutants").join("failures");
    let mut rows = Vec::new();
    for &(oracle, bug) in ONLY_ORACLES {
        if !super::is_named(oracle, names) {
            continue;
        }
        let planted = Bug::of_name(bug).with_context(|| format!("there is no bug `{bug}`"))?;
        let runs = failing_runs(simulator, planted, (0, SEEDS), None, &file)?;
        let told = runs
            .iter()
            .filter(|run| run.split(' ').next() == Some(oracle))
            .count();
        let silenced = failing_runs(simulator, planted, (0, SEEDS), Some(oracle), &file)?;
        rows.push(Only {
            oracle,
            bug,
            told,
            others: runs.len() - told,
            silenced: silenced.len(),
        });
    }
    ensure!(!rows.is_empty(), "no oracle is called `{}`", names.join("`, `"));
    Ok(OnlyTable(rows))
}

impl std::fmt::Display for Only {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Only {
            oracle,
            bug,
            told,
            others,
            silenced,
        } = self;
        write!(f, "| {oracle} | `{bug}` | {told} | {others} | {silenced} |")
    }
}

impl OnlyTable {
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        let unneeded = self.0.iter().filter(|only| !only.is_needed());
        unneeded.map(|only| format!("`{}` is not the only one that tells {}", only.oracle, only.bug))
    }

    pub(super) fn print(&self) {
        let row = |only: &Only| {
            [
                only.oracle.to_owned(),
                only.bug.to_owned(),
                only.told.to_string(),
                only.others.to_string(),
                only.silenced.to_string(),
            ]
        };
        let rows: Vec<_> = self.0.iter().map(row).collect();
        println!();
        table::print(
            ["oracle", "planted bug", "told", "told by others", "silenced"],
            &rows,
        );
    }

    /// Merges the rows into the document's table. Oracles that were not tested keep theirs.
    pub(super) fn merged_into(&self, old: &str) -> String {
        let mut text = format!(
            "| oracle | planted bug | failing runs of {SEEDS} that it tells | that others tell | with it silenced |\n|---|---|---|---|---|\n"
        );
        for &(name, _) in ONLY_ORACLES {
            let stood = old.lines().find(|line| line.starts_with(&format!("| {name} | ")));
            let row = match self.0.iter().find(|only| only.oracle == name) {
                Some(only) => only.to_string(),
                None => stood.unwrap_or_default().to_owned(),
            };
            if !row.is_empty() {
                let _ = writeln!(text, "{row}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oracle_is_needed_if_it_tells_all_and_nobody_else_would() {
        let only = |told, others, silenced| Only {
            oracle: "gate",
            bug: "m36_lost_race_is_refusal",
            told,
            others,
            silenced,
        };
        assert!(only(3, 0, 0).is_needed());
        assert!(!only(0, 0, 0).is_needed(), "the bug survives anyway");
        assert!(!only(3, 1, 0).is_needed());
        assert!(!only(3, 0, 1).is_needed());
        let old =
            "| count | `m44` | 9 | 0 | 0 |\n| gate | `m00` | 1 | 1 | 1 |\n| gone | `m00` | 1 | 1 | 1 |\n";
        let text = OnlyTable(vec![only(3, 0, 0)]).merged_into(old);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(rows[0], "| count | `m44` | 9 | 0 | 0 |", "it was not asked about");
        assert_eq!(rows[1..], ["| gate | `m36_lost_race_is_refusal` | 3 | 0 | 0 |"]);
    }
}
