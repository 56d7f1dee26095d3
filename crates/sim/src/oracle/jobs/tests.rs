//! Each kind of violation is noticed, by an oracle of one job.

use super::*;

const JOB: JobHandle = JobHandle {
    rank: 5,
    seq: 3,
    index: 0,
};

fn oracle() -> JobOracle {
    JobOracle {
        jobs: vec![Record {
            job: JOB,
            appended: false,
            single_since: None,
            grows: false,
            limited: false,
            stages: vec![StageRecord {
                slots: Some(vec![Slot::Free; 2]),
                ..StageRecord::default()
            }],
            open_since: None,
            opened_by: 0,
            admitted: None,
            started: 0,
            keyed: 0,
            end: None,
            ended: None,
        }],
        ..JobOracle::default()
    }
}

fn says(verdict: Result<(), Violation>) -> Oracle {
    verdict.expect_err("the oracle speaks").oracle
}

#[test]
fn a_slot_that_is_claimed_twice_is_noticed() {
    let mut oracle = oracle();
    assert_eq!(oracle.claimed(JOB, 0, 0, 2), Ok(()));
    assert_eq!(says(oracle.claimed(JOB, 0, 1, 1)), Oracle::Claims);
}

#[test]
fn a_slot_that_runs_twice_or_unclaimed_is_noticed() {
    let mut oracle = oracle();
    assert_eq!(oracle.claimed(JOB, 0, 0, 1), Ok(()));
    assert_eq!(oracle.slot_ran(JOB, 0, 0, false), Ok(()));
    assert_eq!(says(oracle.slot_ran(JOB, 0, 0, false)), Oracle::Claims);
    assert_eq!(says(oracle.slot_ran(JOB, 0, 1, false)), Oracle::Claims);
}

#[test]
fn a_slot_that_runs_in_a_closed_job_is_noticed() {
    let mut oracle = oracle();
    assert_eq!(oracle.claimed(JOB, 0, 0, 2), Ok(()));
    assert_eq!(oracle.slot_ran(JOB, 0, 0, false), Ok(()));
    assert_eq!(says(oracle.slot_ran(JOB, 0, 1, true)), Oracle::Claims);
}

#[test]
fn a_stage_that_starts_twice_or_before_another_is_over_is_noticed() {
    let mut oracle = oracle();
    oracle.jobs[0].stages.push(StageRecord {
        before: vec![0],
        ..StageRecord::default()
    });
    assert_eq!(says(oracle.stage_started(JOB, 1, 3)), Oracle::Claims);
    oracle.jobs[0].stages[0].over = true;
    assert_eq!(oracle.stage_started(JOB, 1, 3), Ok(()));
    assert_eq!(says(oracle.stage_started(JOB, 1, 3)), Oracle::Claims);
}

#[test]
fn slots_that_are_given_back_can_be_claimed_again_and_those_given_up_cannot() {
    let mut oracle = oracle();
    assert_eq!(oracle.claimed(JOB, 0, 0, 2), Ok(()));
    assert_eq!(oracle.let_go(JOB, 0, 1..2, Slot::Free), Ok(()));
    assert_eq!(says(oracle.let_go(JOB, 0, 1..2, Slot::Free)), Oracle::Claims);
    assert_eq!(oracle.claimed(JOB, 0, 1, 1), Ok(()));
    assert_eq!(oracle.let_go(JOB, 0, 0..1, Slot::GivenUp), Ok(()));
    assert_eq!(says(oracle.claimed(JOB, 0, 0, 1)), Oracle::Claims);
    assert_eq!(says(oracle.ended(JOB, None, 9)), Oracle::Claims);
}

#[test]
fn a_job_that_completes_without_all_of_its_slots_is_noticed() {
    let mut oracle = oracle();
    assert_eq!(oracle.claimed(JOB, 0, 0, 1), Ok(()));
    assert_eq!(oracle.slot_ran(JOB, 0, 0, false), Ok(()));
    assert_eq!(says(oracle.ended(JOB, None, 9)), Oracle::Claims);
}

#[test]
fn a_job_that_is_handed_back_after_it_ran_is_noticed() {
    let mut oracle = oracle();
    assert_eq!(oracle.claimed(JOB, 0, 0, 1), Ok(()));
    assert_eq!(oracle.slot_ran(JOB, 0, 0, false), Ok(()));
    assert_eq!(
        says(oracle.ended(JOB, Some(JobErrorKind::HandedBack), 9)),
        Oracle::Claims
    );
}

#[test]
fn a_job_that_ends_twice_is_noticed() {
    let mut oracle = oracle();
    assert_eq!(oracle.ended(JOB, Some(JobErrorKind::Cancelled), 9), Ok(()));
    assert_eq!(
        says(oracle.ended(JOB, Some(JobErrorKind::Cancelled), 9)),
        Oracle::Ticket
    );
    assert_eq!(oracle.end_of(JOB), Some(Some(JobErrorKind::Cancelled)));
}

#[test]
fn a_job_that_was_not_accepted_is_noticed() {
    let stranger = JobHandle { seq: 4, ..JOB };
    assert_eq!(says(oracle().claimed(stranger, 0, 0, 1)), Oracle::Board);
}
