//! Examples that can be followed by hand: who takes which step of which job, round by round.
//!
//! Operations take no time here and every step takes one round, a millisecond, which is also the quantum: after each step
//! a worker looks at the board again. All jobs are on the board before the first worker has woken. Jobs are called A to D by their
//! weight, A is the heaviest, and submitted lightest first.

use std::collections::BTreeMap;
use std::time::Duration;

use pipeline_exec::Role;
use pipeline_exec::policy::JobSpec;
use sim::{Claimed, Costs, Simulation, StrategyKind};

use crate::equal_slots::{executor, job};

const ROUND: u64 = 1_000_000;

/// Who took what: main's and reserve's steps of a round, as `A0` for the first step of A.
type Round = (Vec<String>, Vec<String>);

/// The claims of a run, round by round.
fn rounds(workers: usize, jobs: &[JobSpec]) -> Vec<Round> {
    let mut costs = Costs::default();
    costs.set_all(0);
    // A round until they have woken, in which all jobs are submitted.
    costs.wake_ps = ROUND * 1_000;
    let simulation = Simulation::new(1)
        .strategy(StrategyKind::Earliest)
        .costs(costs)
        .begin_ns(ROUND);
    let config = executor(workers, Duration::from_nanos(ROUND));
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
        let (main, reserve) = rounds.entry(at_ns).or_default();
        let by_role = match role {
            Role::Main => main,
            Role::Reserve => reserve,
        };
        by_role.extend(slots.map(|slot| format!("{}{slot}", jobs[job].id)));
    }
    rounds.into_values().collect()
}

/// The same in words: `main | reserve`.
fn told(workers: usize, jobs: &[JobSpec]) -> Vec<String> {
    let rounds = rounds(workers, jobs);
    let round = |(main, reserve): &Round| format!("{} | {}", main.join(" "), reserve.join(" "));
    rounds.iter().map(round).collect()
}

#[test]
fn five_steps_are_claimed_in_their_order_by_two_workers() {
    let rounds = told(2, &[job("A", 0, 5)]);
    assert_eq!(rounds, ["A0 | A1", "A2 | A3", "A4 | "]);
}
