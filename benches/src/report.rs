//! The result of a workload's run: rows of figures, and the verdicts on its targets.

mod markdown;
pub(crate) mod page;

use crate::contender::Role;
use crate::stats::Stats;
use crate::target::Verdict;
use crate::workload::{Column, Family, Workload};

pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) story: String,
    pub(crate) rounds: usize,
    /// Cores busy with other processes meanwhile.
    pub(crate) others: Option<f64>,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) note: String,
    pub(crate) family: Option<Family>,
}

pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) rounds: usize,
    pub(crate) figures: Vec<Stats>,
    /// Each figure of each round, by column.
    pub(crate) by_round: Vec<Vec<f64>>,
    pub(crate) samples: Vec<f64>,
    /// CPU time of the process over elapsed time, in all rounds: the number of busy cores. `None`
    /// for work in another process.
    pub(crate) cpu_per_wall: Option<f64>,
}

impl Report {
    pub(crate) fn new(workload: Workload, rounds: usize, others: Option<f64>, rows: Vec<Row>) -> Self {
        let heads: Vec<&str> = workload.columns.iter().map(Column::head).collect();
        let judge = |target: &crate::target::Target| target.judge(&heads, &rows);
        Self {
            verdicts: workload.targets.iter().map(judge).collect(),
            name: workload.name,
            story: workload.story,
            rounds,
            others,
            columns: workload.columns,
            rows,
            note: String::new(),
            family: workload.family,
        }
    }

    pub(crate) fn is_sibling_of(&self, other: &Self) -> bool {
        let name = |report: &Self| report.family.as_ref().map(|family| family.name.clone());
        self.family.is_some() && name(self) == name(other)
    }

    fn has_peers(&self) -> bool {
        self.rows.iter().any(|row| row.role == Role::Peer)
    }

    fn best_peer(&self, column: usize) -> Option<f64> {
        let peers = self.rows.iter().filter(|row| row.role == Role::Peer);
        let figures = peers.map(|row| row.figures[column].median);
        let figures = figures.filter(|figure| !figure.is_nan());
        match self.columns[column] {
            Column::Gained { .. } => figures.max_by(f64::total_cmp),
            Column::Told { .. } => None,
            _ => figures.min_by(f64::total_cmp),
        }
    }
}

#[cfg(test)]
pub(crate) fn sample([ours, peer]: [f64; 2]) -> Report {
    let row = |name: &str, role, figure| Row {
        name: name.to_owned(),
        role,
        rounds: 3,
        figures: vec![Stats::of(vec![figure, figure * 1.5, figure / 2.0])],
        by_round: vec![vec![figure, figure * 1.5, figure / 2.0]],
        samples: Vec::new(),
        cpu_per_wall: Some(2.0),
    };
    Report {
        name: "sample".to_owned(),
        story: "Nothing is done.".to_owned(),
        rounds: 3,
        others: Some(0.5),
        columns: vec![Column::ns_per("ns")],
        rows: vec![row("windlass", Role::Ours, ours), row("rayon", Role::Peer, peer)],
        verdicts: vec![Verdict {
            text: "windlass ≤ rayon".to_owned(),
            met: Some(ours <= peer),
        }],
        note: String::new(),
        family: None,
    }
}
