//! From idle to the first instruction of a task: what a wake-up costs.

use std::time::Duration;

use super::{Column, Effort, Workload};
use crate::burn::now_ns;
use crate::contender::{Contender, Named, Outcome};
use crate::percentile::percentile;
use crate::pool::{self, Ours};
use crate::target::{ALL_PEERS, Target};

/// Long enough for every peer's threads to fall asleep between two tasks.
const PACE: Duration = Duration::from_micros(500);
const ROUNDS: u64 = 10;

pub(super) fn workload(effort: Effort) -> Workload {
    let samples = effort.of(1_000, 200);
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    // A task is the moment when it was handed over, and its result how long ago that was when it started.
    let since = |sent: u64, _: &mut dyn FnMut(u64)| now_ns() - sent;
    for pool in pool::all(&[Ours::plain(), Ours::pinned()], since) {
        let start = move || {
            let mut pool = (pool.start)();
            move || {
                let mut delay = |_| {
                    pool.spawn(now_ns());
                    // By then it has long run: nobody has to wake the caller, which would move it to the worker's core.
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
            }
        };
        contenders.push(Named::new(pool.name, pool.role, start).boxed());
    }
    let column = |head, index| Column::Measured { head, index };
    Workload {
        name: "idle to start".to_owned(),
        story: format!(
            "One task every 500 µs from outside, to workers that sleep: from the call that hands it over to its first \
             instruction. The caller sleeps meanwhile. Median and 99th percentile of {samples} a round."
        ),
        units: samples,
        columns: vec![column("p50, µs", 0), column("p99, µs", 1)],
        warm_ups: 0,
        rounds_max: ROUNDS as usize,
        answer: Box::new(move || samples),
        contenders,
        targets: vec![
            Target::at_most(1.1, ALL_PEERS),
            Target::at_most(1.1, ALL_PEERS).column(1),
        ],
        is_elsewhere: false,
        family: None,
    }
}
