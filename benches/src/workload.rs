//! A table to be filled: work of a known answer, the rows that do it, the columns, and the aims.

use crate::contender::{Contender, Outcome};
use crate::target::Target;

pub(crate) struct Workload {
    /// Name for the heading and the filter.
    pub(crate) name: String,
    /// One or two sentences, for the caption.
    pub(crate) story: String,
    /// Units of work of one run.
    pub(crate) units: u64,
    /// The plot shows the first.
    pub(crate) columns: Vec<Column>,
    /// Runs before the measured one.
    pub(crate) warm_ups: usize,
    /// Limit whatever the options say: for work that takes long and varies little.
    pub(crate) rounds_max: usize,
    pub(crate) answer: Box<dyn Fn() -> u64>,
    /// Ours first.
    pub(crate) rows: Vec<Contender>,
    pub(crate) targets: Vec<Target>,
    /// The process's CPU time says nothing: the work is in another process or in virtual time.
    pub(crate) is_elsewhere: bool,
    pub(crate) family: Option<Family>,
}

/// Workloads that differ in one size: their rows share a table, and a plot of lines.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) name: String,
    /// What the size counts.
    pub(crate) axis: &'static str,
    pub(crate) size: f64,
    /// This member's name in the table.
    pub(crate) label: String,
    /// Columns of a table with a line for each member and a column for each row; if empty, a line
    /// for each row of each member.
    pub(crate) pivot: &'static [usize],
    pub(crate) plot: Option<usize>,
}

/// A figure of a row; less is better, unless it says otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    /// Elapsed time of a call for each unit of work.
    PerUnit {
        head: &'static str,
        /// Nanoseconds of the head's unit of time.
        ns: f64,
    },
    /// CPU time of the process over elapsed time, in percent of a core.
    CpuPercent,
    /// The outcome's figure of this index.
    Measured { head: &'static str, index: usize },
    /// The outcome's figure of this index; more is better.
    Gained { head: &'static str, index: usize },
    /// Neither is better: without spread and ratio.
    Told { head: &'static str, index: usize },
    /// A percentile of the samples of all rounds together; 100 is the greatest. Its spread is that
    /// of the rounds.
    Percentile { head: &'static str, percent: f64 },
}

impl Column {
    pub(crate) const fn ns_per(head: &'static str) -> Self {
        Self::PerUnit { head, ns: 1.0 }
    }

    pub(crate) const fn ms_per(head: &'static str) -> Self {
        Self::PerUnit { head, ns: 1e6 }
    }

    pub(crate) const fn us_per(head: &'static str) -> Self {
        Self::PerUnit { head, ns: 1e3 }
    }

    pub(crate) const fn measured(head: &'static str, index: usize) -> Self {
        Self::Measured { head, index }
    }

    pub(crate) const fn gained(head: &'static str, index: usize) -> Self {
        Self::Gained { head, index }
    }

    pub(crate) const fn told(head: &'static str, index: usize) -> Self {
        Self::Told { head, index }
    }

    pub(crate) const fn percentile(head: &'static str, percent: f64) -> Self {
        Self::Percentile { head, percent }
    }

    /// Head of the column, with the unit.
    pub(crate) fn head(&self) -> &'static str {
        match self {
            Self::CpuPercent => "CPU, % of a core",
            Self::PerUnit { head, .. }
            | Self::Measured { head, .. }
            | Self::Gained { head, .. }
            | Self::Told { head, .. }
            | Self::Percentile { head, .. } => head,
        }
    }
}

impl Workload {
    /// One unit and one warm-up; its answer is 1.
    pub(crate) fn new(name: impl Into<String>, story: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            story: story.into(),
            units: 1,
            columns: Vec::new(),
            warm_ups: 1,
            rounds_max: usize::MAX,
            answer: Box::new(|| 1),
            rows: Vec::new(),
            targets: Vec::new(),
            is_elsewhere: false,
            family: None,
        }
    }

    pub(crate) fn units(mut self, units: u64) -> Self {
        self.units = units;
        self
    }

    pub(crate) fn columns(mut self, columns: impl IntoIterator<Item = Column>) -> Self {
        self.columns.extend(columns);
        self
    }

    pub(crate) fn cold(mut self) -> Self {
        self.warm_ups = 0;
        self
    }

    pub(crate) fn rounds_max(mut self, rounds_max: usize) -> Self {
        self.rounds_max = rounds_max;
        self
    }

    pub(crate) fn answer(mut self, answer: impl Fn() -> u64 + 'static) -> Self {
        self.answer = Box::new(answer);
        self
    }

    pub(crate) fn rows(mut self, rows: impl IntoIterator<Item = Contender>) -> Self {
        self.rows.extend(rows);
        self
    }

    pub(crate) fn targets(mut self, targets: impl IntoIterator<Item = Target>) -> Self {
        self.targets.extend(targets);
        self
    }

    pub(crate) fn elsewhere(mut self) -> Self {
        self.is_elsewhere = true;
        self
    }

    /// Makes it a member of a family with a line for each row, and a plot of the first column.
    pub(crate) fn family(mut self, name: impl Into<String>, axis: &'static str, size: f64) -> Self {
        self.family = Some(Family {
            name: name.into(),
            axis,
            size,
            label: size.to_string(),
            pivot: &[],
            plot: Some(0),
        });
        self
    }

    /// Makes it a member of a family with a line for each member and a column for each row.
    pub(crate) fn pivot(
        mut self,
        name: impl Into<String>,
        axis: &'static str,
        label: impl Into<String>,
        columns: &'static [usize],
    ) -> Self {
        self.family = Some(Family {
            name: name.into(),
            axis,
            size: 0.0,
            label: label.into(),
            pivot: columns,
            plot: None,
        });
        self
    }

    /// Fails if `outcome` has another answer: a benchmark of different work is worthless.
    pub(crate) fn verify(&self, row: &Contender, outcome: &Outcome, answer: u64) -> anyhow::Result<()> {
        anyhow::ensure!(
            outcome.answer == answer,
            "{} gives another answer to {}: {} instead of {answer}",
            row.name,
            self.name,
            outcome.answer
        );
        Ok(())
    }
}
