//! A bench: a name, a page, and workloads.
//!
//! ```text
//!   Bench ──► Workload ──► Contender ──► interleave ──► Report ──► terminal
//!   page,     work, rows,  one row:      rounds,        table,     page between its marks,
//!   knobs     verify       start, run    A B C A B C    verdicts   plots
//! ```

use anyhow::Result;

use crate::interleave;
use crate::options::{Knob, Options};
use crate::report::Report;
use crate::workload::Workload;

const ROUNDS_QUICK: usize = 3;

pub(crate) trait Bench {
    fn about(&self) -> &'static About;

    /// The peers with their versions, for the page. It is an error if one is missing.
    fn peers(&self, _options: &Options) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// All workloads in the order of the page; empty for a bench with its own [`run`](Self::run).
    fn workloads(&self, _options: &Options) -> Result<Vec<Workload>> {
        Ok(Vec::new())
    }

    /// Measures the selected workloads and shows each complete table. It is an error if no workload
    /// is selected, a row fails or its answer is wrong.
    fn run(&self, options: &Options, show: &mut dyn FnMut(Report)) -> Result<()> {
        let wanted = |workload: &Workload| workload.name.contains(&options.filter);
        let all = self.workloads(options)?;
        let names: Vec<String> = all.iter().map(|workload| workload.name.clone()).collect();
        let workloads: Vec<Workload> = all.into_iter().filter(wanted).collect();
        anyhow::ensure!(
            !workloads.is_empty(),
            "no workload's name contains {:?}; there are {}",
            options.filter,
            names.join(", ")
        );
        for workload in workloads {
            show(interleave::run(workload, self.rounds_of(options))?);
        }
        Ok(())
    }

    fn rounds_of(&self, options: &Options) -> usize {
        let rounds = self.about().rounds;
        let usual = if options.quick {
            rounds.min(ROUNDS_QUICK)
        } else {
            rounds
        };
        options.rounds.unwrap_or(usual)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub(crate) name: &'static str,
    /// One line, for the usage.
    pub(crate) question: &'static str,
    /// Path in the workspace.
    pub(crate) page: &'static str,
    /// Folder beside the page; empty without plots.
    pub(crate) plots: &'static str,
    /// Default number.
    pub(crate) rounds: usize,
    /// Options of this bench alone.
    pub(crate) knobs: &'static [Knob],
}
