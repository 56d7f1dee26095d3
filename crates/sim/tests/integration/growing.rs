//! Jobs that grow on the pipeline policy: tasks join and leave, wait, are woken and cancelled, at any moment.

use sim::{Mark, Marks, RunOptions, Scenario, StrategyKind};

/// Runs jobs, half of which grow, under many schedules, none of which may fail; adds up the situations reached.
fn explore(fields: &str, seeds: u64) -> Marks {
    let fields = format!("scenario=jobs,jobs=4,tasks=4,slots=3,spin=0,{fields}");
    let scenario =
        Scenario::from_fields(fields.parse().expect("it is well formed")).expect("it is a scenario");
    let mut marks = Marks::default();
    for seed in 0..seeds {
        for strategy in [StrategyKind::Random, StrategyKind::Sticky] {
            let run = scenario.run(strategy, seed, RunOptions::default());
            let summary = run.unwrap_or_else(|failure| panic!("{failure}"));
            marks.merge(&summary.course.marks);
        }
    }
    marks
}

fn assert_hit(marks: &Marks, expected: &[Mark]) {
    for mark in expected {
        assert!(marks.count(*mark) > 0, "{}", mark.name());
    }
}

#[test]
fn tasks_that_are_joined_by_channels_come_to_their_end() {
    let marks = explore("workers=3,reserve=1", 200);
    assert_eq!(marks.count(Mark::JobCompleted), 2 * 200 * 4);
    assert_hit(
        &marks,
        &[
            Mark::TaskWokenParked,
            Mark::TaskWokenInTurn,
            Mark::TaskWokenReady,
            Mark::TaskWokenOver,
            Mark::TaskAddedInTurn,
            Mark::EndedByHandle,
        ],
    );
}

#[test]
fn a_cancel_of_a_task_or_of_a_job_leaves_no_task_behind() {
    let marks = explore("workers=2,cancels=3,producers=2,slot_ns=300", 300);
    assert_hit(
        &marks,
        &[
            Mark::JobCancelled,
            Mark::JobCompleted,
            Mark::TaskCancelledParked,
            Mark::TaskCancelledInTurn,
            Mark::ClosedOverParked,
            Mark::ClosedOverTurn,
        ],
    );
}

#[test]
fn a_shutdown_at_any_moment_drops_parked_tasks_and_hands_late_ones_back() {
    let marks = explore("workers=2,producers=2,end=abort,slot_ns=300", 300);
    assert_hit(
        &marks,
        &[Mark::ClosedOverParked, Mark::TaskGivenBack, Mark::JobCancelled],
    );
}

#[test]
fn a_drain_waits_for_every_task() {
    let marks = explore("workers=2,producers=2,end=close", 300);
    assert_hit(&marks, &[Mark::JobCompleted, Mark::JobRefusedClosed]);
    assert_eq!(marks.count(Mark::JobCancelled), 0);
}

#[test]
fn turns_that_fail_or_panic_and_jobs_that_are_late_end_early_and_others_go_on() {
    let marks = explore("workers=3,troubles=true,nests=true", 300);
    assert_hit(&marks, &[Mark::JobFailed, Mark::JobLate, Mark::JobCompleted]);
}

#[test]
fn a_thread_that_is_lent_runs_turns() {
    let marks = explore("workers=2,lends=true,producers=2", 300);
    assert_hit(&marks, &[Mark::LentThreadRanTurn, Mark::LentThreadWoken]);
}
