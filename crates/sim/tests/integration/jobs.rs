//! Jobs on the pipeline policy: despite failures, cancels and shutdowns slots run once and tickets
//! fire.

use std::collections::HashMap;

use sim::{Coverage, CoveragePoint, RunOptions, Scenario, StrategyKind, write_chrome_trace};

fn explore(fields: &str, seeds: u64) -> Coverage {
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

#[test]
fn jobs_of_several_stages_complete() {
    let coverage = explore(
        "scenario=jobs,jobs=4,stages=3,slots=4,workers=3,reserve=1,spin=0",
        300,
    );
    assert_eq!(coverage.count(CoveragePoint::JobCompleted), 2 * 300 * 4);
}

#[test]
fn a_slot_that_fails_or_panics_fails_its_own_job() {
    let coverage = explore(
        "scenario=jobs,jobs=6,stages=2,slots=6,workers=3,reserve=1,troubles=true,spin=0",
        300,
    );
    for point in [
        CoveragePoint::JobFailed,
        CoveragePoint::JobLate,
        CoveragePoint::JobCompleted,
    ] {
        assert!(coverage.count(point) > 0, "{}", point.name());
    }
    let ends = [
        CoveragePoint::JobFailed,
        CoveragePoint::JobLate,
        CoveragePoint::JobCompleted,
    ]
    .map(|point| coverage.count(point));
    assert_eq!(ends.iter().sum::<u64>(), 2 * 300 * 6);
}

#[test]
fn a_cancel_at_any_moment_fires_the_ticket() {
    let coverage = explore(
        "scenario=jobs,jobs=3,stages=2,slots=6,workers=2,cancels=3,spin=0,quantum_ns=200",
        400,
    );
    assert!(
        coverage.count(CoveragePoint::JobCancelled) > 0 && coverage.count(CoveragePoint::JobCompleted) > 0
    );
    assert!(coverage.count(CoveragePoint::TicketFiredBeforeWaiting) > 0);
}

#[test]
fn a_shutdown_at_any_moment_hands_back_what_did_not_run() {
    let coverage = explore(
        "scenario=jobs,jobs=6,stages=2,slots=4,workers=2,producers=2,end=abort,spin=0",
        500,
    );
    for point in [
        CoveragePoint::JobHandedBack,
        CoveragePoint::JobCancelled,
        CoveragePoint::JobStoppedAtTheDoor,
        CoveragePoint::JobRefusedClosed,
    ] {
        assert!(coverage.count(point) > 0, "{}", point.name());
    }
}

#[test]
fn a_drain_at_any_moment_finishes_what_was_let_in() {
    let coverage = explore(
        "scenario=jobs,jobs=6,stages=2,slots=4,workers=2,producers=2,end=close,spin=0",
        500,
    );
    assert!(
        coverage.count(CoveragePoint::JobRefusedClosed) > 0
            && coverage.count(CoveragePoint::JobCompleted) > 0
    );
    assert_eq!(
        coverage.count(CoveragePoint::JobCancelled) + coverage.count(CoveragePoint::JobHandedBack),
        0
    );
}

#[test]
fn a_full_executor_refuses_and_takes_the_job_later() {
    let coverage = explore(
        "scenario=jobs,jobs=4,slots=3,workers=2,producers=2,capacity=1,spin=0",
        300,
    );
    assert!(
        coverage.count(CoveragePoint::JobRefusedFull) > 0 && coverage.count(CoveragePoint::JobCompleted) > 0
    );
}

#[test]
fn reserve_workers_take_the_heaviest_job_and_of_equal_ones_the_oldest() {
    let coverage = explore(
        "scenario=jobs,jobs=8,stages=2,slots=3,workers=3,reserve=2,quantum_ns=0,spin=0",
        300,
    );
    assert!(coverage.count(CoveragePoint::PickCompared) > 0);
}

#[test]
fn nonsense_about_jobs_is_refused_by_name() {
    for (fields, about) in [
        ("scenario=jobs,workers=2,reserve=2", "reserve=2"),
        ("scenario=jobs,capacity=0", "capacity=0"),
        ("scenario=jobs,stages=0", "stages=0"),
        ("scenario=jobs,panics=1", "panics"),
        ("scenario=jobs,hooks=1", "hooks"),
        ("scenario=jobs,overflows=1", "overflows"),
        ("scenario=tree,size=9,private=5,overflows=1", "overflows"),
        ("scenario=jobs,size=3", "`size`"),
        ("scenario=own", "Simulation::replay"),
        ("scenario=joobs", "`joobs`"),
        ("workers=1", "`scenario` is missing"),
    ] {
        let error = Scenario::from_fields(fields.parse().expect("it is well formed")).expect_err(fields);
        assert!(error.to_string().contains(about), "{fields}: {error}");
    }
}

#[test]
fn a_run_is_drawn_with_its_jobs_in_the_lanes_of_its_actors() {
    let fields = "scenario=jobs,jobs=4,stages=3,slots=4,workers=3,reserve=1,troubles=true,spin=0";
    let scenario =
        Scenario::from_fields(fields.parse().expect("it is well formed")).expect("it is a scenario");
    let options = |keep_events| RunOptions {
        keep_events,
        ..RunOptions::default()
    };
    for seed in 0..20 {
        let run = |keep| scenario.run(StrategyKind::Random, seed, options(keep));
        let course = run(true).unwrap_or_else(|failure| panic!("{failure}")).course;
        let unseen = run(false).unwrap_or_else(|failure| panic!("{failure}")).course;
        assert_eq!(course.trace_hash, unseen.trace_hash, "looking on changes nothing");
        assert!(unseen.jobs.is_empty());

        let mut file = Vec::new();
        write_chrome_trace(&mut file, &course.events, &course.jobs, &course.actors)
            .expect("a vector takes it");
        let json: serde_json::Value = serde_json::from_slice(&file).expect("it is JSON");
        let mut open: HashMap<u64, Vec<&str>> = HashMap::new();
        let mut last: HashMap<u64, f64> = HashMap::new();
        let mut count: HashMap<(&str, bool), usize> = HashMap::new();
        for row in json["traceEvents"].as_array().expect("it has rows") {
            let (phase, name) = (row["ph"].as_str().unwrap(), row["name"].as_str().unwrap());
            if phase == "M" {
                continue;
            }
            let lane = row["tid"].as_u64().expect("a lane");
            let us = row["ts"].as_f64().expect("a time");
            assert!(last.insert(lane, us).unwrap_or(0.0) <= us, "seed {seed}: {row}");
            *count.entry((phase, name.starts_with("submit"))).or_default() += 1;
            match phase {
                "B" => open.entry(lane).or_default().push(name),
                "E" => assert_eq!(
                    open.entry(lane).or_default().pop(),
                    Some(name),
                    "seed {seed}: {row}"
                ),
                "s" | "f" => assert!(!open.entry(lane).or_default().is_empty(), "{row} is at a bar"),
                _ => {}
            }
        }
        assert!(open.values().all(Vec::is_empty), "{open:?}");
        assert_eq!((count[&("B", true)], count[&("s", true)]), (4, 4));
        let claimed = count.get(&("f", true)).copied().unwrap_or(0);
        assert!((1..=4).contains(&claimed), "{claimed} jobs were claimed");
    }
}
