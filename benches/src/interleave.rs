//! The harness: rounds of all contenders in turn, one at a time alive, with equal answers.
//!
//! ```text
//!   for each round:  for each contender:  start threads ─► run to warm up ─► run, measured ─► stop threads
//! ```
//!
//! What the machine does meanwhile hits all alike, and nobody's idle threads take a core from another.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::contender::Contender;
use crate::others::Watch;
use crate::percentile::percentile;
use crate::report::{Report, Row, Stats};
use crate::workload::{Column, Workload};

/// Long enough for threads that were told to stop, and that nobody can join, to be gone.
const QUIET: Duration = Duration::from_millis(2);

/// One contender's measurements: for each column, a value a round.
struct Series {
    columns: Vec<Vec<f64>>,
    samples: Vec<f64>,
    wall: Duration,
    cpu: Duration,
}

/// Runs `workload` with all its contenders for `rounds` rounds.
///
/// # Panics
///
/// If a contender gives another answer than the workload's: a benchmark of different work is worth nothing.
pub(crate) fn run(workload: Workload, rounds: usize) -> Report {
    let rounds = rounds.min(workload.rounds_max);
    let answer = (workload.answer)();
    let mut series: Vec<Series> = workload
        .contenders
        .iter()
        .map(|_| Series {
            columns: workload.columns.iter().map(|_| Vec::new()).collect(),
            samples: Vec::new(),
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
        })
        .collect();
    let watch = Watch::start();
    for round in 0..rounds {
        for (contender, series) in workload.contenders.iter().zip(&mut series) {
            if round < contender.rounds_max() {
                one_round(&workload, &**contender, answer, series);
            }
        }
    }
    // Another process of ours looks like any other.
    let others = watch.cores_of_others().filter(|_| !workload.is_elsewhere);
    let rows = workload
        .contenders
        .iter()
        .zip(series)
        .map(|(contender, mut series)| {
            series.samples.sort_by(f64::total_cmp);
            let figure = |(column, values): (&Column, Vec<f64>)| {
                let stats = Stats::of(values);
                match *column {
                    Column::Percentile { percent, .. } => Stats {
                        median: percentile(&series.samples, percent),
                        ..stats
                    },
                    _ => stats,
                }
            };
            Row {
                name: contender.name().to_owned(),
                role: contender.role(),
                rounds: rounds.min(contender.rounds_max()),
                figures: workload.columns.iter().zip(series.columns).map(figure).collect(),
                samples: series.samples,
                cpu_per_wall: (!workload.is_elsewhere)
                    .then(|| series.cpu.as_secs_f64() / series.wall.as_secs_f64()),
            }
        });
    let rows = rows.collect();
    Report::new(workload, rounds, others, rows)
}

fn one_round(workload: &Workload, contender: &dyn Contender, answer: u64, series: &mut Series) {
    let check = |given| {
        let (who, what) = (contender.name(), &workload.name);
        assert_eq!(given, answer, "{who} gives another answer to {what}");
    };
    let mut running = contender.start();
    for _ in 0..workload.warm_ups {
        check(running.run().answer);
    }
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let mut outcome = running.run();
    let (wall, cpu) = (wall.elapsed(), cpu.elapsed());
    drop(running);
    check(outcome.answer);
    outcome.samples.sort_by(f64::total_cmp);
    for (column, values) in workload.columns.iter().zip(&mut series.columns) {
        values.push(match *column {
            Column::PerUnit { ns, .. } => wall.as_nanos() as f64 / ns / workload.units as f64,
            Column::CpuPercent => cpu.as_secs_f64() / wall.as_secs_f64() * 100.0,
            Column::Measured { index, .. } | Column::Gained { index, .. } => outcome.measured[index],
            Column::Percentile { percent, .. } => percentile(&outcome.samples, percent),
        });
    }
    series.samples.append(&mut outcome.samples);
    series.wall += wall;
    series.cpu += cpu;
    std::thread::sleep(QUIET);
}
