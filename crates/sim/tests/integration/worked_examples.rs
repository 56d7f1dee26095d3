//! Examples to follow by hand: which worker takes which step of which job, round by round.
//!
//! Operations take no time and a step takes one round, a millisecond, which is four quanta. So a
//! worker looks at the board after each step. Unless said otherwise, jobs are old from the
//! beginning. They are A to D by weight, A the heaviest, submitted lightest first, before the first
//! worker has woken.

use std::collections::BTreeMap;
use std::time::Duration;

use pipeline_exec::policy::{JobSpec, Terms};
use pipeline_exec::{Class, Role};
use sim::{Claimed, Costs, Simulation, StrategyKind};

use crate::equal_slots::{executor, job, job_of_stages};

const ROUND: u64 = 1_000_000;

/// The main and the reserve steps of a round, as `A0` for the first step of A.
type Round = (Vec<String>, Vec<String>);

fn rounds(workers: usize, jobs: &[JobSpec]) -> Vec<Round> {
    let mut costs = Costs::default();
    costs.set_all(0);
    // A wake of 1 ns, during which all jobs are submitted.
    costs.wake_ps = 1_000;
    let simulation = Simulation::new(1)
        .strategy(StrategyKind::Earliest)
        .costs(costs)
        .begin_ns(ROUND);
    let config = executor(workers, Duration::from_nanos(ROUND / 4));
    let ran = simulation.run_jobs(config, jobs.to_vec(), |_job, _stage, _slot| ROUND);
    let (_, claims) = ran.unwrap_or_else(|failure| panic!("{failure}"));
    let mut rounds: BTreeMap<u64, Round> = BTreeMap::new();
    for Claimed {
        at_ns,
        role,
        job,
        slots,
        ..
    } in claims
    {
        let (main, reserve) = rounds.entry(at_ns / ROUND).or_default();
        let by_role = match role {
            Role::Main => main,
            Role::Reserve => reserve,
            Role::Lent | Role::Spare => unreachable!("these examples have workers alone"),
        };
        by_role.extend(slots.map(|slot| format!("{}{slot}", jobs[job].table_name)));
    }
    rounds.into_values().collect()
}

/// The same in words, with the board before each round: `board: main | reserve`.
fn told(workers: usize, jobs: &[JobSpec], steps: &[(&str, usize)]) -> Vec<String> {
    let mut left: BTreeMap<&str, usize> = steps.iter().copied().collect();
    let board = |left: &BTreeMap<&str, usize>| {
        let open = left.iter().filter(|&(_, &steps)| steps > 0);
        let jobs: Vec<String> = open.map(|(name, steps)| format!("{name}{steps}")).collect();
        jobs.join(" ")
    };
    let mut states = Vec::new();
    for (main, reserve) in rounds(workers, jobs) {
        states.push(format!(
            "{}: {} | {}",
            board(&left),
            main.join(" "),
            reserve.join(" ")
        ));
        for step in main.iter().chain(&reserve) {
            *left.get_mut(&step[..1]).expect("it is one of the jobs") -= 1;
        }
    }
    states.push(format!("{}:", board(&left)));
    states
}

fn old(job: JobSpec) -> JobSpec {
    let terms = Terms {
        class: Class::Batch,
        ..Terms::default()
    };
    JobSpec {
        terms: terms.boxed(),
        ..job
    }
}

fn steps_by_round(workers: usize, steps: usize) -> Vec<String> {
    let rounds = rounds(workers, &[job("A", None, steps)]);
    let sorted = |(main, reserve): &Round| {
        let mut steps: Vec<&str> = main.iter().chain(reserve).map(String::as_str).collect();
        steps.sort_unstable();
        steps.join(" ")
    };
    rounds.iter().map(sorted).collect()
}

#[test]
fn five_steps_are_claimed_in_their_order_by_two_workers() {
    assert_eq!(steps_by_round(2, 5), ["A0 A1", "A2 A3", "A4"]);
}

#[test]
fn ten_steps_are_claimed_in_their_order_by_four_workers() {
    assert_eq!(steps_by_round(4, 10), ["A0 A1 A2 A3", "A4 A5 A6 A7", "A8 A9"]);
}

#[test]
fn four_steps_are_claimed_in_turn_by_a_main_and_a_reserve_worker() {
    let states = told(2, &[old(job("A", None, 4))], &[("A", 4)]);
    assert_eq!(states, ["A4: A1 | A0", "A2: A3 | A2", ":"]);
}

/// Three rounds for four steps: 75 % of the serial time.
#[test]
fn four_steps_whose_first_and_last_stand_alone_take_three_rounds_of_two_workers() {
    let rounds = rounds(2, &[old(job_of_stages("A", &[1, 2, 1]))]);
    let claims = rounds.iter().map(|(main, reserve)| main.len() + reserve.len());
    assert_eq!(claims.collect::<Vec<_>>(), [1, 2, 1]);
}

#[test]
fn ten_steps_are_shared_evenly_by_one_main_and_one_reserve_worker() {
    let states = told(2, &[old(job("A", None, 10))], &[("A", 10)]);
    let expected = [
        "A10: A1 | A0",
        "A8: A3 | A2",
        "A6: A5 | A4",
        "A4: A7 | A6",
        "A2: A9 | A8",
        ":",
    ];
    assert_eq!(states, expected);
}

#[test]
fn of_costs_10_10_5_1_reserve_takes_the_first_submitted_ten_first() {
    let costs = [("C", 5), ("A", 10), ("D", 1), ("B", 10)];
    let jobs = costs.map(|(name, cost)| old(job(name, cost, 2)));
    let states = told(2, &jobs, &[("A", 2), ("B", 2), ("C", 2), ("D", 2)]);
    let expected = [
        "A2 B2 C2 D2: C0 | A0",
        "A1 B2 C1 D2: D0 | A1",
        "B2 C1 D1: C1 | B0",
        "B1 D1: D1 | B1",
        ":",
    ];
    assert_eq!(states, expected);
}

/// The weights are A > B > C > D, and the lightest is submitted first.
fn four_jobs(workers: usize, steps: [usize; 4]) -> Vec<String> {
    let names = ["A", "B", "C", "D"];
    let jobs = (0..4)
        .rev()
        .map(|n| old(job(names[n], 40 - 10 * n as u64, steps[n])));
    let steps: Vec<(&str, usize)> = names.into_iter().zip(steps).collect();
    told(workers, &jobs.collect::<Vec<_>>(), &steps)
}

#[test]
fn main_takes_the_least_served_and_reserve_the_heaviest_through_seven_states_of_the_board() {
    let states = four_jobs(2, [4, 3, 3, 2]);
    let expected = [
        // No job was served: the first submitted is the least served, A the heaviest.
        "A4 B3 C3 D2: D0 | A0",
        "A3 B3 C3 D1: C0 | A1",
        "A2 B3 C2 D1: B0 | A2",
        // All but A have had one step: the first submitted again.
        "A1 B2 C2 D1: D1 | A3",
        "B2 C2: C1 | B1",
        "B1 C1: C2 | B2",
        ":",
    ];
    assert_eq!(states, expected);
}

#[test]
fn several_main_workers_take_the_least_served_until_its_steps_are_claimed() {
    let states = four_jobs(4, [5, 4, 3, 2]);
    let expected = [
        // Three main workers, three jobs: a worker in a job already counts.
        "A5 B4 C3 D2: D0 C0 B0 | A0",
        "A4 B3 C2 D1: D1 C1 B1 | A1",
        "A3 B2 C1: C2 B2 B3 | A2",
        // Main workers fall through to the only job there is.
        "A2: A3 | A4",
        ":",
    ];
    assert_eq!(states, expected);
}

#[test]
fn a_young_job_comes_first_in_both_roles_though_an_old_one_is_heavier() {
    let jobs = [old(job("A", 40, 4)), job("D", 10, 2)];
    let states = told(2, &jobs, &[("A", 4), ("D", 2)]);
    let expected = ["A4 D2: D1 | D0", "A4: A1 | A0", "A2: A3 | A2", ":"];
    assert_eq!(states, expected);
}

#[test]
fn a_single_worker_takes_three_turns_of_twenty_in_the_reserve_role() {
    let rounds = rounds(
        1,
        &(0..4)
            .map(|n| old(job(["D", "C", "B", "A"][n], 10 + n as u64, 5)))
            .collect::<Vec<_>>(),
    );
    let reserve = rounds.iter().filter(|(main, _)| main.is_empty());
    let reserve: Vec<&str> = reserve.map(|(_, reserve)| reserve[0].as_str()).collect();
    assert_eq!(rounds.len(), 20);
    assert_eq!(reserve, ["A1", "A3", "A4"], "the heaviest");
}

#[test]
fn roles_are_split_by_85_to_15() {
    let split = |workers| {
        let config = executor(workers, Duration::from_nanos(ROUND));
        (config.main, config.reserve)
    };
    let table = [1, 2, 4, 8, 16, 32, 100].map(split);
    let expected = [(1, 0), (1, 1), (3, 1), (7, 1), (14, 2), (28, 4), (85, 15)];
    assert_eq!(table, expected);
    for workers in 2..200 {
        let (main, reserve) = split(workers);
        assert_eq!(
            (main + reserve, main),
            (workers, (workers * 85).div_ceil(100).min(workers - 1))
        );
    }
}
