//! One table: the programs' calls for one search, verified, then measured in turn.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};

use super::corpus::{self, Place};
use super::launch::{self, How, Invocation};
use super::verify::{self, Same, Verified};
use crate::contender::{Contender, Outcome, Role};
use crate::machine::Watch;
use crate::stats::median;
use crate::workload::{Column, Workload};

/// Places in an outcome's figures.
const MS: usize = 0;
const CPU_MS: usize = 1;
const CPU_PER_WALL: usize = 2;
const PEAK_MIB: usize = 3;
const LINES: usize = 4;
const FILES: usize = 5;
const ERRORS: usize = 6;

pub(super) const TIMES: [Column; 5] = [
    Column::measured("ms", MS),
    Column::told("CPU, ms", CPU_MS),
    Column::told("CPU / wall", CPU_PER_WALL),
    Column::told("peak, MiB", PEAK_MIB),
    Column::told("lines", LINES),
];
pub(super) const SIZES: [Column; 5] = [
    Column::measured("peak, MiB", PEAK_MIB),
    Column::told("open files", FILES),
    Column::told("ms", MS),
    Column::told("CPU, ms", CPU_MS),
    Column::told("lines", LINES),
];
pub(super) const REACHED: [Column; 4] = [
    Column::gained("lines", LINES),
    Column::told("errors", ERRORS),
    Column::told("ms", MS),
    Column::told("peak, MiB", PEAK_MIB),
];

/// Cores that others may keep busy when a round begins.
const OTHERS_MAX: f64 = 0.1;
const LOOK: Duration = Duration::from_millis(200);
/// Looks until a round begins all the same.
const LOOKS: usize = 25;

pub(super) struct Table {
    /// Without rows and answer.
    pub(super) workload: Workload,
    pub(super) rows: Vec<Line>,
    pub(super) same: Same,
    /// Take the place's data out of the page cache before each run.
    pub(super) cold: Option<Place>,
    pub(super) how: How,
    /// Runs in a round, whose median counts.
    pub(super) runs: usize,
    /// Whether there is something to find.
    pub(super) finds: bool,
}

#[derive(Clone)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) role: Role,
    pub(super) call: Invocation,
    /// Whether it prints what the first row prints.
    pub(super) is_verified: bool,
    pub(super) rounds_max: usize,
}

impl Line {
    pub(super) fn new(name: &'static str, role: Role, call: Invocation) -> Self {
        Self {
            name,
            role,
            call,
            is_verified: true,
            rounds_max: usize::MAX,
        }
    }

    pub(super) fn slow(mut self, rounds_max: usize) -> Self {
        self.rounds_max = rounds_max;
        self
    }

    pub(super) fn not_verified(mut self) -> Self {
        self.is_verified = false;
        self
    }
}

impl Table {
    pub(super) fn new(workload: Workload, rows: Vec<Line>) -> Self {
        Self {
            workload: workload.cold().elsewhere(),
            rows,
            same: Same::Lines,
            cold: None,
            how: How::Sum,
            runs: 1,
            finds: true,
        }
    }

    /// Verifies the rows, which also warms the page cache up.
    pub(super) fn verified(self) -> Result<Workload> {
        let verified = self.rows.iter().filter(|row| row.is_verified);
        let calls: Vec<_> = verified.map(|row| (row.name, row.call.clone())).collect();
        let mut verified = verify::verify(&calls, self.same, self.finds)?.into_iter();
        let mut contender = |(at, row): (usize, &Line)| {
            let (row, cold) = (row.clone(), self.cold.clone());
            let (how, runs, called) = (self.how, self.runs, self.workload.name.clone());
            let (name, role, rounds_max) = (row.name, row.role, row.rounds_max);
            let expected = if row.is_verified { verified.next() } else { None };
            let expected = expected.filter(|_| self.same != Same::Nothing);
            let start = move || {
                if at == 0 {
                    wait_for_quiet(&called);
                }
                let prepared = cold.as_ref().map_or(Ok(()), corpus::evict);
                let row = row.clone();
                move || {
                    prepared.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                    measure(&row, how, runs, expected)
                }
            };
            Contender::new(name, role, start).slow(rounds_max)
        };
        let contenders: Vec<Contender> = self.rows.iter().enumerate().map(&mut contender).collect();
        Ok(self.workload.rows(contenders))
    }
}

fn measure(row: &Line, how: How, runs: usize, expected: Option<Verified>) -> Result<Outcome> {
    let mut figures: [Vec<f64>; 7] = Default::default();
    for _ in 0..runs {
        let ran = launch::run(&row.call, how)?.checked(row.name)?;
        let (wall, cpu) = (ran.wall_ns as f64, ran.cpu_ns as f64);
        let one = [
            wall / 1e6,
            cpu / 1e6,
            cpu / wall,
            ran.peak_kib as f64 / 1_024.0,
            ran.sum.lines as f64,
            ran.files as f64,
            ran.errors as f64,
        ];
        figures
            .iter_mut()
            .zip(one)
            .for_each(|(figures, figure)| figures.push(figure));
        let is_expected = expected.is_none_or(|expected| expected.is(&ran.sum));
        ensure!(is_expected, "{} printed something else than before", row.name);
    }
    Ok(Outcome::verified(figures.map(median).into()))
}

/// Waits while other processes keep a core busy, for some seconds, and says so. After a wait in vain
/// it looks only once, until it has found quiet again.
pub(super) fn wait_for_quiet(called: &str) {
    static WAS_QUIET: AtomicBool = AtomicBool::new(true);
    let looks = if WAS_QUIET.load(Ordering::Relaxed) {
        LOOKS
    } else {
        1
    };
    let mut most = 0.0_f64;
    for _ in 0..looks {
        let watch = Watch::start();
        std::thread::sleep(LOOK);
        let Some(cores) = watch.cores_of_others().filter(|cores| *cores > OTHERS_MAX) else {
            WAS_QUIET.store(true, Ordering::Relaxed);
            return;
        };
        most = most.max(cores);
    }
    WAS_QUIET.store(false, Ordering::Relaxed);
    eprintln!("{called}: others keep {most:.1} cores busy, and the round begins all the same");
}
