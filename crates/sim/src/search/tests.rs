//! What a search finds must not depend on its reductions.

use std::collections::{BTreeSet, HashSet};

use super::*;
use crate::oracle::Oracle;
use crate::scenario::RunOptions;
use crate::schedule::StrategyKind;

const SMALL: &str = "spin=0,private=0,credit=1,tries=1";

const NONE: Reductions = Reductions {
    known_states: false,
    own_steps: false,
    sleep_sets: false,
};

fn search(scenario: &str, preemptions: Option<u32>, reductions: Reductions) -> Search {
    let fields = format!("{scenario},{SMALL}").parse().expect("it is well formed");
    let scenario = Scenario::from_fields(fields).expect("it is a scenario");
    let mut search = Search::new(scenario).expect("it can be searched");
    (search.preemptions, search.reductions) = (preemptions, reductions);
    search
}

/// If distinct states were taken for one, an operation would be missing.
fn operations(search: &Search) -> (BTreeSet<String>, SearchReport) {
    let mut operations = HashSet::new();
    let search = Search {
        keep_events: true,
        ..search.clone()
    };
    let report = search.run_seeing(
        |_| (),
        |summary, searched| {
            let events = summary.course.events.iter();
            for event in events.take_while(|event| event.step <= searched) {
                operations.insert((event.actor, event.op as u8, event.object.code(), event.value));
            }
        },
    );
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert!(report.closed);
    let operations = operations.into_iter().map(|operation| format!("{operation:?}"));
    (operations.collect(), report)
}

fn assert_reduces(scenario: &str, preemptions: Option<u32>, from: Reductions, to: Reductions) {
    assert_reduces_from(0, scenario, preemptions, from, to);
}

fn assert_reduces_from(
    seed: u64,
    scenario: &str,
    preemptions: Option<u32>,
    from: Reductions,
    to: Reductions,
) {
    let operations = |reductions| {
        operations(&Search {
            seed,
            ..search(scenario, preemptions, reductions)
        })
    };
    let ((all, many), (reduced, few)) = (operations(from), operations(to));
    let differences: Vec<_> = all.symmetric_difference(&reduced).collect();
    assert!(differences.is_empty(), "{scenario}: {differences:?}");
    assert!(
        few.schedules < many.schedules,
        "{scenario}: {} runs, {} without",
        few.schedules,
        many.schedules
    );
}

#[test]
fn within_a_bound_known_states_and_own_steps_lose_no_operation() {
    for (scenario, preemptions) in [
        ("scenario=flat,roots=1,workers=1,end=close", 2),
        ("scenario=flat,roots=2,workers=1,end=abort", 1),
        ("scenario=flat,roots=1,workers=2,end=join", 1),
        (
            "scenario=flat,roots=1,workers=1,end=join,panics=1,panics_allowed=true,retries=1,spurious=1",
            1,
        ),
        ("scenario=jobs,slots=2,workers=2,quantum_ns=0,end=join", 0),
    ] {
        assert_reduces(scenario, Some(preemptions), NONE, Reductions::ALL);
    }
}

#[test]
fn tasks_share_what_no_port_knows_of_and_no_state_is_taken_for_another() {
    let scenario = "scenario=jobs,slots=1,tasks=2,workers=1,quantum_ns=0";
    for seed in [configurations::CHANNEL, configurations::ENDS] {
        assert_reduces_from(seed, scenario, Some(0), NONE, Reductions::ALL);
    }
}

#[test]
fn without_a_bound_sleep_sets_alone_find_the_same_operations() {
    let sleep_sets = Reductions {
        sleep_sets: true,
        ..NONE
    };
    let known_states = Reductions {
        known_states: true,
        ..NONE
    };
    let scenario = "scenario=flat,roots=0,workers=1,end=close";
    assert_reduces(scenario, None, sleep_sets, Reductions::ALL);
    for scenario in [
        "scenario=flat,roots=1,workers=1,end=join",
        "scenario=flat,roots=1,workers=1,end=abort",
    ] {
        assert_reduces(scenario, None, known_states, Reductions::ALL);
    }
}

#[test]
fn a_wider_bound_finds_more_until_it_finds_all() {
    let states = |preemptions| {
        let search = search(
            "scenario=flat,roots=1,workers=1,end=join",
            preemptions,
            Reductions::ALL,
        );
        operations(&search).0
    };
    let (few, more, all) = (states(Some(0)), states(Some(2)), states(None));
    assert!(few.is_subset(&more) && more.is_subset(&all));
    assert!(few.len() < all.len());
}

#[test]
fn a_failure_ends_the_search_and_is_replayed_from_its_choices() {
    let search = search(
        "scenario=flat,roots=1,workers=1,end=close,steps=40",
        None,
        Reductions::ALL,
    );
    let report = search.run(|_| ());
    assert!(!report.closed);
    let failure = report.failure.expect("forty steps are too few for some run");
    assert_eq!(failure.oracle, Oracle::Liveness);
    assert_eq!(failure.course.line.strategy, StrategyKind::Exhaustive);
    let options = RunOptions {
        choices: Some(failure.course.choices.clone()),
        keep_events: false,
        ..RunOptions::default()
    };
    let line = &failure.course.line;
    let again = Scenario::from_line(line)
        .expect("it is a line")
        .run(line.strategy, line.seed, options)
        .expect_err("the same choices lead to the same failure");
    assert_eq!(again.course.trace_hash, failure.course.trace_hash);
}

#[test]
fn a_search_that_gives_up_says_so() {
    let mut search = search("scenario=flat,roots=1,workers=2,end=close", None, Reductions::ALL);
    search.schedules_max = 10;
    let report = search.run(|_| ());
    assert!(!report.closed);
    assert_eq!(report.schedules, 10);
}

#[test]
fn what_no_search_ends_with_is_refused() {
    for (fields, about) in [
        ("scenario=flat,timeout_ns=5", "`timeout_ns`"),
        ("scenario=flat,spin=3", "`spin`"),
        ("scenario=meeting,size=1,workers=2", "`scenario=meeting`"),
        ("scenario=jobs,troubles=true", "`troubles=true`"),
        ("scenario=flat,workers=31", "33 actors"),
    ] {
        let spin = if fields.contains("spin") { "" } else { ",spin=0" };
        let fields = format!("{fields}{spin}").parse().expect("it is well formed");
        let scenario = Scenario::from_fields(fields).expect("it is a scenario");
        let error = Search::new(scenario).expect_err(about).to_string();
        assert!(error.contains(about), "{error}");
    }
}

#[test]
fn every_configuration_can_be_searched_and_has_a_name_of_its_own() {
    let mut names = BTreeSet::new();
    for configuration in Configuration::ALL {
        let search = configuration.search();
        assert_eq!(search.preemptions, configuration.preemptions);
        assert!(names.insert(configuration.name), "{}", configuration.name);
    }
    assert!(Configuration::ALL.iter().any(|configuration| configuration.in_ci));
}
