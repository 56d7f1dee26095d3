//! Which worker is woken, and when none is.

use std::sync::atomic::Ordering;

use executor_core::sleep::Search;
use executor_core::{ExecutorConfig, NoopTrace, TieredIdle, WorkerStepResult, worker_step};

use crate::bench_top::{Operation, Top, Worker};

#[test]
fn each_local_spawn_wakes_a_sleeper_until_one_searches() {
    let top = Top::of(4);
    top.register(2, false);
    top.register(3, false);
    top.place(0, 1);
    let mut worker = top.worker(0);
    worker.step_with(&|task, cx: &mut Worker| {
        if task == 1 {
            cx.state.spawn_local(2);
            cx.state.spawn_local(3);
        }
    });
    assert_eq!(
        top.unparked.take(),
        [3],
        "the newest sleeper, and only one while it searches"
    );
}

#[test]
fn a_searcher_that_leaves_tasks_in_the_injector_wakes_the_next() {
    let top = Top::of(4);
    let mut worker = top.worker(0);
    top.register(1, false);
    assert_eq!(worker.step(), WorkerStepResult::ShouldPark { timeout: None });
    top.injector.borrow_mut().extend([1, 2]);
    top.scheduler
        .state()
        .accept(&top.ports(0), 2)
        .expect("the gate is open");
    assert!(matches!(worker.step(), WorkerStepResult::RanTask { .. }));
    assert_eq!(top.unparked.take(), [1]);
}

#[test]
fn a_single_task_from_the_injector_wakes_no_other_worker() {
    let top = Top::of(4);
    top.spawn(1);
    top.register(1, false);
    assert!(matches!(top.worker(0).step(), WorkerStepResult::RanTask { .. }));
    assert_eq!(top.unparked.take(), [0; 0]);
}

#[test]
fn enough_searchers_send_the_next_idle_worker_to_sleep_at_once() {
    let top = Top::new(ExecutorConfig::new(2).tune(|tuning| tuning.spin_iters = 1_000));
    assert!(top.scheduler.sleep().begin_search(&top.ports(1)));
    let mut worker = top.worker(0);
    let mut idle = TieredIdle::new(1_000, None);
    let step = worker_step(&mut worker, &|_, _: &mut Worker| {}, &mut idle, &mut NoopTrace);
    assert_eq!(step, WorkerStepResult::ShouldPark { timeout: None });
    assert_eq!(worker.metrics.steals_tried, 0);
}

#[test]
fn only_the_last_searcher_passes_a_fence_when_it_leaves_and_only_if_it_then_looks_for_more() {
    let found = |searchers, surplus| {
        let top = Top::of(8);
        let ports = top.ports(0);
        let sleep = top.scheduler.sleep();
        (0..searchers).for_each(|_| assert!(sleep.begin_search(&ports)));
        top.take_log();
        sleep.found_work(&ports, Search::Yes, surplus, || {
            let before_the_look = top.take_log();
            assert_eq!(before_the_look.last(), Some(&Operation::Fence(Ordering::SeqCst)));
            false
        });
        let fences = |operation: &&Operation| matches!(operation, Operation::Fence(_));
        top.take_log().iter().filter(fences).count()
    };
    assert_eq!(found(1, false), 0, "there was one, before the look");
    assert_eq!(found(2, false), 0, "another one still searches");
    assert_eq!(found(1, true), 1, "the publisher's");
    assert_eq!(found(2, true), 1, "the publisher's");
}

#[test]
fn what_a_task_hands_to_the_injector_wakes_a_sleeper() {
    let top = Top::of(2);
    top.register(1, false);
    top.place(0, 1);
    let mut worker = top.worker(0);
    worker.step_with(&|_, cx: &mut Worker| cx.state.spawn_global(2));
    assert_eq!(top.unparked.take(), [1]);
    assert_eq!(top.injector.take(), [2]);
    worker.step();
    assert_eq!((worker.metrics.wakes, worker.metrics.spawned), (1, 1));
}
