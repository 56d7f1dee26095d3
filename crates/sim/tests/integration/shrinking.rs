//! A failure shrinks, and stays the failure that it was.

use std::cell::Cell;
use std::rc::Rc;

use executor_core::TaskCtx;
use executor_core::ports::Access;
use sim::{Ending, Failure, Faults, Oracle, ReplayLine, RunOptions, Scenario, Shrink, Simulation};

/// Two of six tasks must not meet on one worker.
fn no_meeting(simulation: Simulation) -> Result<(), Failure> {
    let report = simulation.run(
        0..6_u32,
        |_| false,
        |task, cx| {
            if task % 3 == 0 {
                let met = cx.scratch();
                assert!(!*met, "they met");
                *met = true;
            }
        },
    );
    report.map(|_| ())
}

fn large() -> Simulation {
    Simulation::new(0)
        .workers(5)
        .producers(3)
        .waiters(2)
        .ending(Ending::Idle)
        .faults(Faults {
            spurious_wakes: 5,
            retries: 5,
            ..Faults::NONE
        })
}

#[test]
fn what_is_not_needed_is_left_out() {
    let failure = large().explore(0..1_000, no_meeting).expect_err("they meet");
    assert_eq!(failure.oracle, Oracle::TaskPanic);
    let line = failure.course.line.to_string();
    assert!(
        line.starts_with("windlass-sim 1 scenario=own,workers=1,tries=1,spin=0 "),
        "{line}"
    );
    let found = failure.found.as_deref().expect("it was shrunk");
    assert!(found.line.to_string().contains("workers=5"), "{failure}");
    let (steps, switches) = failure.course.size();
    assert!(steps < found.steps && switches <= 3, "{failure}");
    assert!(
        failure.course.is_complete && failure.course.events[0].step < 3,
        "{failure}"
    );
}

#[test]
fn the_same_failure_is_shrunk_to_the_same() {
    let shrunk = || large().explore(0..1_000, no_meeting).expect_err("they meet");
    let (one, other) = (shrunk(), shrunk());
    assert_eq!(one.course.line, other.course.line);
    assert_eq!(one.course.trace_hash, other.course.trace_hash);
    assert_eq!(one.found, other.found);
}

#[test]
fn a_failure_says_how_to_have_it_again_before_and_after() {
    let failure = large().explore(0..1_000, no_meeting).expect_err("they meet");
    let found = failure.found.as_deref().expect("it was shrunk").line.to_string();
    let text = failure.to_string();
    assert!(
        text.contains(&format!("replay: {}\n", failure.course.line)),
        "{text}"
    );
    assert!(text.contains(&format!("found:  {found}\n")), "{text}");
    assert!(text.starts_with("task-panic: task "), "{text}");
    for line in [found, failure.course.line.to_string()] {
        let again = Simulation::replay(&line).map(no_meeting).expect("it is a line");
        assert_eq!(again.expect_err(&line).oracle, Oracle::TaskPanic);
    }
}

/// A task that polls, under some schedules for something that never comes.
fn looks_in_vain(simulation: Simulation) -> Result<(), Failure> {
    let first = Rc::new(Cell::new(None));
    let report = simulation.run(
        0..3_u32,
        |_| (),
        move |task, cx| {
            let before = cx.access("who was first?", || {
                let before = first.get();
                first.set(before.or(Some(task)));
                before
            });
            while before == Some(2) {
                cx.work(10);
            }
        },
    );
    report.map(|_| ())
}

#[test]
fn of_a_run_without_an_end_only_the_way_into_it_is_listed() {
    let simulation = Simulation::new(0).workers(3).producers(2).step_limit(60_000);
    let failure = simulation
        .explore(0..1_000, looks_in_vain)
        .expect_err("it looks in vain");
    assert_eq!(failure.oracle, Oracle::Liveness);
    assert!(failure.message.contains("60000 steps"), "{}", failure.sentence());
    let (steps, _) = failure.course.size();
    assert!(steps < 100, "{}", failure.course.line);
    let line = failure.course.line.to_string();
    let again = Simulation::replay(&line)
        .map(looks_in_vain)
        .expect("it is a line");
    assert_eq!(
        again.expect_err(&line).course.trace_hash,
        failure.course.trace_hash
    );
}

#[test]
fn a_long_run_that_was_cut_short_is_not_made_endless() {
    let line: ReplayLine = "windlass-sim 1 scenario=tree,size=5,workers=3,steps=200 random 4"
        .parse()
        .expect("it is a line");
    let scenario = Scenario::from_line(&line).expect("it is a scenario");
    let run = scenario.run(line.strategy, line.seed, RunOptions::default());
    let failure = run.expect_err("it is cut short");
    let shrunk = Shrink::default().scenario(&failure).expect("it is a scenario's");
    assert_eq!(shrunk.course.line, failure.course.line);
    assert_eq!(shrunk.found, None);
}

#[test]
fn a_budget_is_kept_to_and_its_result_fails_all_the_same() {
    let line: ReplayLine = "windlass-sim 1 scenario=tree,size=5,workers=3,steps=200 random 4"
        .parse()
        .expect("it is a line");
    let scenario = Scenario::from_line(&line).expect("it is a scenario");
    let failure = scenario
        .run(line.strategy, line.seed, RunOptions::default())
        .expect_err("it is cut short");
    let nothing = Shrink { runs: 0, steps: 0 };
    let same = nothing.scenario(&failure).expect("it is a scenario's");
    assert_eq!(same.course.line, failure.course.line);
}

#[test]
fn a_users_own_tasks_cannot_be_shrunk_from_a_line_alone() {
    let run = |seed| no_meeting(Simulation::new(seed).workers(2));
    let failure = (0..1_000).find_map(|seed| run(seed).err()).expect("they meet");
    let error = Shrink::default().scenario(&failure).expect_err("whose tasks?");
    assert!(error.to_string().contains("a user's own tasks"), "{error}");
}

/// The count outlives the run, so no line reproduces the failure.
#[test]
fn a_test_body_that_depends_on_more_than_its_schedule_is_told() {
    let runs = Cell::new(0);
    let body = |simulation: Simulation| {
        runs.set(runs.get() + 1);
        let report = simulation.run([1_u32], |_| (), |_, _| {})?;
        report.ensure(runs.get() != 3, || "the third".to_owned())
    };
    let failure = Simulation::new(0)
        .explore(0..10, body)
        .expect_err("the third fails");
    assert_eq!(failure.oracle, Oracle::Determinism);
    assert!(failure.message.contains("again went well"), "{failure}");
    assert_eq!((runs.get(), failure.course.line.seed), (4, 2));
}

#[test]
fn a_corpus_is_lines_and_words_for_people() {
    let corpus = "# They met.\n\nwindlass-sim 1 scenario=own,workers=2 sticky 3 0*4.1\n";
    let body = |simulation: Simulation| simulation.run([1_u32], |_| (), |_, _| {});
    assert_eq!(Simulation::check_corpus(corpus, body), 1);
    let caught = std::panic::catch_unwind(|| Simulation::check_corpus("what?", body));
    let message = caught.expect_err("this is no line");
    assert!(
        message
            .downcast_ref::<String>()
            .is_some_and(|text| text.starts_with("what?: "))
    );
}
