//! A task from outside while every worker has endless work of its own: time until a worker looks
//! outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::THREADS;
use crate::burn::{STEPS_1_MS, burn, now_ns};
use crate::contender::Outcome;
use crate::options::Options;
use crate::pool::{self, Ours, Pool};
use crate::stats::percentile;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const STEPS: u64 = STEPS_1_MS / 200;
const PACE: Duration = Duration::from_millis(1);

/// A task that has not started by then counts as started then.
const PATIENCE: Duration = Duration::from_millis(50);

const LOST_MAX: u32 = 10;

/// A task that spawns itself again. Any other task is the time at which it was handed over from
/// outside.
const FEED: u64 = 0;

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    started: AtomicU64,
    delay_ns: AtomicU64,
}

impl Shared {
    fn run(&self, task: u64, spawn: &mut dyn FnMut(u64)) -> u64 {
        if task != FEED {
            self.delay_ns.store(now_ns() - task, Ordering::Relaxed);
            self.started.fetch_add(1, Ordering::Release);
        } else if !self.stop.load(Ordering::Relaxed) {
            std::hint::black_box(burn(task, STEPS));
            spawn(FEED);
        }
        0
    }
}

pub(super) fn workload(options: &Options) -> Workload {
    let samples = options.of(1_000, 200);
    let shared = Arc::new(Shared::default());
    let run = {
        let shared = Arc::clone(&shared);
        move |task, spawn: &mut dyn FnMut(u64)| shared.run(task, spawn)
    };
    let rows = pool::rows(&[Ours::plain()], run, move |pool| one_run(pool, &shared, samples));
    Workload::new(
        "outside beside busy workers",
        format!(
            "Every worker runs tasks of 5 µs that spawn themselves again, for ever; every \
             millisecond a task comes from outside: from the call that hands it over to its first \
             instruction. Median and 99th percentile of {samples} a round; {} ms mean that it had \
             not started by then.",
            PATIENCE.as_millis()
        ),
    )
    .units(samples)
    .columns([Column::measured("p50, µs", 0), Column::measured("p99, µs", 1)])
    .cold()
    .rounds_max(5)
    .rows(rows)
    .targets([Target::at_most(1.0, Of::Number(1_000.0)).column(1)])
}

/// The answer is 1 if every task from outside started.
fn one_run(pool: &dyn Pool<u64>, shared: &Shared, samples: u64) -> Outcome {
    shared.stop.store(false, Ordering::Relaxed);
    shared.started.store(0, Ordering::Relaxed);
    (0..THREADS).for_each(|_| pool.spawn(FEED));
    std::thread::sleep(PACE * 5);
    let (mut delays, mut sent, mut lost) = (Vec::new(), 0, 0);
    for _ in 0..samples {
        let now = now_ns();
        pool.spawn(now);
        sent += 1;
        std::thread::sleep(PACE);
        while shared.started.load(Ordering::Acquire) < sent && now_ns() - now < PATIENCE.as_nanos() as u64 {
            std::thread::sleep(PACE);
        }
        if shared.started.load(Ordering::Acquire) == sent {
            delays.push(shared.delay_ns.load(Ordering::Relaxed));
            lost = 0;
        } else {
            delays.push(PATIENCE.as_nanos() as u64);
            lost += 1;
        }
        if lost == LOST_MAX {
            break;
        }
    }
    shared.stop.store(true, Ordering::Relaxed);
    while shared.started.load(Ordering::Acquire) < sent {
        std::thread::sleep(PACE);
    }
    let mut delays: Vec<f64> = delays.into_iter().map(|ns| ns as f64 / 1e3).collect();
    delays.sort_by(f64::total_cmp);
    Outcome {
        answer: u64::from(shared.started.load(Ordering::Acquire) == sent),
        measured: vec![percentile(&delays, 50.0), percentile(&delays, 99.0)],
        ..Outcome::default()
    }
}
