//! Producers outside hand over tasks: the cost of entry and of waking.

use crate::burn::{STEPS_180_NS, burn};
use crate::contender::Contender;
use crate::pool::{self, Ours, Pool, Work};
use crate::target::{ALL_PEERS, Of, Target};
use crate::workload::{Column, Workload};

const TASKS: u64 = 300_000;
const BATCH: u64 = 1_000;

/// Steps of 200 ns, somewhat more than in the fan-out.
const STEPS: u64 = STEPS_180_NS / 9 * 10;

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        workload(
            "producer, empty tasks",
            "300,000 tasks that only add their number, one by one from one thread outside. Measured \
             until all have run.",
            empty,
            one_by_one,
            vec![Target::at_most(1.0, ALL_PEERS)],
            false,
        ),
        workload(
            "producer, batches",
            "300,000 tasks that only add their number from one thread outside, ours in batches of \
             1,000, the peers' as they can: one by one.",
            empty,
            in_batches,
            vec![Target::at_most(0.2, ALL_PEERS)],
            false,
        ),
        workload(
            "producer, 200 ns tasks",
            "300,000 tasks of some 200 ns, one by one from one thread outside.",
            working,
            one_by_one,
            vec![Target::at_most(0.7, ALL_PEERS), Target::told(Of::HALF_OF_SERIAL)],
            true,
        ),
        workload(
            "two producers, empty tasks",
            "150,000 tasks that only add their number from each of two threads outside, one by one.",
            empty,
            from_two_threads,
            vec![Target::at_most(1.0, ALL_PEERS)],
            false,
        ),
    ]
}

fn workload(
    name: &str,
    story: &str,
    work: impl Work<u64>,
    produce: fn(&dyn Pool<u64>),
    targets: Vec<Target>,
    with_serial: bool,
) -> Workload {
    let alone = work.clone();
    let serial = move || {
        (0..TASKS)
            .map(|n| alone(n, &mut |_| {}))
            .fold(0, u64::wrapping_add)
    };
    let answer = serial.clone();
    let mut rows = pool::rows(&[Ours::plain(), Ours::pinned()], work, move |pool| {
        produce(pool);
        pool.wait(TASKS)
    });
    if with_serial {
        rows.push(Contender::serial(serial));
    }
    Workload::new(name, story)
        .units(TASKS)
        .columns([Column::ns_per("ns per task")])
        .answer(answer)
        .rows(rows)
        .targets(targets)
}

fn empty(n: u64, _: &mut dyn FnMut(u64)) -> u64 {
    std::hint::black_box(n)
}

fn working(n: u64, _: &mut dyn FnMut(u64)) -> u64 {
    burn(n, STEPS)
}

fn one_by_one(pool: &dyn Pool<u64>) {
    (0..TASKS).for_each(|n| pool.spawn(n));
}

fn in_batches(pool: &dyn Pool<u64>) {
    for first in (0..TASKS).step_by(BATCH as usize) {
        pool.spawn_batch((first..first + BATCH).collect());
    }
}

fn from_two_threads(pool: &dyn Pool<u64>) {
    std::thread::scope(|scope| {
        scope.spawn(|| (0..TASKS / 2).for_each(|n| pool.spawn(n)));
        (TASKS / 2..TASKS).for_each(|n| pool.spawn(n));
    });
}
