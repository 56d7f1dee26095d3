//! Loads that need only one role, all heavy or all light: the cost of the split.

use std::sync::Arc;

use super::burning::{Burning, serial};
use super::{builder, started};
use crate::THREADS;
use crate::burn::STEPS_1_MS;
use crate::contender::Contender;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

/// Least throughput, as a part of that of one role for all.
const AIM: f64 = 0.97;

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        workload(
            "all heavy",
            "8 jobs of 100 slots of some 250 µs, submitted at once.",
            8,
            100,
            STEPS_1_MS / 4,
        ),
        workload(
            "all light",
            "10,000 jobs of one slot of some 10 µs, submitted at once.",
            10_000,
            1,
            STEPS_1_MS / 100,
        ),
    ]
}

fn workload(name: &str, story: &str, jobs: usize, slots: usize, steps: u64) -> Workload {
    let rows = [
        ("windlass", builder()),
        ("windlass, main only", builder().roles(THREADS, 0)),
        ("windlass, reserve only", builder().roles(0, THREADS)),
    ];
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, builder) in rows {
        let start = move || {
            let executor = started(builder.clone());
            move || {
                let submit = |_| {
                    let stage = Burning::new(slots, steps);
                    let ticket = executor.submit(stage.job()).expect("there is room");
                    (stage, ticket)
                };
                let submitted: Vec<(Arc<Burning>, _)> = (0..jobs).map(submit).collect();
                let sums = submitted.into_iter().map(|(stage, ticket)| {
                    ticket.wait().expect("no slot fails");
                    stage.sum()
                });
                sums.fold(0, u64::wrapping_add)
            }
        };
        contenders.push(Contender::ours(name, start));
    }
    let alone = move || (0..jobs).map(|_| serial(slots, steps)).fold(0, u64::wrapping_add);
    contenders.push(Contender::serial(alone));
    Workload::new(
        name,
        format!("{story} One worker of each role, or one role for both."),
    )
    .columns([Column::ms_per("makespan, ms")])
    .answer(alone)
    .rows(contenders)
    .targets([
        Target::as_fast(AIM, Of::Row("windlass, main only")),
        Target::as_fast(AIM, Of::Row("windlass, reserve only")),
    ])
}
