//! The order of jobs on the board, and when they leave it.

use std::sync::Arc;

use pipeline_exec::policy::{self, PipelinePorts};
use pipeline_exec::{Class, Stage, policy::JobHandle};
use proptest::prelude::*;

use crate::plain::Plain;
use crate::support::Counting;

fn slots(n: usize) -> Vec<Arc<dyn Stage>> {
    vec![Counting::new(n)]
}

#[test]
fn four_jobs_stand_by_cost_and_leave_heaviest_first() {
    let plain = Plain::new(1, 1);
    assert_eq!(plain.board(), [""; 0], "state 0: empty");
    plain.submit("B", 30, Class::Normal, slots(1));
    assert_eq!(plain.board(), ["B"], "state 1");
    plain.submit("D", 10, Class::Normal, slots(1));
    assert_eq!(plain.board(), ["B", "D"], "state 2");
    plain.submit("A", 40, Class::Normal, slots(2));
    assert_eq!(plain.board(), ["A", "B", "D"], "state 3");
    plain.submit("C", 20, Class::Normal, slots(1));
    assert_eq!(plain.board(), ["A", "B", "C", "D"], "state 4");

    assert!(plain.reserve_runs_one(1));
    assert_eq!(
        plain.board(),
        ["A", "B", "C", "D"],
        "state 5: A has a slot left, so it stays"
    );
    assert!(plain.reserve_runs_one(1));
    assert_eq!(
        plain.board(),
        ["B", "C", "D"],
        "state 6: the last slot of A is claimed"
    );

    while plain.reserve_runs_one(1) {}
    assert_eq!(plain.board(), [""; 0]);
    let completed: Vec<String> = plain
        .take_events()
        .into_iter()
        .filter(|event| event.ends_with("completed"))
        .collect();
    assert_eq!(
        completed,
        ["A completed", "B completed", "C completed", "D completed"]
    );
}

#[test]
fn jobs_of_equal_cost_leave_in_the_order_of_their_submission() {
    let plain = Plain::new(1, 1);
    for name in ["first", "second", "third", "fourth"] {
        plain.submit(name, 7, Class::Normal, slots(1));
    }
    assert_eq!(plain.board(), ["first", "second", "third", "fourth"]);
    let mut left = Vec::new();
    while plain.reserve_runs_one(1) {
        left.push(plain.take_events().pop().unwrap());
    }
    assert_eq!(
        left,
        [
            "first completed",
            "second completed",
            "third completed",
            "fourth completed"
        ]
    );
}

#[test]
fn the_other_order_is_that_of_service_whatever_the_cost() {
    let plain = Plain::new(1, 1);
    for (name, cost) in [("first", 5), ("second", 9), ("third", 1)] {
        plain.submit(name, cost, Class::Normal, slots(2));
    }
    assert_eq!(plain.served(), ["first", "second", "third"]);
    assert!(plain.main_runs_one(0));
    assert_eq!(plain.served(), ["second", "third", "first"]);
    assert!(plain.reserve_runs_one(1) && plain.reserve_runs_one(1));
    assert_eq!(plain.served(), ["third", "first"], "a job leaves both orders");
}

#[test]
fn a_job_is_off_the_board_between_two_stages_and_on_it_again_with_the_same_key() {
    let plain = Plain::new(2, 0);
    let job = plain.submit(
        "two stages",
        7,
        Class::Normal,
        vec![Counting::new(1), Counting::new(2)],
    );
    assert!(plain.main_runs_one(0));
    assert_eq!(plain.board(), ["two stages"], "the second stage has started");
    assert_eq!(job.state.claims().next_free_slot(&plain), (1, 0));
    assert!(plain.main_runs_one(0));
    assert_eq!(plain.board(), ["two stages"]);
    assert!(plain.main_runs_one(1));
    assert_eq!(plain.board(), [""; 0]);
    assert_eq!(
        plain.take_events(),
        [
            "worker 0 claims two stages.0",
            "two stages stage 0 over",
            "worker 0 claims two stages.0",
            "worker 1 claims two stages.1",
            "two stages stage 1 over",
            "two stages completed",
        ]
    );
}

#[test]
fn a_job_of_one_slot_waits_in_line_and_handles_without_a_job_are_cleared() {
    let plain = Plain::new(1, 1);
    let submit = |name: &str| plain.submit(name, None, Class::Normal, slots(1));
    submit("first");
    submit("second");
    assert_eq!(
        (plain.singles(), plain.board().len()),
        (vec!["first".to_owned(), "second".to_owned()], 0)
    );
    for _ in 0..40 {
        let job = submit("cancelled");
        policy::cancel(&plain, &job.state, job.job);
        assert!(plain.shared().board().singles(&plain) <= 17);
    }
    plain.take_events();
    while plain.main_runs_one(0) {}
    let mut completed = plain.take_events();
    completed.retain(|event| event.ends_with("completed"));
    completed.sort();
    assert_eq!(completed, ["first completed", "second completed"]);
    assert_eq!(plain.shared().board().singles(&plain), 0);
}

#[test]
fn without_a_cost_the_number_of_slots_is_the_weight() {
    let plain = Plain::new(1, 1);
    plain.submit("three", None, Class::Normal, slots(3));
    plain.submit("five", None, Class::Normal, slots(5));
    plain.submit("four", 4, Class::Normal, slots(1));
    assert_eq!(plain.board(), ["five", "four", "three"]);
}

#[test]
#[should_panic(expected = "the policy still looks at the board")]
fn a_board_that_is_looked_at_for_ever_is_a_failure() {
    let plain = Plain::new(1, 1);
    plain.submit("held back", 7, Class::Normal, slots(1));
    while plain.board() != ["somebody else"] {}
}

proptest! {
    #[test]
    fn handles_are_ordered_by_cost_and_then_by_submission(
        a in (0_u64..3, 0_usize..100, 0_usize..3), b in (0_u64..3, 0_usize..100, 0_usize..3),
    ) {
        let handle = |(rank, seq, index)| JobHandle { rank, seq, index };
        prop_assume!(a.1 != b.1);
        let heavier_or_earlier = a.0 > b.0 || (a.0 == b.0 && a.1 < b.1);
        prop_assert_eq!(handle(a) > handle(b), heavier_or_earlier);
        prop_assert_ne!(handle(a) == handle(b), true);
    }
}
