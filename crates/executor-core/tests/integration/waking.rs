//! Who is woken, and when nobody is.

use executor_core::{ExecutorConfig, NoopTrace, TaskCtx, TieredIdle, WorkerStepResult, worker_step};

use crate::bench_top::{Top, Worker};

#[test]
fn each_local_spawn_wakes_a_sleeper_until_somebody_searches() {
    let top = Top::of(4);
    top.register(2, false);
    top.register(3, false);
    top.place(0, 1);
    let mut worker = top.worker(0);
    worker.step_with(&|task, cx: &mut Worker| {
        if task == 1 {
            cx.spawn_local(2);
            cx.spawn_local(3);
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
fn a_single_task_from_the_injector_wakes_nobody_else() {
    let top = Top::of(4);
    top.spawn(1);
    top.register(1, false);
    assert!(matches!(top.worker(0).step(), WorkerStepResult::RanTask { .. }));
    assert_eq!(top.unparked.take(), [0; 0]);
}

#[test]
fn enough_searchers_send_the_next_idle_worker_to_sleep_at_once() {
    let top = Top::new(ExecutorConfig {
        workers: 2,
        spin_iters: 1_000,
        ..ExecutorConfig::default()
    });
    assert!(top.scheduler.sleep().begin_search(&top.ports(1)));
    let mut worker = top.worker(0);
    let mut idle = TieredIdle::new(1_000, None);
    let step = worker_step(&mut worker, &|_, _: &mut Worker| {}, &mut idle, &mut NoopTrace);
    assert_eq!(step, WorkerStepResult::ShouldPark { timeout: None });
    assert_eq!(worker.metrics.steals_tried, 0);
}
