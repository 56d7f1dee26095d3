//! Turns entries into bars, instants, and an arrow from each submission to its job's first claim.
//!
//! ```text
//!    outside   ▕submit▏─────────╮
//!    worker 0        ▕ cities, main     ▼                                ▏
//!                      ▕ scan 0..4 ▏▕ scan 4..8 ▏▕ finish scan ▏ ✕ completed
//! ```

use std::collections::HashMap;

use executor_core::{ChromeArg, ChromePhase, ChromeRow};

use super::entry::JobEntry;
use crate::error::JobErrorKind;

/// Names of jobs and stages.
#[derive(Clone, Debug, Default)]
pub struct JobNames {
    jobs: HashMap<usize, (String, String)>,
    stages: HashMap<(usize, usize), String>,
}

/// Draws one lane, entry by entry in their order.
#[derive(Debug)]
pub struct JobLane<'a> {
    names: &'a JobNames,
    lane: usize,
    open: Vec<String>,
    /// The visited job, and the number of open bars around the work there.
    visiting: Option<(usize, usize)>,
    /// Time of the last row, in nanoseconds. Clock readings may arrive out of order.
    last_ns: u64,
}

type Args = Vec<(&'static str, ChromeArg)>;

impl JobNames {
    /// Collects the names in `entries`.
    pub fn of<'e>(entries: impl IntoIterator<Item = &'e JobEntry>) -> Self {
        let mut names = Self::default();
        for entry in entries {
            match entry {
                JobEntry::Submitted { seq, table, id, .. } => {
                    names.jobs.insert(*seq, (table.clone(), id.clone()));
                }
                JobEntry::StageStarted { seq, stage, name, .. } => {
                    names.stages.insert((*seq, *stage), name.clone());
                }
                _ => {}
            }
        }
        names
    }

    fn job(&self, seq: usize) -> String {
        match self.jobs.get(&seq) {
            Some((table, _)) if !table.is_empty() => table.clone(),
            _ => format!("job {seq}"),
        }
    }

    fn stage(&self, seq: usize, stage: usize) -> String {
        match self.stages.get(&(seq, stage)) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("stage {stage}"),
        }
    }

    fn args(&self, seq: usize) -> Args {
        let id = self.jobs.get(&seq).map(|(_, id)| id.clone());
        let mut args = vec![("job", ChromeArg::Number(seq as u64))];
        args.extend(id.map(|id| ("id", ChromeArg::Text(id))));
        args
    }
}

impl<'a> JobLane<'a> {
    /// An empty lane.
    #[must_use]
    pub fn new(lane: usize, names: &'a JobNames) -> Self {
        Self {
            names,
            lane,
            open: Vec::new(),
            visiting: None,
            last_ns: 0,
        }
    }

    /// Draws `entry`, which happened at `at_ns`.
    pub fn draw(&mut self, at_ns: u64, entry: &JobEntry, rows: &mut Vec<ChromeRow<String>>) {
        let names = self.names;
        match entry {
            JobEntry::Submitted { seq, since_ns, .. } => {
                let submitted = || "submitted".to_owned();
                self.begin(
                    *since_ns,
                    format!("submit {}", names.job(*seq)),
                    names.args(*seq),
                    rows,
                );
                let arrow = ChromePhase::ArrowFrom(*seq as u64);
                self.row(*since_ns, arrow, submitted(), Vec::new(), rows);
                self.end(at_ns, rows);
            }
            JobEntry::StageStarted {
                seq, stage, slots, ..
            } => {
                self.work_ends(*seq, at_ns, rows);
                let mut args = names.args(*seq);
                args.push(("slots", ChromeArg::Number(*slots as u64)));
                let name = format!("{} starts", names.stage(*seq, *stage));
                self.row(at_ns, ChromePhase::Instant, name, args, rows);
            }
            JobEntry::Entered { seq, role } => {
                self.leave(at_ns, rows);
                let name = format!("{}, {}", names.job(*seq), role.name());
                self.begin(at_ns, name, names.args(*seq), rows);
                self.visiting = Some((*seq, self.open.len()));
            }
            JobEntry::Started { seq } => {
                let arrow = ChromePhase::ArrowTo(*seq as u64);
                self.row(at_ns, arrow, "submitted".to_owned(), Vec::new(), rows);
            }
            JobEntry::Claimed { seq, stage, slots } => {
                self.work_ends(*seq, at_ns, rows);
                let name = format!("{} {}..{}", names.stage(*seq, *stage), slots.start, slots.end);
                self.begin(at_ns, name, names.args(*seq), rows);
            }
            JobEntry::Failed { seq, what } => {
                let mut args = names.args(*seq);
                args.push(("what", ChromeArg::Text(what.clone())));
                self.row(at_ns, ChromePhase::Instant, "failed".to_owned(), args, rows);
            }
            JobEntry::StageOver { seq, stage } => {
                if self.work_ends(*seq, at_ns, rows) {
                    let name = format!("finish {}", names.stage(*seq, *stage));
                    self.begin(at_ns, name, names.args(*seq), rows);
                }
            }
            JobEntry::Ended { seq, early } => {
                self.work_ends(*seq, at_ns, rows);
                let how = how(*early).to_owned();
                self.row(at_ns, ChromePhase::Instant, how, names.args(*seq), rows);
            }
            JobEntry::Left => self.leave(at_ns, rows),
        }
    }

    /// Ends the open bars, at the lane's last known time.
    pub fn finish(mut self, at_ns: u64, rows: &mut Vec<ChromeRow<String>>) {
        while !self.open.is_empty() {
            self.end(at_ns, rows);
        }
    }

    /// Returns whether the worker visits job `seq`.
    fn work_ends(&mut self, seq: usize, at_ns: u64, rows: &mut Vec<ChromeRow<String>>) -> bool {
        match self.visiting {
            Some((visited, bars)) if visited == seq => {
                while self.open.len() > bars {
                    self.end(at_ns, rows);
                }
                true
            }
            _ => false,
        }
    }

    fn leave(&mut self, at_ns: u64, rows: &mut Vec<ChromeRow<String>>) {
        if let Some((_, bars)) = self.visiting.take() {
            while self.open.len() >= bars {
                self.end(at_ns, rows);
            }
        }
    }

    fn begin(&mut self, at_ns: u64, name: String, args: Args, rows: &mut Vec<ChromeRow<String>>) {
        self.open.push(name.clone());
        self.row(at_ns, ChromePhase::Begin, name, args, rows);
    }

    fn end(&mut self, at_ns: u64, rows: &mut Vec<ChromeRow<String>>) {
        if let Some(name) = self.open.pop() {
            self.row(at_ns, ChromePhase::End, name, Vec::new(), rows);
        }
    }

    fn row(
        &mut self,
        at_ns: u64,
        phase: ChromePhase,
        name: String,
        args: Args,
        rows: &mut Vec<ChromeRow<String>>,
    ) {
        self.last_ns = self.last_ns.max(at_ns);
        rows.push(ChromeRow {
            lane: self.lane,
            at_ns: self.last_ns,
            phase,
            name,
            args,
        });
    }
}

fn how(early: Option<JobErrorKind>) -> &'static str {
    match early {
        None => "completed",
        Some(JobErrorKind::Failed) => "ended: failed",
        Some(JobErrorKind::Panicked) => "ended: panicked",
        Some(JobErrorKind::Cancelled) => "ended: cancelled",
        Some(JobErrorKind::DeadlineExceeded) => "ended: deadline exceeded",
        Some(JobErrorKind::HandedBack) => "ended: handed back",
    }
}
