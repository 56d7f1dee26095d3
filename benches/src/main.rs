//! Compares executors on the same work, in the same run, round by round.
//!
//! `cargo xtask bench [FILTER]` runs it. Every contender does every round of every workload in turn (A B C, A B C, …), so that
//! what the machine does meanwhile hits all alike; answers are checked to be equal; medians are printed with their
//! spread, with the ratio to the best peer, and with CPU time over wall time, which tells a fast contender from one that
//! keeps a second core busy for nothing.

mod interleave;
mod peer;
mod workload;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut filter = String::new();
    let mut rounds = 15;
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => match arguments.next().map(|rounds| rounds.parse()) {
                Some(Ok(n)) if n > 0 => rounds = n,
                other => return misuse(&format!("--rounds takes a number from 1 on, not {other:?}")),
            },
            option if option.starts_with('-') => return misuse(&format!("there is no option {option}")),
            _ => filter = argument,
        }
    }
    let workloads: Vec<_> = workload::all()
        .into_iter()
        .filter(|w| w.name().contains(&filter))
        .collect();
    if workloads.is_empty() {
        return misuse(&format!("no workload's name contains {filter:?}"));
    }
    for workload in workloads {
        interleave::run(&*workload, rounds);
    }
    ExitCode::SUCCESS
}

fn misuse(what: &str) -> ExitCode {
    let names = workload::all()
        .iter()
        .map(|workload| workload.name())
        .collect::<Vec<_>>()
        .join(", ");
    eprintln!("{what}\nusage: compare [--rounds N] [FILTER]\nworkloads: {names}");
    ExitCode::from(2)
}

/// Threads that every contender gets.
const THREADS: usize = 2;
