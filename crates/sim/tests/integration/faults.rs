//! Each fault strikes, does what its name says, and afterwards everything finishes.

use std::collections::{BTreeMap, BTreeSet};

use sim::{
    Course, CoveragePoint, Ending, Event, Fault, Faults, Object, Op, RunOptions, Scenario, Simulation,
    StrategyKind, WordName,
};

fn explore(fields: &str, seeds: u64) -> Vec<Course> {
    let scenario =
        Scenario::from_fields(fields.parse().expect("it is well formed")).expect("it is a scenario");
    let runs = (0..seeds).flat_map(|seed| {
        [StrategyKind::Random, StrategyKind::Sticky].map(|strategy| {
            let run = scenario.run(strategy, seed, RunOptions::default());
            run.unwrap_or_else(|failure| panic!("{failure}")).course
        })
    });
    runs.collect()
}

#[test]
fn after_each_kind_of_fault_has_stopped_everything_finishes() {
    for &fault in Fault::ALL {
        let load = match fault {
            Fault::LongSlot => "jobs,jobs=2,slots=8,spares=2,long_slot_ns=50000",
            _ => "tree,roots=2,size=3",
        };
        let fields = format!(
            "scenario={load},workers=3,producers=2,timeout_ns=200000,spin=0,{}=4",
            fault.key()
        );
        let struck: u32 = explore(&fields, 300)
            .iter()
            .map(|course| course.faults.of(fault))
            .sum();
        assert!(struck > 0, "{} never struck", fault.name());
    }
}

#[test]
fn all_kinds_of_faults_together_end_as_well() {
    let budgets = Fault::ALL.iter().map(|fault| format!(",{}=6", fault.key()));
    let fields: String = std::iter::once("scenario=mixed,roots=3,size=12,workers=4,producers=2".to_owned())
        .chain(budgets)
        .collect();
    let mut struck = Faults::NONE;
    explore(&fields, 500)
        .iter()
        .for_each(|course| struck.merge(&course.faults));
    assert!(
        struck.stalls > 0 && struck.retry_bursts > 0 && struck.overflows > 0,
        "{struck:?}"
    );
}

#[test]
fn a_budget_is_never_overdrawn() {
    for course in explore(
        "scenario=fan,roots=2,size=9,workers=3,stalls=2,storms=1,ties=3,spurious=1",
        200,
    ) {
        let Faults {
            stalls,
            retry_bursts,
            ties,
            spurious_wakes,
            ..
        } = course.faults;
        assert!(
            stalls <= 2 && retry_bursts <= 1 && ties <= 3 && spurious_wakes <= 1,
            "{}",
            course.line
        );
    }
}

/// A run without faults draws the random numbers of a time before faults existed.
#[test]
fn a_fault_without_a_budget_asks_nothing() {
    let numbers = |fields: &str| -> Vec<usize> {
        explore(fields, 20)
            .iter()
            .map(|course| course.choices.numbers.len())
            .collect()
    };
    let close = numbers("scenario=flat,roots=4,workers=1,end=close");
    assert_eq!(close, [2; 40], "the pause before the close is all");
}

#[test]
fn a_burst_outlasts_what_a_worker_spins_through() {
    let courses = explore("scenario=flat,roots=9,workers=2,storms=3", 200);
    let bursts = courses
        .iter()
        .filter(|course| course.coverage.count(CoveragePoint::BurstOutlastsSpinning) > 0);
    assert!(bursts.count() > 0);
}

#[test]
fn an_open_gate_refuses_what_the_count_has_no_room_for_and_workers_still_borrow() {
    let courses = explore(
        "scenario=chain,roots=9,size=3,workers=2,producers=2,overflows=3,credit=2",
        300,
    );
    for point in [CoveragePoint::RefusedFull, CoveragePoint::BorrowedBeyondMax] {
        let hits: u64 = courses.iter().map(|course| course.coverage.count(point)).sum();
        assert!(hits > 0, "{}", point.name());
    }
}

#[test]
fn a_failed_start_is_the_end_of_those_that_began() {
    for course in explore("scenario=flat,roots=5,workers=3,failed_starts=1", 200) {
        if course.faults.failed_starts > 0 {
            let ran = course.events.iter().any(|event| event.op == Op::Start);
            assert!(!ran, "{}", course.line);
        }
    }
}

#[test]
fn a_panic_strikes_between_two_spawns() {
    let mut between = 0;
    for seed in 0..300 {
        let report = Simulation::new(seed)
            .workers(2)
            .keep_events(true)
            .faults(Faults {
                panics_inside: 1,
                ..Faults::NONE
            })
            .run(
                [9_u32],
                |_| (),
                |task, cx| {
                    if task == 9 {
                        (0..8).for_each(|child| executor_core::TaskCtx::spawn_local(cx, child));
                    }
                },
            )
            .unwrap_or_else(|failure| panic!("{failure}"));
        let pushes = report
            .course
            .events
            .iter()
            .filter(|event| matches!(event.op, Op::Push | Op::Keep));
        let pushes = pushes.count();
        assert_eq!(
            pushes < 8,
            report.course.faults.panics_inside > 0,
            "{}",
            report.course.line
        );
        between += u32::from((1..8).contains(&pushes));
    }
    assert!(between > 0);
}

#[test]
fn a_hook_that_panics_loses_no_task_but_the_one_it_was_told_of() {
    let mut dropped = 0;
    for seed in 0..600 {
        let report = Simulation::new(seed)
            .workers(2)
            .producers(2)
            .faults(Faults {
                hook_panics: 2,
                ..Faults::NONE
            })
            .run(
                0..12_u32,
                |_| 0,
                |_, cx| *executor_core::TaskCtx::scratch(cx) += 1,
            )
            .unwrap_or_else(|failure| panic!("{failure}"));
        let ran: usize = report.scratches.iter().sum();
        let gone = report.course.coverage.count(CoveragePoint::HookDroppedTask) as usize;
        assert_eq!(
            ran + report.handed_back.len() + report.refused.len() + gone,
            12,
            "{}",
            report.course.line
        );
        dropped += gone;
    }
    assert!(dropped > 0);
}

fn point(event: &Event) -> (u8, Option<WordName>) {
    let word = match event.object {
        Object::Word(word) => Some(word),
        _ => None,
    };
    (event.op as u8, word)
}

/// Operations that occur less than a thousand times are not judged: a run has some hundred points.
#[test]
fn a_close_and_an_abort_reach_every_point() {
    for ending in [Ending::Close, Ending::Abort] {
        let (mut reachable, mut reached) = (Vec::new(), Vec::new());
        for seed in 0..4_000 {
            let report = Simulation::new(seed)
                .workers(2)
                .ending(ending)
                .strategy([StrategyKind::Random, StrategyKind::Sticky][seed as usize % 2])
                .keep_events(true)
                .run(
                    0..3_u32,
                    |_| (),
                    |task, cx| {
                        if task < 2 {
                            executor_core::TaskCtx::spawn_local(cx, task + 3);
                        }
                    },
                )
                .unwrap_or_else(|failure| panic!("{failure}"));
            let events = &report.course.events;
            let closes = |event: &Event| {
                event.actor == 3 && event.op == Op::Fetch && event.object == Object::Word(WordName::State)
            };
            let close = events.iter().position(closes).expect("somebody closes");
            for worker in 0..2 {
                let mut own = events[..close]
                    .iter()
                    .filter(|event| event.actor == worker)
                    .map(point);
                reached.extend(own.next_back());
                reachable.extend(own);
            }
        }
        let name = |point: &(u8, Option<WordName>)| format!("{point:?}");
        let reached: BTreeSet<String> = reached.iter().map(name).collect();
        let mut often = BTreeMap::<String, u32>::new();
        for point in &reachable {
            *often.entry(name(point)).or_default() += 1;
        }
        often.retain(|_, times| *times >= 1_000);
        let missed: Vec<&String> = often.keys().filter(|point| !reached.contains(*point)).collect();
        assert!(missed.is_empty(), "{ending}: never right after {missed:?}");
        assert!(often.len() > 15, "{often:?}");
    }
}
