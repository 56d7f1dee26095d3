//! What is measured: each workload knows its right answer, who can do it, and what is aimed at.

mod fairness;
mod fan_out;
mod idle;
mod io_beside;
mod latency;
mod life_cycle;
mod long;
pub(crate) mod memory;
mod pace;
mod pipeline;
mod producer;
mod queens;
mod recursion;
mod skynet;
mod tree;
mod unbalanced;

use crate::contender::Contender;
use crate::target::Target;

/// Some work of a known answer.
pub(crate) struct Workload {
    /// Name, for the heading and the filter.
    pub(crate) name: String,
    /// What is done, in a sentence or two, for the caption.
    pub(crate) story: String,
    /// How many units one run does.
    pub(crate) units: u64,
    /// What the table says about each contender; the plot shows the first.
    pub(crate) columns: Vec<Column>,
    /// Runs before the measured one, the same for all.
    pub(crate) warm_ups: usize,
    /// No more rounds than these, however many are asked for: for work that takes long and varies little.
    pub(crate) rounds_max: usize,
    /// The right answer.
    pub(crate) answer: Box<dyn Fn() -> u64>,
    /// All who can do it, ours first.
    pub(crate) contenders: Vec<Box<dyn Contender>>,
    /// What is aimed at.
    pub(crate) targets: Vec<Target>,
    /// Whether the work is done by another process, so that this one's CPU time says nothing.
    pub(crate) is_elsewhere: bool,
    /// When it is one of a row of sizes: what they have in common, and this one's size. They share a plot of lines.
    pub(crate) family: Option<Family>,
}

/// One of a row of sizes.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// Name of all together.
    pub(crate) name: &'static str,
    /// What the size counts.
    pub(crate) axis: &'static str,
    /// This one's size.
    pub(crate) size: f64,
}

/// A figure of a contender; less is better, but where it says otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    /// Time by the clock from the call to its return, for each unit of work.
    PerUnit {
        /// Head of the column.
        head: &'static str,
        /// Nanoseconds of the head's unit of time.
        ns: f64,
    },
    /// CPU time of the process by time, in percent of a core.
    CpuPercent,
    /// What the contender measured itself.
    Measured {
        /// Head of the column.
        head: &'static str,
        /// Which of the outcome's figures it is.
        index: usize,
    },
    /// The same, where more is better.
    Gained {
        /// Head of the column.
        head: &'static str,
        /// Which of the outcome's figures it is.
        index: usize,
    },
    /// A percentile of the samples of all rounds together; its spread is that of the rounds.
    Percentile {
        /// Head of the column.
        head: &'static str,
        /// Which; 100 is the greatest.
        percent: f64,
    },
}

impl Column {
    /// Nanoseconds for each unit of work.
    pub(crate) const fn ns_per(head: &'static str) -> Self {
        Self::PerUnit { head, ns: 1.0 }
    }

    /// Head of the column, with the unit.
    pub(crate) fn head(&self) -> &'static str {
        match self {
            Self::CpuPercent => "CPU, % of a core",
            Self::PerUnit { head, .. }
            | Self::Measured { head, .. }
            | Self::Gained { head, .. }
            | Self::Percentile { head, .. } => head,
        }
    }

    /// Whether the greatest figure is the best.
    pub(crate) fn more_is_better(&self) -> bool {
        matches!(self, Self::Gained { .. })
    }
}

/// How much is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// A first look: shorter windows, fewer samples.
    pub(crate) quick: bool,
    /// Also what takes minutes for a single round.
    pub(crate) long: bool,
}

impl Effort {
    /// `full`, or a part of it for a first look.
    pub(crate) fn of(self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }
}

/// Every workload, in the order of the report.
pub(crate) fn all(effort: Effort) -> Vec<Workload> {
    let mut all = vec![
        tree::workload(),
        unbalanced::workload(),
        queens::workload(),
        skynet::workload(),
    ];
    all.extend(fan_out::workloads());
    all.extend(producer::workloads());
    all.push(latency::workload(effort));
    all.push(fairness::workload(effort));
    all.push(idle::workload(effort));
    all.push(pace::workload(effort));
    all.extend(long::workloads());
    all.extend(memory::workloads(effort));
    all.push(life_cycle::workload(effort));
    all.extend(pipeline::workloads(effort));
    all.push(io_beside::workload(effort));
    all
}
