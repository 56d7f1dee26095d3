//! Loads that need no two roles: all heavy, and all light. What the split costs them.

use std::sync::Arc;

use super::burning::{Burning, serial};
use super::{builder, started};
use crate::THREADS;
use crate::burn::STEPS_1_MS;
use crate::contender::{self, Contender, Named, Role};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

/// At least as fast as one role for all, but for so much.
const AIM: f64 = 0.97;

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        workload(
            "pipeline, all heavy",
            "8 jobs of 100 slots of some 250 µs, submitted at once.",
            8,
            100,
            STEPS_1_MS / 4,
        ),
        workload(
            "pipeline, all light",
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
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
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
                sums.fold(0, u64::wrapping_add).into()
            }
        };
        contenders.push(Named::new(name, Role::Ours, start).boxed());
    }
    let alone = move || (0..jobs).map(|_| serial(slots, steps)).fold(0, u64::wrapping_add);
    contenders.push(contender::serial(alone));
    Workload {
        name: name.to_owned(),
        story: format!("{story} One worker of each role, or one role for both."),
        units: 1,
        columns: vec![Column::PerUnit {
            head: "makespan, ms",
            ns: 1e6,
        }],
        warm_ups: 1,
        rounds_max: usize::MAX,
        answer: Box::new(alone),
        contenders,
        targets: vec![
            Target::as_fast(AIM, Of::Row("windlass, main only")),
            Target::as_fast(AIM, Of::Row("windlass, reserve only")),
        ],
        is_elsewhere: false,
        family: None,
    }
}
