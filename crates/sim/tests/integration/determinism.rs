//! One seed is one run, and each of its records reproduces it.

use executor_core::TaskCtx;
use sim::{Faults, ReplayLine, RunOptions, Scenario, Simulation, StrategyKind, Swarm};

#[test]
fn a_seed_gives_the_same_trace_every_time() {
    let swarm = Swarm::new(1_000, 200).run();
    if let Some(failure) = swarm.failures.first() {
        panic!("{failure}");
    }
    assert_eq!((swarm.seeds, swarm.schedules), (200, 400));
}

#[test]
fn different_seeds_give_different_traces() {
    let scenario = scenario("scenario=tree,size=4,workers=3");
    let hash = |seed| {
        let run = scenario.run(StrategyKind::Random, seed, RunOptions::default());
        run.unwrap_or_else(|failure| panic!("{failure}"))
            .course
            .trace_hash
    };
    let mut hashes: Vec<u64> = (0..50).map(hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 50);
}

#[test]
fn the_list_of_choices_leads_the_same_way_as_the_seed() {
    for seed in 0..40 {
        let swarm = Swarm::new(seed, 1);
        let (scenario, strategy) = swarm.draw(seed);
        let first = scenario.run(strategy, seed, RunOptions::default());
        let first = first.unwrap_or_else(|failure| panic!("{failure}")).course;
        let options = RunOptions {
            silenced: None,
            choices: Some(first.choices.clone()),
            keep_events: false,
        };
        let again = scenario.run(strategy, seed, options);
        let again = again.unwrap_or_else(|failure| panic!("{failure}")).course;
        assert_eq!(first.trace_hash, again.trace_hash, "{}", first.line);
        assert_eq!(first.choices, again.choices, "{}", first.line);
    }
}

#[test]
fn a_drawn_scenario_survives_its_replay_line() {
    for seed in 0..500 {
        let (scenario, strategy) = Swarm::new(seed, 1).draw(seed);
        let run = scenario.run(strategy, seed, RunOptions::default());
        let course = run.unwrap_or_else(|failure| panic!("{failure}")).course;
        let line: ReplayLine = course.line.to_string().parse().expect("it is a line");
        assert_eq!(line, course.line);
        assert_eq!(Scenario::from_line(&line), Ok(scenario));
    }
}

#[test]
fn a_users_own_run_is_replayed_from_its_line() {
    let simulation = Simulation::new(9)
        .workers(4)
        .producers(2)
        .faults(Faults {
            spurious_wakes: 3,
            retries: 3,
            ..Faults::NONE
        })
        .strategy(StrategyKind::Sticky);
    let run = |simulation: Simulation| {
        let report = simulation.run(
            0..9_u32,
            |_| (),
            |n: u32, cx| {
                if n > 4 {
                    cx.spawn_local(n - 5)
                }
            },
        );
        report.unwrap_or_else(|failure| panic!("{failure}"))
    };
    let first = run(simulation);
    let again = run(Simulation::replay(&first.course.line.to_string()).expect("it is a line"));
    assert_eq!(first.course.trace_hash, again.course.trace_hash);
    assert_eq!(first.makespan_ns, again.makespan_ns);
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_fields(text.parse().expect("it is well formed")).expect("it is a scenario")
}
