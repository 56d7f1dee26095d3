//! However a run ends, it accounts for every task.

use executor_core::TaskCtx;
use sim::{Ending, RunOptions, Scenario, Simulation, StrategyKind};

#[test]
fn every_ending_gives_back_what_did_not_run() {
    for ending in Ending::ALL {
        let (mut handed_back, mut refused) = (0, 0);
        for seed in 0..300 {
            let report = Simulation::new(seed)
                .workers(3)
                .producers(2)
                .ending(ending)
                .run(
                    0..20_u32,
                    |_| Vec::new(),
                    |task, cx| {
                        executor_core::TaskCtx::scratch(cx).push(task);
                    },
                )
                .unwrap_or_else(|failure| panic!("{failure}"));
            let mut all: Vec<u32> = report.scratches.into_iter().flatten().collect();
            handed_back += report.handed_back.len();
            refused += report.refused.len();
            all.extend(report.handed_back);
            all.extend(report.refused);
            all.sort_unstable();
            assert_eq!(all, (0..20).collect::<Vec<_>>(), "{}", report.course.line);
        }
        let early = !matches!(ending, Ending::Join | Ending::Idle);
        assert_eq!(refused > 0, early, "{ending}: {refused} refused");
        let aborts = matches!(ending, Ending::Abort | Ending::CloseThenAbort);
        assert_eq!(handed_back > 0, aborts, "{ending}: {handed_back} handed back");
    }
}

#[test]
fn sixty_five_workers_share_a_flood_and_all_leave() {
    let fields = "scenario=flat,roots=400,workers=65,producers=3,batch=40,spin=0,credit=2"
        .parse()
        .expect("it is well formed");
    let scenario = Scenario::from_fields(fields).expect("it is a scenario");
    for seed in 0..10 {
        let run = scenario.run(StrategyKind::Sticky, seed, RunOptions::default());
        let summary = run.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(summary.metrics.executed(), 400);
    }
}

#[test]
fn more_workers_take_less_virtual_time() {
    let makespan = |workers| {
        let run = Simulation::new(1)
            .workers(workers)
            .strategy(StrategyKind::Earliest)
            .run(
                [8_u32],
                |_| (),
                |depth, cx| {
                    cx.work(20_000);
                    if depth > 0 {
                        executor_core::TaskCtx::spawn_local(cx, depth - 1);
                        executor_core::TaskCtx::spawn_local(cx, depth - 1);
                    }
                },
            );
        run.unwrap_or_else(|failure| panic!("{failure}")).makespan_ns
    };
    let (one, eight) = (makespan(1), makespan(8));
    // 511 tasks of 20 µs each, at least nine of them in a row.
    assert!(one >= 511 * 20_000, "{one}");
    assert!(eight >= one / 8 && eight >= 9 * 20_000, "{eight}");
    assert!(eight < one / 4, "{one} with one worker, {eight} with eight");
}

/// With one worker the condition never holds.
#[test]
fn an_abort_lets_a_task_go_that_waits_in_vain() {
    let mut waited = 0;
    for seed in 0..200 {
        let report = Simulation::new(seed)
            .ending(Ending::Abort)
            .run(
                [0_u32],
                |_| 0_u64,
                |task, cx| {
                    cx.spawn_local(task + 1);
                    if !cx.wait_until("the next one has run", || false) {
                        *cx.scratch() += 1;
                    }
                },
            )
            .unwrap_or_else(|failure| panic!("{failure}"));
        let ran = report.scratches[0];
        assert_eq!(ran, report.metrics.executed());
        assert_eq!(report.handed_back.len() + report.refused.len(), 1);
        waited += ran;
    }
    assert!(waited > 0, "the abort never came after the task began");
}
