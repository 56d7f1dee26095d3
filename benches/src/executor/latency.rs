//! From idle to the first instruction of a task: the cost of a wake-up.

use std::time::Duration;

use crate::burn::now_ns;
use crate::contender::Outcome;
use crate::options::Options;
use crate::pool::{self, Ours};
use crate::stats::percentile;
use crate::target::{ALL_PEERS, Target};
use crate::workload::{Column, Workload};

/// Long enough for every peer's threads to fall asleep.
const PACE: Duration = Duration::from_micros(500);
const ROUNDS: u64 = 10;

pub(super) fn workload(options: &Options) -> Workload {
    let samples = options.of(1_000, 200);
    // A task is the moment of its hand-over.
    let since = |sent: u64, _: &mut dyn FnMut(u64)| now_ns() - sent;
    let rows = pool::rows(&[Ours::plain(), Ours::pinned()], since, move |pool| {
        let mut delay = |_| {
            pool.spawn(now_ns());
            // The task runs meanwhile. A woken caller would move to the worker's core.
            std::thread::sleep(PACE);
            pool.wait(1)
        };
        let mut delays: Vec<f64> = (0..samples).map(|n| delay(n) as f64 / 1e3).collect();
        delays.sort_by(f64::total_cmp);
        Outcome {
            answer: delays.len() as u64,
            measured: vec![percentile(&delays, 50.0), percentile(&delays, 99.0)],
            ..Outcome::default()
        }
    });
    Workload::new(
        "idle to start",
        format!(
            "One task every 500 µs from outside, to workers that sleep: from the call that hands it \
             over to its first instruction. The caller sleeps meanwhile. Median and 99th percentile \
             of {samples} a round."
        ),
    )
    .units(samples)
    .columns([Column::measured("p50, µs", 0), Column::measured("p99, µs", 1)])
    .cold()
    .rounds_max(ROUNDS as usize)
    .answer(move || samples)
    .rows(rows)
    .targets([
        Target::at_most(1.1, ALL_PEERS),
        Target::at_most(1.1, ALL_PEERS).column(1),
    ])
}
