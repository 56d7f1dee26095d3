//! The cost of recording: the same tasks on an executor and on a recorded run, alternating.
//!
//! It measures processor time of the process, so other load does not matter and spinning counts.

use std::time::Duration;

use cpu_time::ProcessTime;
use executor_threaded::{Executor, ExecutorConfig, Pin};
use recorded::{Recording, record};

use crate::load::{Task, burn, run};

/// Nanoseconds of a task.
const LENGTHS: [u32; 4] = [20, 200, 1_000, 10_000];

const WORK: Duration = Duration::from_millis(25);

const ROUNDS: usize = 15;

type Shape = (&'static str, fn(u32, u32) -> Vec<Task>);

const SHAPES: &[Shape] = &[
    ("tree", |tasks, turns| {
        vec![Task::Tree {
            depth: tasks.ilog2(),
            turns,
        }]
    }),
    ("fan-out", |tasks, turns| vec![Task::Fan { leaves: tasks, turns }]),
    ("from outside", |tasks, turns| {
        vec![Task::Leaf { turns }; tasks as usize]
    }),
];

pub(crate) fn measure() {
    let turn_ns = turn_ns();
    println!(
        "medians of {ROUNDS} interleaved rounds, quartiles in brackets; a turn of the loop takes {turn_ns:.2} ns"
    );
    println!(
        "{:<14} {:>7} {:>9} {:>8} {:>24} {:>24} {:>9}",
        "load", "workers", "task ns", "tasks", "plain, CPU ns a task", "recorded, CPU ns a task", "cost"
    );
    for (name, tasks_of) in SHAPES {
        for workers in [1, 2] {
            for length in LENGTHS {
                let turns = (f64::from(length) / turn_ns) as u32;
                let count = (WORK.as_nanos() / u128::from(length)).min(1 << 20) as u32;
                let tasks = tasks_of(count, turns);
                let (mut plain, mut recorded) = (Vec::new(), Vec::new());
                for round in 0..ROUNDS {
                    for recorded_now in [round % 2 == 0, round % 2 == 1] {
                        let took = if recorded_now {
                            run_recorded(workers, count, &tasks)
                        } else {
                            run_plain(workers, &tasks)
                        };
                        let ns = took.as_nanos() as f64 / f64::from(count);
                        if recorded_now { &mut recorded } else { &mut plain }.push(ns);
                    }
                }
                let ([low, plain, high], [lower, recorded, higher]) = (quartiles(plain), quartiles(recorded));
                println!(
                    "{name:<14} {workers:>7} {length:>9} {count:>8} {:>24} {:>24} {:>8.1}%",
                    format!("{plain:.1} ({low:.1} to {high:.1})"),
                    format!("{recorded:.1} ({lower:.1} to {higher:.1})"),
                    100.0 * (recorded / plain - 1.0)
                );
            }
        }
    }
}

fn config(workers: usize) -> ExecutorConfig {
    ExecutorConfig::new(workers).pin_threads(Pin::Never)
}

fn run_plain(workers: usize, tasks: &[Task]) -> Duration {
    let executor = Executor::new(config(workers), |_worker| 0_u64, run).expect("threads can be started");
    let started = ProcessTime::now();
    for &task in tasks {
        executor.spawn_external(task).expect("nobody has closed it");
    }
    executor.wait_idle();
    let took = started.elapsed();
    executor.join();
    took
}

fn run_recorded(workers: usize, count: u32, tasks: &[Task]) -> Duration {
    let recording = Recording {
        // Entries of an external task, on either side.
        entries: count as usize * 4 + 4_096,
        ..Recording::new(config(workers))
    };
    let run = record(
        &recording,
        |_worker| 0_u64,
        run,
        |handle| {
            let started = ProcessTime::now();
            for &task in tasks {
                handle.spawn(task).expect("nobody has closed it");
            }
            assert!(handle.wait_idle(), "it comes to its end");
            started.elapsed()
        },
    );
    run.expect("threads can be started").value
}

fn turn_ns() -> f64 {
    let turns = 1 << 20;
    let measured = (0..20).map(|_| {
        let started = ProcessTime::now();
        burn(turns);
        started.elapsed()
    });
    let best = measured.min().unwrap_or_default();
    best.as_nanos() as f64 / f64::from(turns)
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}
