//! Worked examples of the board by (cost, seq): its states, and the order of claims and removals.

use std::sync::Arc;

use pipeline_exec::policy::PipelinePorts;
use pipeline_exec::{Class, Stage, policy::select_heaviest};

use crate::plain::Plain;
use crate::support::Counting;

fn board(plain: &Plain) -> Vec<(u64, usize)> {
    let heaviest = |below| plain.shared().board().heaviest(plain, below);
    std::iter::successors(heaviest(None), |&job| heaviest(Some(job)))
        .map(|job| (job.rank, job.seq))
        .collect()
}

fn submit(plain: &Plain, name: &str, cost: u64) {
    let slot: Arc<dyn Stage> = Counting::new(1);
    plain.submit(name, cost, Class::Normal, vec![slot]);
}

fn take_heaviest(plain: &Plain) -> ((u64, usize), Vec<(u64, usize)>) {
    let (selected, _body) = select_heaviest(plain).expect("a job is on the board");
    assert_eq!(
        board(plain)[0],
        (selected.rank, selected.seq),
        "selecting removes nothing"
    );
    assert!(plain.reserve_runs_one(1));
    ((selected.rank, selected.seq), board(plain))
}

#[test]
fn three_jobs_lead_the_board_through_its_states_0_to_6() {
    let plain = Plain::new(1, 1);
    assert_eq!(board(&plain), [], "state 0");
    submit(&plain, "A", 5);
    assert_eq!(board(&plain), [(5, 0)], "state 1");
    submit(&plain, "B", 3);
    assert_eq!(board(&plain), [(5, 0), (3, 1)], "state 2");
    submit(&plain, "C", 7);
    assert_eq!(board(&plain), [(7, 2), (5, 0), (3, 1)], "state 3");

    let states = [(); 3].map(|()| take_heaviest(&plain));
    let expected = [
        ((7, 2), vec![(5, 0), (3, 1)]),
        ((5, 0), vec![(3, 1)]),
        ((3, 1), vec![]),
    ];
    assert_eq!(states, expected, "states 4 to 6");
    assert!(select_heaviest(&plain).is_none());
    assert!(!plain.reserve_runs_one(1));
    assert_eq!(completed(&plain), ["C", "A", "B"]);
}

#[test]
fn of_costs_10_10_5_1_the_tie_goes_to_the_first_submitted() {
    let plain = Plain::new(1, 1);
    for (name, cost) in [("five", 5), ("first ten", 10), ("one", 1), ("second ten", 10)] {
        submit(&plain, name, cost);
    }
    assert_eq!(board(&plain), [(10, 1), (10, 3), (5, 0), (1, 2)]);
    let taken = [(); 4].map(|()| take_heaviest(&plain).0);
    assert_eq!(taken, [(10, 1), (10, 3), (5, 0), (1, 2)]);
    assert_eq!(completed(&plain), ["first ten", "second ten", "five", "one"]);
}

fn completed(plain: &Plain) -> Vec<String> {
    let events = plain.take_events();
    let names = events.iter().filter_map(|event| event.strip_suffix(" completed"));
    names.map(ToOwned::to_owned).collect()
}
