//! One job, cut into equal slots: what a second worker brings, and what a slot costs when it is small.

use rayon::prelude::*;

use super::burning::{Burning, serial};
use super::{builder, rayon_of, started};
use crate::THREADS;
use crate::burn::{STEPS_1_MS, burn};
use crate::contender::{self, Contender, Named, Role};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

/// Jobs of a kind, one after the other, each waited for.
#[derive(Clone, Copy)]
struct Jobs {
    jobs: usize,
    slots: usize,
    steps: u64,
}

pub(super) fn workloads() -> Vec<Workload> {
    let large = |name: &str, jobs, slots, steps, story: &str| {
        let column = Column::PerUnit {
            head: "ms per job",
            ns: 1e6,
        };
        let targets = vec![
            Target::as_fast(1.95, Of::Row("windlass, 1 worker")),
            Target::told(Of::Share {
                row: "serial",
                times: 0.5,
                called: "the limit, serial / 2",
            }),
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
            "pipeline, job of 1000 slots",
            1,
            1_000,
            STEPS_1_MS / 10,
            "A job of 1,000 slots of some 100 µs.",
        ),
        large(
            "pipeline, job of 100 slots",
            1,
            100,
            STEPS_1_MS,
            "A job of 100 slots of some 1 ms.",
        ),
        large(
            "pipeline, job of 10 slots",
            10,
            10,
            STEPS_1_MS,
            "Ten jobs of 10 slots of some 1 ms, each waited for before the next.",
        ),
        small(
            "pipeline, slots of 1 µs",
            100_000,
            STEPS_1_MS / 1_000,
            "A job of 100,000 slots of some 1 µs; rayon cuts the range as it likes best.",
        ),
        small(
            "pipeline, slots of 100 ns",
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
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
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
                .into()
            }
        };
        contenders.push(Named::new(name, Role::Ours, start).boxed());
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
                .into()
            }
        };
        contenders.push(Named::new(name, Role::Peer, start).boxed());
    }
    let start = move || {
        let pool = rayon_of(THREADS);
        move || times(jobs, || spawned(&pool, slots, steps)).into()
    };
    contenders.push(Named::new("rayon scope", Role::Peer, start).boxed());
    contenders.push(contender::serial(alone));
    Workload {
        name: name.to_owned(),
        story: story.to_owned(),
        units,
        columns: vec![column],
        warm_ups: 1,
        rounds_max: usize::MAX,
        answer: Box::new(alone),
        contenders,
        targets,
        is_elsewhere: false,
        family: None,
    }
}

fn times(jobs: usize, mut job: impl FnMut() -> u64) -> u64 {
    (0..jobs).map(|_| job()).fold(0, u64::wrapping_add)
}

/// A task for each slot, as a queue of slots would have it.
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
