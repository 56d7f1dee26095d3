//! The harness: rounds of all contenders in turn, medians, spread, and equal answers.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::workload::Workload;

/// One contender's measurements of one workload.
struct Series {
    name: &'static str,
    walls: Vec<Duration>,
    cpu: Duration,
}

/// Runs `workload` with all its contenders for `rounds` rounds after one to warm up, and prints a table.
///
/// # Panics
///
/// If two contenders give different answers: a benchmark of different work is worth nothing.
pub(crate) fn run(workload: &dyn Workload, rounds: usize) {
    let mut contenders = workload.contenders();
    let mut series: Vec<_> = contenders
        .iter()
        .map(|c| Series {
            name: c.name(),
            walls: Vec::new(),
            cpu: Duration::ZERO,
        })
        .collect();
    let expected = workload.answer();
    for round in 0..=rounds {
        for (contender, series) in contenders.iter_mut().zip(&mut series) {
            let (wall, cpu) = (Instant::now(), ProcessTime::now());
            let answer = contender.run();
            let (wall, cpu) = (wall.elapsed(), cpu.elapsed());
            assert_eq!(
                answer,
                expected,
                "{} gives another answer to {}",
                series.name,
                workload.name()
            );
            if round > 0 {
                series.walls.push(wall);
                series.cpu += cpu;
            }
        }
    }
    print_table(workload, series);
}

fn print_table(workload: &dyn Workload, mut series: Vec<Series>) {
    for one in &mut series {
        one.walls.sort_unstable();
    }
    let best_peer = series
        .iter()
        .filter(|one| !one.name.starts_with("windlass") && one.name != "serial")
        .map(|one| median(&one.walls))
        .min()
        .unwrap_or(Duration::MAX);
    println!(
        "\n### {} ({} {})\n",
        workload.name(),
        workload.units(),
        workload.unit()
    );
    println!(
        "| contender | median, ns per {} | spread | × best peer | CPU / wall |",
        workload.unit()
    );
    println!("|---|---|---|---|---|");
    for one in &series {
        let per_unit = |wall: Duration| wall.as_nanos() as f64 / workload.units() as f64;
        let total: Duration = one.walls.iter().sum();
        println!(
            "| {} | {:.2} | {:.2} … {:.2} | {:.2} | {:.2} |",
            one.name,
            per_unit(median(&one.walls)),
            per_unit(one.walls[0]),
            per_unit(one.walls[one.walls.len() - 1]),
            median(&one.walls).as_secs_f64() / best_peer.as_secs_f64(),
            one.cpu.as_secs_f64() / total.as_secs_f64(),
        );
    }
}

fn median(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() / 2]
}
