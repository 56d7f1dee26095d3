//! A task a millisecond: the cost of falling asleep and waking all the time.

use std::time::{Duration, Instant};

use crate::contender::Contender;
use crate::options::Options;
use crate::pool::{self, Ours};
use crate::target::{ALL_PEERS, Target};
use crate::workload::{Column, Workload};

const PACE: Duration = Duration::from_millis(1);

pub(super) fn workload(options: &Options) -> Workload {
    let tasks = options.of(1_000, 200);
    let add = |n: u64, _: &mut dyn FnMut(u64)| n;
    let mut rows = pool::rows(&[Ours::plain(), Ours::pinned()], add, move |pool| {
        paced(tasks, |n| pool.spawn(n));
        pool.wait(tasks)
    });
    rows.push(Contender::baseline("the producer alone", move || {
        move || {
            let mut sum = 0;
            paced(tasks, |n| sum += n);
            sum
        }
    }));
    Workload::new(
        "one task per ms",
        format!(
            "An empty task every millisecond from outside, {tasks} of them; CPU time of the whole process."
        ),
    )
    .units(tasks)
    .columns([Column::CpuPercent])
    .cold()
    .rounds_max(5)
    .answer(move || tasks * (tasks - 1) / 2)
    .rows(rows)
    .targets([Target::at_most(1.0, ALL_PEERS)])
}

/// A late call does not delay the others.
fn paced(tasks: u64, mut spawn: impl FnMut(u64)) {
    let mut due = Instant::now();
    for n in 0..tasks {
        due += PACE;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        spawn(n);
    }
}
