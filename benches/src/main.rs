//! Benches: each compares rows on the same work, in the same run, round by round.
//!
//! `cargo xtask bench BENCH` runs one. Rows take turns (A B C, A B C, …), so that disturbances hit
//! all alike; answers are verified. Tables have medians with their spread, the ratio to the best
//! peer, CPU time over wall time, which exposes busy waiting, and each aim.

mod bench;
mod burn;
mod contender;
mod engine;
mod executor;
mod flipped;
mod groups;
mod interleave;
mod io_beside;
mod kinds;
mod lists;
mod machine;
mod number;
mod options;
mod overlap;
mod peer;
mod pipeline;
mod plot;
mod pool;
mod predict;
mod queries;
mod random;
mod report;
mod scan;
mod stats;
mod tally;
mod target;
mod tpch;
mod virtual_load;
mod workload;

use std::process::ExitCode;

use bench::Bench;
use options::Options;
use report::{Report, page};

/// Threads that every row gets.
const THREADS: usize = 2;

fn benches() -> Vec<Box<dyn Bench>> {
    vec![
        Box::new(executor::Executor),
        Box::new(pipeline::Pipeline),
        Box::new(io_beside::IoBeside),
        Box::new(queries::Queries),
        Box::new(groups::Groups),
        Box::new(kinds::Kinds(kinds::Data::Lineitem)),
        Box::new(kinds::Kinds(kinds::Data::Hits)),
        Box::new(kinds::concurrent::Concurrent),
        Box::new(flipped::Flipped),
        Box::new(overlap::Overlap),
        Box::new(lists::Lists),
        Box::new(predict::Predict),
        Box::new(virtual_load::VirtualLoad),
        Box::new(scan::Scan),
    ]
}

fn main() -> ExitCode {
    if let Some(contender) = executor::memory::asked_for() {
        return done(executor::memory::measure_here(&contender));
    }
    if let Some(arguments) = scan::launch::asked_for() {
        return done(scan::launch::launch_here(&arguments));
    }
    if let Some(root) = scan::floor::asked_for() {
        return done(scan::floor::read_all(root));
    }
    let benches = benches();
    match Options::read(std::env::args_os().skip(1), &benches) {
        Ok((bench, options)) => done(run(bench, &options)),
        Err(error) => {
            eprintln!("{error}\n\n{}", options::usage(&benches));
            ExitCode::from(2)
        }
    }
}

fn done(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    eprintln!("{error:#}");
    ExitCode::FAILURE
}

fn run(bench: &dyn Bench, options: &Options) -> anyhow::Result<()> {
    let mut reports: Vec<Report> = Vec::new();
    // A family is shown when it is complete.
    let mut shown = 0;
    bench.run(options, &mut |report| {
        if !reports[shown..].iter().all(|shown| shown.is_sibling_of(&report)) {
            print!("{}", page::tables(&reports[shown..]));
            shown = reports.len();
        }
        reports.push(report);
        if reports[shown..].iter().all(|report| report.family.is_none()) {
            print!("{}", page::tables(&reports[shown..]));
            shown = reports.len();
        }
    })?;
    print!("{}", page::tables(&reports[shown..]));
    let write = |workspace| page::write(bench, options, workspace, &reports);
    options.write.as_deref().map_or(Ok(()), write)
}
