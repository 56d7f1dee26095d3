//! One job of equal slots: the gain of a second worker, and the cost of a small slot.

use rayon::prelude::*;

use super::burning::{Burning, serial};
use super::{builder, rayon_of, started};
use crate::THREADS;
use crate::burn::{STEPS_1_MS, burn};
use crate::contender::Contender;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

#[derive(Clone, Copy)]
struct Jobs {
    jobs: usize,
    slots: usize,
    steps: u64,
}

pub(super) fn workloads() -> Vec<Workload> {
    let large = |name: &str, jobs, slots, steps, story: &str| {
        let column = Column::ms_per("ms per job");
        let targets = vec![
            Target::as_fast(1.95, Of::Row("windlass, 1 worker")),
            Target::told(Of::HALF_OF_SERIAL),
        ];
        let jobs = Jobs { jobs, slots, steps };
        workload(name, story, jobs, jobs.jobs as u64, column, targets)
    };
    let small = |name: &str, slots, steps, story: &str| {
        let column = Column::ns_per("ns per slot");
        let targets = vec![Target::told(Of::Best(&["rayon par_iter"]))];
        let jobs = Jobs {
            jobs: 1,
            slots,
            steps,
        };
        workload(name, story, jobs, slots as u64, column, targets)
    };
    vec![
        large(
            "job of 1000 slots",
            1,
            1_000,
            STEPS_1_MS / 10,
            "A job of 1,000 slots of some 100 µs.",
        ),
        large(
            "job of 100 slots",
            1,
            100,
            STEPS_1_MS,
            "A job of 100 slots of some 1 ms.",
        ),
        large(
            "job of 10 slots",
            10,
            10,
            STEPS_1_MS,
            "Ten jobs of 10 slots of some 1 ms, each waited for before the next.",
        ),
        small(
            "slots of 1 µs",
            100_000,
            STEPS_1_MS / 1_000,
            "A job of 100,000 slots of some 1 µs; rayon cuts the range as it likes best.",
        ),
        small(
            "slots of 100 ns",
            100_000,
            STEPS_1_MS / 10_000,
            "A job of 100,000 slots of some 100 ns; rayon cuts the range as it likes best.",
        ),
    ]
}

fn workload(
    name: &str,
    story: &str,
    jobs: Jobs,
    units: u64,
    column: Column,
    targets: Vec<Target>,
) -> Workload {
    let Jobs { jobs, slots, steps } = jobs;
    let alone = move || times(jobs, || serial(slots, steps));
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, threads) in [("windlass", THREADS), ("windlass, 1 worker", 1)] {
        let start = move || {
            let executor = started(builder().threads(threads));
            move || {
                times(jobs, || {
                    let stage = Burning::new(slots, steps);
                    let ticket = executor.submit(stage.job()).expect("there is room");
                    let report = ticket.wait().expect("no slot fails");
                    assert_eq!(report.slots, slots);
                    stage.sum()
                })
            }
        };
        contenders.push(Contender::ours(name, start));
    }
    for (name, threads) in [("rayon par_iter", THREADS), ("rayon par_iter, 1 thread", 1)] {
        let start = move || {
            let pool = rayon_of(threads);
            move || {
                times(jobs, || {
                    pool.install(|| {
                        let slots = (0..slots).into_par_iter();
                        slots
                            .map(|slot| burn(slot as u64, steps))
                            .reduce(|| 0, u64::wrapping_add)
                    })
                })
            }
        };
        contenders.push(Contender::peer(name, start));
    }
    let start = move || {
        let pool = rayon_of(THREADS);
        move || times(jobs, || spawned(&pool, slots, steps))
    };
    contenders.push(Contender::peer("rayon scope", start));
    contenders.push(Contender::serial(alone));
    Workload::new(name, story)
        .units(units)
        .columns([column])
        .answer(alone)
        .rows(contenders)
        .targets(targets)
}

fn times(jobs: usize, mut job: impl FnMut() -> u64) -> u64 {
    (0..jobs).map(|_| job()).fold(0, u64::wrapping_add)
}

/// A task for each slot.
fn spawned(pool: &rayon::ThreadPool, slots: usize, steps: u64) -> u64 {
    let stage = Burning::new(slots, steps);
    pool.scope(|scope| {
        for slot in 0..slots {
            let stage = &stage;
            scope.spawn(move |_| {
                let thread = rayon::current_thread_index().expect("it is one of the pool's");
                stage.burn(slot, thread);
            });
        }
    });
    stage.sum()
}
