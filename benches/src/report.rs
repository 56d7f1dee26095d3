//! What a workload's run gave: rows of figures, and the verdicts on its targets.

mod machine;
mod markdown;
mod plot;
mod readme;

pub(crate) use readme::write;

use crate::contender::Role;
use crate::target::Verdict;
use crate::workload::{Column, Family, Workload};

/// The table of one workload.
pub(crate) struct Report {
    /// The workload's name.
    pub(crate) name: String,
    /// What was done.
    story: String,
    rounds: usize,
    /// Cores that others kept busy meanwhile.
    others: Option<f64>,
    heads: Vec<&'static str>,
    /// For each column, whether more is better.
    more_is_better: Vec<bool>,
    rows: Vec<Row>,
    verdicts: Vec<Verdict>,
    family: Option<Family>,
}

/// A contender's figures.
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// Whose it is.
    pub(crate) role: Role,
    /// Rounds that it took part in.
    pub(crate) rounds: usize,
    /// A figure for each column.
    pub(crate) figures: Vec<Stats>,
    /// What it measured many times, in all rounds, sorted.
    pub(crate) samples: Vec<f64>,
    /// CPU time of the process by time, over all rounds: how many cores were kept busy. `None` if it was another process.
    pub(crate) cpu_per_wall: Option<f64>,
}

/// The middle of some values, and how far they spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stats {
    /// The upper one of the two in the middle if there are two.
    pub(crate) median: f64,
    /// The least.
    pub(crate) min: f64,
    /// The greatest.
    pub(crate) max: f64,
}

impl Stats {
    /// Of at least one value.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            median: values[values.len() / 2],
            min: values[0],
            max: values[values.len() - 1],
        }
    }
}

impl Report {
    pub(crate) fn new(workload: Workload, rounds: usize, others: Option<f64>, rows: Vec<Row>) -> Self {
        let heads: Vec<&str> = workload.columns.iter().map(Column::head).collect();
        let verdicts = workload
            .targets
            .iter()
            .map(|target| target.judge(&heads, &rows))
            .collect();
        Self {
            name: workload.name,
            story: workload.story,
            rounds,
            others,
            heads,
            more_is_better: workload.columns.iter().map(Column::more_is_better).collect(),
            rows,
            verdicts,
            family: workload.family,
        }
    }

    /// Whether there is anybody to be compared with.
    fn has_peers(&self) -> bool {
        self.rows.iter().any(|row| row.role == Role::Peer)
    }

    /// The best figure of a peer in a column.
    fn best_peer(&self, column: usize) -> Option<f64> {
        let peers = self.rows.iter().filter(|row| row.role == Role::Peer);
        let figures = peers
            .map(|row| row.figures[column].median)
            .filter(|figure| !figure.is_nan());
        if self.more_is_better[column] {
            figures.max_by(f64::total_cmp)
        } else {
            figures.min_by(f64::total_cmp)
        }
    }

    /// The table with its caption, as Markdown.
    pub(crate) fn markdown(&self) -> String {
        markdown::section(self, None)
    }
}

/// A report of one column, with a row of ours and one of a peer.
#[cfg(test)]
fn sample([ours, peer]: [f64; 2]) -> Report {
    let row = |name: &str, role, figure| Row {
        name: name.to_owned(),
        role,
        rounds: 3,
        figures: vec![Stats::of(vec![figure, figure * 1.5, figure / 2.0])],
        samples: Vec::new(),
        cpu_per_wall: Some(2.0),
    };
    Report {
        name: "sample".to_owned(),
        story: "Nothing is done.".to_owned(),
        rounds: 3,
        others: Some(0.5),
        heads: vec!["ns"],
        more_is_better: vec![false],
        rows: vec![row("windlass", Role::Ours, ours), row("rayon", Role::Peer, peer)],
        verdicts: vec![Verdict {
            text: "windlass ≤ rayon".to_owned(),
            met: Some(ours <= peer),
        }],
        family: None,
    }
}
