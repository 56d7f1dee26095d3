//! The interleaver: rounds of all rows in turn, one alive at a time, with the same answer.
//!
//! ```text
//!   for each round:  for each row:  start threads ─► run to warm up ─► run, measured ─► stop threads
//! ```
//!
//! Disturbances of the machine hit all rows alike, and idle threads of one row take no core from
//! another.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::contender::Contender;
use crate::machine::Watch;
use crate::report::{Report, Row};
use crate::stats::{Stats, percentile};
use crate::workload::{Column, Workload};

/// Time in which stopped threads that cannot be joined end.
const QUIET: Duration = Duration::from_millis(2);

#[derive(Default)]
struct Series {
    /// Values by column and round.
    columns: Vec<Vec<f64>>,
    samples: Vec<f64>,
    wall: Duration,
    cpu: Duration,
}

pub(crate) fn run(workload: Workload, rounds: usize) -> anyhow::Result<Report> {
    let rounds = rounds.min(workload.rounds_max);
    eprintln!("{}, {rounds} rounds", workload.name);
    let answer = (workload.answer)();
    let mut series: Vec<Series> = workload.rows.iter().map(|_| Series::default()).collect();
    let watch = Watch::start();
    for round in 0..rounds {
        for (row, series) in workload.rows.iter().zip(&mut series) {
            if round < row.rounds_max {
                one_round(&workload, row, answer, series)?;
            }
        }
    }
    let others = watch.cores_of_others();
    let row = |(contender, series): (&Contender, Series)| series.row(&workload, contender, rounds);
    let rows = workload.rows.iter().zip(series).map(row).collect();
    Ok(Report::new(workload, rounds, others, rows))
}

fn one_round(workload: &Workload, row: &Contender, answer: u64, series: &mut Series) -> anyhow::Result<()> {
    let mut run = row.start();
    for _ in 0..workload.warm_ups {
        workload.verify(row, &run()?, answer)?;
    }
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let outcome = run()?;
    let (wall, cpu) = (wall.elapsed(), cpu.elapsed());
    drop(run);
    workload.verify(row, &outcome, answer)?;
    let mut samples = outcome.samples;
    samples.sort_by(f64::total_cmp);
    series.columns.resize(workload.columns.len(), Vec::new());
    for (column, values) in workload.columns.iter().zip(&mut series.columns) {
        values.push(match *column {
            Column::PerUnit { ns, .. } => wall.as_nanos() as f64 / ns / workload.units as f64,
            Column::CpuPercent => cpu.as_secs_f64() / wall.as_secs_f64() * 100.0,
            Column::Measured { index, .. } | Column::Gained { index, .. } | Column::Told { index, .. } => {
                outcome.measured[index]
            }
            Column::Percentile { percent, .. } => percentile(&samples, percent),
        });
    }
    series.samples.append(&mut samples);
    series.wall += wall;
    series.cpu += cpu;
    std::thread::sleep(QUIET);
    Ok(())
}

impl Series {
    fn row(mut self, workload: &Workload, contender: &Contender, rounds: usize) -> Row {
        self.samples.sort_by(f64::total_cmp);
        let figure = |(column, values): (&Column, Vec<f64>)| match *column {
            Column::Percentile { percent, .. } => Stats {
                median: percentile(&self.samples, percent),
                ..Stats::of(values)
            },
            _ => Stats::of(values),
        };
        let by_round = self.columns.clone();
        let cpu_per_wall = self.cpu.as_secs_f64() / self.wall.as_secs_f64();
        Row {
            name: contender.name.clone(),
            role: contender.role,
            rounds: rounds.min(contender.rounds_max),
            figures: workload.columns.iter().zip(self.columns).map(figure).collect(),
            by_round,
            samples: self.samples,
            cpu_per_wall: (!workload.is_elsewhere).then_some(cpu_per_wall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Role;

    fn workload(second: u64) -> Workload {
        let row = |name, answer: u64| Contender::new(name, Role::Ours, move || move || answer);
        Workload::new("sample", "Nothing is done.")
            .answer(|| 7)
            .columns([Column::ns_per("ns")])
            .rows([row("first", 7), row("second", second).slow(2)])
    }

    #[test]
    fn a_slow_row_sits_still_and_a_wrong_answer_ends_the_run() {
        let report = run(workload(7), 3).unwrap();
        let rounds: Vec<usize> = report.rows.iter().map(|row| row.rounds).collect();
        assert_eq!(rounds, [3, 2]);
        let error = run(workload(8), 1).err().expect("it has another answer");
        assert_eq!(
            error.to_string(),
            "second gives another answer to sample: 8 instead of 7"
        );
    }
}
