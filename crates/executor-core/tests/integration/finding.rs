//! The order in which a worker searches for its next task.

use executor_core::{ExecutorConfig, PopSource, WorkerStepResult};

use crate::bench_top::{Operation, Top};

fn ran(source: PopSource, victim: Option<usize>) -> WorkerStepResult<()> {
    WorkerStepResult::RanTask {
        tag: (),
        source,
        victim,
    }
}

const PARK: WorkerStepResult<()> = WorkerStepResult::ShouldPark { timeout: None };

#[test]
fn own_tasks_run_newest_first_then_the_injector_then_a_victims_oldest() {
    let top = Top::of(2);
    top.spawn(30);
    for (worker, task) in [(0, 10), (0, 20), (1, 40), (1, 50)] {
        top.place(worker, task);
    }
    let mut worker = top.worker(0);
    let steps = [(); 6].map(|()| worker.step());
    let (local, injector, stolen) = (
        ran(PopSource::Local, None),
        ran(PopSource::Injector, None),
        ran(PopSource::Steal, Some(1)),
    );
    assert_eq!(steps, [local, local, injector, stolen, stolen, PARK]);
    assert_eq!(worker.scratch, [20, 10, 30, 40, 50]);
    assert_eq!(
        (worker.metrics.executed_local, worker.metrics.executed_injector),
        (2, 1)
    );
    assert_eq!(worker.metrics.executed_stolen, 2);
}

#[test]
fn a_worker_that_feeds_itself_for_ever_still_takes_from_outside_within_the_interval() {
    let interval = 5;
    let top = Top::new(ExecutorConfig::default().tune(|tuning| tuning.fairness_interval = interval));
    top.place(0, 1);
    let mut worker = top.worker(0);
    let feed_itself = |task: u32, cx: &mut crate::bench_top::Worker| {
        if task == 1 {
            cx.state.spawn_local(1);
        }
    };
    for _ in 0..3 {
        worker.step_with(&feed_itself);
    }
    top.spawn(7);
    let waited = (0..interval)
        .take_while(|_| worker.step_with(&feed_itself) == ran(PopSource::Local, None))
        .count();
    assert_eq!(worker.scratch.last(), Some(&7), "the outside task starved");
    assert!(waited < interval as usize);
}

#[test]
fn the_sweep_finds_the_only_loaded_victim_among_sixty_four_without_luck() {
    for loaded in [1, 17, 63] {
        let top = Top::of(64);
        top.place(loaded, 9);
        assert_eq!(top.worker(0).step(), ran(PopSource::Steal, Some(loaded)));
    }
}

#[test]
fn a_contended_probe_is_repeated_and_is_never_no_work() {
    let top = Top::of(2);
    top.place(1, 9);
    top.contention.set(50);
    assert_eq!(top.worker(0).step(), ran(PopSource::Steal, Some(1)));
    top.spawn(8);
    top.contention.set(50);
    assert_eq!(top.worker(0).step(), ran(PopSource::Injector, None));
}

#[test]
fn who_waits_for_another_spins_a_hundred_times_and_then_lets_it_have_the_core() {
    for (contended, spun) in [(99, 99), (100, 100), (150, 100)] {
        let top = Top::of(2);
        top.spawn(8);
        top.contention.set(contended);
        top.take_log();
        assert_eq!(top.worker(0).step(), ran(PopSource::Injector, None));
        let pauses = |operation: &&Operation| **operation == Operation::Pause;
        let paused = top.take_log().iter().filter(pauses).count();
        assert_eq!(top.spun.take(), vec![1; spun]);
        assert_eq!(paused, contended as usize, "the others are yields");
    }
}

#[test]
fn a_lone_worker_has_no_victim() {
    let top = Top::of(1);
    let mut worker = top.worker(0);
    assert_eq!(worker.step(), PARK);
    assert_eq!(worker.metrics.steals_tried, 0);
}

#[test]
fn every_count_is_back_after_the_first_failed_search() {
    for credit_block in [1, 2, 64] {
        let config = ExecutorConfig::default().tune(|tuning| {
            tuning.spin_iters = 1_000;
            tuning.credit_block = credit_block;
        });
        let top = Top::new(config);
        top.spawn(3);
        let mut worker = top.worker(0);
        let tree =
            |task: u32, cx: &mut crate::bench_top::Worker| (0..task).for_each(|n| cx.state.spawn_local(n));
        while worker.step_with(&tree) != WorkerStepResult::NoWork {}
        assert_eq!(worker.scratch.len(), 8, "3 spawns 0, 1, 2, and so on: 2³ tasks");
        assert_eq!(top.in_flight(), 0);
        assert_eq!(worker.metrics.spawned, 7);
    }
}

#[test]
fn in_the_middle_of_work_two_blocks_may_be_spare_and_more_go_back_down_to_one() {
    let top = Top::new(ExecutorConfig::default().tune(|tuning| tuning.credit_block = 2));
    (0..12).for_each(|task| top.place(0, task));
    let mut worker = top.worker(0);
    // Without the running task's. Each ended task leaves its count.
    let spare = [(); 12].map(|()| {
        worker.step();
        top.in_flight() - top.public(0).len() - 1
    });
    assert_eq!(spare, [0, 1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2]);
}
