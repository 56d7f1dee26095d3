//! Compares executors on the same work, in the same run, round by round.
//!
//! `cargo xtask bench [FILTER]` runs it. Every contender does every round of every workload in turn (A B C, A B C, …), so that
//! what the machine does meanwhile hits all alike; answers are checked to be equal; medians are printed with their
//! spread, with the ratio to the best peer, and with CPU time over wall time, which tells a fast contender from one that
//! keeps a second core busy for nothing. Each table says what is aimed at, and whether this very run met it.
//!
//! ```text
//!   workload ──► contenders ──► interleave ──► report ──► terminal
//!   what, answer    who            rounds        └──────► README, plots
//! ```

mod contender;
mod interleave;
mod others;
mod percentile;
mod pool;
mod report;
mod tally;
mod target;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::{Arg, ValueExt as _};

use benches::burn;

use crate::report::Report;
use crate::workload::Effort;

/// Threads that every contender gets.
const THREADS: usize = 2;

/// Rounds when nothing else is asked for, and of a first look.
const ROUNDS: usize = 11;
const ROUNDS_QUICK: usize = 3;

const USAGE: &str = "usage: compare [FILTER] [--rounds N] [--quick] [--long] [--write FOLDER]

  FILTER          only workloads whose name contains it
  --rounds N      rounds of each contender, 1 or more
  --quick         a first look: few rounds, shorter windows
  --long          also workloads that take minutes
  --write FOLDER  also write the generated part of README.md and the plots in this folder;
                  of all workloads, so neither with FILTER nor with --quick";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Problem::Misuse(what)) => {
            eprintln!("{what}\n{USAGE}\n\nworkloads: {}", names().join(", "));
            ExitCode::from(2)
        }
        Err(Problem::Failure(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

enum Problem {
    Misuse(String),
    Failure(std::io::Error),
}

/// What the command line asks for.
#[derive(Default)]
struct Options {
    filter: Option<String>,
    rounds: Option<usize>,
    quick: bool,
    long: bool,
    folder: Option<PathBuf>,
    queued: Option<String>,
}

impl Options {
    fn read() -> Result<Self, lexopt::Error> {
        let mut options = Self::default();
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("rounds") => options.rounds = Some(parser.value()?.parse()?),
                Arg::Long("quick") => options.quick = true,
                Arg::Long("long") => options.long = true,
                Arg::Long("write") => options.folder = Some(parser.value()?.into()),
                Arg::Long(workload::memory::OPTION) => options.queued = Some(parser.value()?.string()?),
                Arg::Value(filter) if options.filter.is_none() => options.filter = Some(filter.string()?),
                other => return Err(other.unexpected()),
            }
        }
        if options.rounds == Some(0) {
            return Err("--rounds takes a number from 1 on".into());
        }
        if options.folder.is_some() && (options.filter.is_some() || options.quick) {
            return Err(
                "--write is for all workloads in full, so neither with FILTER nor with --quick".into(),
            );
        }
        Ok(options)
    }
}

fn run() -> Result<(), Problem> {
    let Options {
        filter,
        rounds,
        quick,
        long,
        folder,
        queued,
    } = Options::read().map_err(|error| Problem::Misuse(error.to_string()))?;
    let effort = Effort { quick, long };
    if let Some(contender) = queued {
        return workload::memory::measure_here(&contender, effort).map_err(Problem::Misuse);
    }
    let standard = if quick { ROUNDS_QUICK } else { ROUNDS };
    let wanted = filter.unwrap_or_default();
    let workloads: Vec<_> = workload::all(effort)
        .into_iter()
        .filter(|workload| workload.name.contains(&wanted))
        .collect();
    if workloads.is_empty() {
        return Err(Problem::Misuse(format!("no workload's name contains {wanted:?}")));
    }
    let mut reports: Vec<Report> = Vec::new();
    for workload in workloads {
        let report = interleave::run(workload, rounds.unwrap_or(standard));
        println!("\n{}", report.markdown());
        reports.push(report);
    }
    if let Some(folder) = folder {
        let mut command = "cargo xtask bench".to_owned();
        if let Some(rounds) = rounds {
            command.push_str(&format!(" --rounds {rounds}"));
        }
        if long {
            command.push_str(" --long");
        }
        report::write(&folder, &reports, &command).map_err(Problem::Failure)?;
    }
    Ok(())
}

fn names() -> Vec<String> {
    let all = workload::all(Effort {
        quick: true,
        long: true,
    });
    all.into_iter().map(|workload| workload.name).collect()
}
