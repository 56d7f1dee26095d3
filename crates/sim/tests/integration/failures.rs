//! A failure says what went wrong, and leads back to its run.

use executor_core::TaskCtx;
use sim::{Oracle, Recording, Simulation};

fn race(seed: u64) -> Result<(), sim::Failure> {
    let report = Simulation::new(seed).workers(2).run(
        [1_u32, 2],
        |_| 0,
        |task, cx| {
            let met = *cx.scratch();
            assert_eq!(met, 0, "task {task} met task {met}");
            *cx.scratch() = task;
        },
    );
    report.map(|_| ())
}

#[test]
fn a_users_assertion_that_fails_is_found_and_replayed() {
    std::panic::set_hook(Box::new(|_| {}));
    let outcomes: Vec<_> = (0..200).map(race).collect();
    let failure = outcomes
        .iter()
        .find_map(|outcome| outcome.as_ref().err())
        .expect("they meet under some schedule");
    assert!(
        outcomes.iter().any(Result::is_ok),
        "they do not meet under every schedule"
    );
    assert_eq!(failure.oracle, Oracle::TaskPanic);
    assert!(failure.message.contains(" met task "), "{failure}");

    let seed = failure.course.line.seed;
    let again = race(seed).expect_err("the same seed fails again");
    assert_eq!(again.course.trace_hash, failure.course.trace_hash);
    assert!(failure.to_string().contains(&failure.course.line.to_string()));
}

#[test]
fn the_choices_of_a_failure_survive_in_a_file() {
    std::panic::set_hook(Box::new(|_| {}));
    let failure = (0..200).find_map(|seed| race(seed).err()).expect("they meet");
    let folder = std::env::temp_dir().join(format!("windlass-sim-{}", std::process::id()));
    let path = folder.join("race.json");
    failure.write_choices(&path).expect("the folder is made");
    let recording = Recording::read(&path).expect("it was written");
    assert_eq!(recording.choices, failure.course.choices);
    assert_eq!(recording.line, failure.course.line.to_string());
    assert_eq!(recording.oracle, "task-panic");
    std::fs::remove_dir_all(folder).expect("it is there");
}

#[test]
fn a_run_that_does_not_end_is_a_failure_and_leaves_nothing_behind() {
    let held = std::rc::Rc::new(());
    let kept = std::rc::Rc::clone(&held);
    let failure = Simulation::new(3)
        .workers(3)
        .step_limit(2_000)
        .run(
            [0_u32],
            |_| std::rc::Rc::clone(&held),
            move |_, cx| {
                let _on_the_stack = std::rc::Rc::clone(&kept);
                loop {
                    cx.work(10);
                }
            },
        )
        .expect_err("it never ends");
    assert_eq!(failure.oracle, Oracle::Liveness);
    assert!(failure.message.contains("2000 steps"), "{failure}");
    assert_eq!(std::rc::Rc::strong_count(&held), 1);
}

#[test]
fn a_panic_that_is_allowed_is_part_of_the_report() {
    std::panic::set_hook(Box::new(|_| {}));
    for seed in 0..200 {
        let report = Simulation::new(seed)
            .workers(2)
            .panics_allowed(true)
            .run(0..6_u32, |_| (), |task, _| assert_ne!(task, 2, "not this one"))
            .unwrap_or_else(|failure| panic!("{failure}"));
        let told = report.handed_back.len() + report.refused.len() + report.metrics.executed() as usize;
        assert_eq!(told, 6);
        assert_eq!(report.panics.len() as u64, report.metrics.panicked);
    }
}

#[test]
fn isolated_panics_keep_nothing_else_from_running() {
    std::panic::set_hook(Box::new(|_| {}));
    let config = executor_core::ExecutorConfig::default()
        .workers(2)
        .on_panic(executor_core::OnPanic::Isolate)
        .tune(|tuning| tuning.spin_iters = 0);
    for seed in 0..200 {
        let report = Simulation::new(seed)
            .config(config.clone())
            .panics_allowed(true)
            .run(
                0..6_u32,
                |_| (),
                |task, cx| {
                    if task < 6 {
                        executor_core::TaskCtx::spawn_local(cx, task + 6);
                    }
                    assert_ne!(task % 6, 2, "not this one");
                },
            )
            .unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!((report.metrics.executed(), report.metrics.panicked), (12, 2));
        assert_eq!(report.panics.len(), 2);
        assert!(report.handed_back.is_empty() && report.refused.is_empty());
    }
}
