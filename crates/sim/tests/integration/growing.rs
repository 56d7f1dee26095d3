//! Growing jobs: tasks join, leave, wait, are woken and cancelled at any moment.

use sim::{Coverage, CoveragePoint, RunOptions, Scenario, StrategyKind};

/// Half of the jobs grow.
fn explore(fields: &str, seeds: u64) -> Coverage {
    let fields = format!("scenario=jobs,jobs=4,tasks=4,slots=3,spin=0,{fields}");
    let scenario =
        Scenario::from_fields(fields.parse().expect("it is well formed")).expect("it is a scenario");
    let mut coverage = Coverage::default();
    for seed in 0..seeds {
        for strategy in [StrategyKind::Random, StrategyKind::Sticky] {
            let run = scenario.run(strategy, seed, RunOptions::default());
            let summary = run.unwrap_or_else(|failure| panic!("{failure}"));
            coverage.merge(&summary.course.coverage);
        }
    }
    coverage
}

fn assert_hit(coverage: &Coverage, expected: &[CoveragePoint]) {
    for point in expected {
        assert!(coverage.count(*point) > 0, "{}", point.name());
    }
}

#[test]
fn tasks_that_are_joined_by_channels_come_to_their_end() {
    let coverage = explore("workers=3,reserve=1", 200);
    assert_eq!(coverage.count(CoveragePoint::JobCompleted), 2 * 200 * 4);
    assert_hit(
        &coverage,
        &[
            CoveragePoint::TaskWokenParked,
            CoveragePoint::TaskWokenInTurn,
            CoveragePoint::TaskWokenReady,
            CoveragePoint::TaskWokenOver,
            CoveragePoint::TaskAddedInTurn,
            CoveragePoint::EndedByHandle,
        ],
    );
}

#[test]
fn a_cancel_of_a_task_or_of_a_job_leaves_no_task_behind() {
    let coverage = explore("workers=2,cancels=3,producers=2,slot_ns=300", 300);
    assert_hit(
        &coverage,
        &[
            CoveragePoint::JobCancelled,
            CoveragePoint::JobCompleted,
            CoveragePoint::TaskCancelledParked,
            CoveragePoint::TaskCancelledInTurn,
            CoveragePoint::ClosedOverParked,
            CoveragePoint::ClosedOverTurn,
        ],
    );
}

#[test]
fn a_shutdown_at_any_moment_drops_parked_tasks_and_hands_late_ones_back() {
    let coverage = explore("workers=2,producers=2,end=abort,slot_ns=300", 300);
    assert_hit(
        &coverage,
        &[
            CoveragePoint::ClosedOverParked,
            CoveragePoint::TaskGivenBack,
            CoveragePoint::JobCancelled,
        ],
    );
}

#[test]
fn a_drain_waits_for_every_task() {
    let coverage = explore("workers=2,producers=2,end=close", 300);
    assert_hit(
        &coverage,
        &[CoveragePoint::JobCompleted, CoveragePoint::JobRefusedClosed],
    );
    assert_eq!(coverage.count(CoveragePoint::JobCancelled), 0);
}

#[test]
fn turns_that_fail_or_panic_and_jobs_that_are_late_end_early_and_others_go_on() {
    let coverage = explore("workers=3,troubles=true,nests=true", 300);
    assert_hit(
        &coverage,
        &[
            CoveragePoint::JobFailed,
            CoveragePoint::JobLate,
            CoveragePoint::JobCompleted,
        ],
    );
}

#[test]
fn a_thread_that_is_lent_runs_turns() {
    let coverage = explore("workers=2,lends=true,producers=2", 300);
    assert_hit(
        &coverage,
        &[CoveragePoint::LentThreadRanTurn, CoveragePoint::LentThreadWoken],
    );
}
