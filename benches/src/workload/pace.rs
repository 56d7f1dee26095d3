//! A task a millisecond: what it costs to fall asleep and to be woken, all the time.

use std::time::{Duration, Instant};

use super::{Column, Effort, Workload};
use crate::contender::{Contender, Named, Role};
use crate::pool::{self, Ours};
use crate::target::{ALL_PEERS, Target};

const PACE: Duration = Duration::from_millis(1);

pub(super) fn workload(effort: Effort) -> Workload {
    let tasks = effort.of(1_000, 200);
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    for pool in pool::all(
        &[Ours::plain(), Ours::pinned()],
        |n: u64, _: &mut dyn FnMut(u64)| n,
    ) {
        let start = move || {
            let mut pool = (pool.start)();
            move || {
                paced(tasks, |n| pool.spawn(n));
                pool.wait(tasks).into()
            }
        };
        contenders.push(Named::new(pool.name, pool.role, start).boxed());
    }
    contenders.push(
        Named::new("the producer alone", Role::Baseline, move || {
            move || {
                let mut sum = 0;
                paced(tasks, |n| sum += n);
                sum.into()
            }
        })
        .boxed(),
    );
    Workload {
        name: "one task per ms".to_owned(),
        story: format!(
            "An empty task every millisecond from outside, {tasks} of them; CPU time of the whole process."
        ),
        units: tasks,
        columns: vec![Column::CpuPercent],
        warm_ups: 0,
        rounds_max: 5,
        answer: Box::new(move || tasks * (tasks - 1) / 2),
        contenders,
        targets: vec![Target::at_most(1.0, ALL_PEERS)],
        is_elsewhere: false,
        family: None,
    }
}

/// Calls `spawn` with each number when it is due; a late one does not delay the others.
fn paced(tasks: u64, mut spawn: impl FnMut(u64)) {
    let mut due = Instant::now();
    for n in 0..tasks {
        due += PACE;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        spawn(n);
    }
}
