//! Who is woken, and when nobody is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use executor_core::{ExecutorConfig, NoopTrace, TaskCtx, TieredIdle, WorkerStepResult, worker_step};

use crate::bench_top::{FellAsleep, Top, Worker};

/// Lets `worker` register and fall asleep. There is one thread, so falling asleep leaves the protocol by unwinding.
fn register(top: &Rc<Top>, worker: usize) {
    let ports = top.ports(worker);
    let slept = catch_unwind(AssertUnwindSafe(|| {
        top.scheduler
            .sleep()
            .sleep(&ports, worker, false, None, || None::<()>)
    }));
    assert!(slept.is_err_and(|payload| payload.is::<FellAsleep>()));
}

#[test]
fn each_local_spawn_wakes_a_sleeper_until_somebody_searches() {
    let top = Top::of(4);
    register(&top, 2);
    register(&top, 3);
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
fn a_batch_in_transit_is_announced_by_whoever_moved_it() {
    let top = Top::of(4);
    top.batch.set(8);
    (0..4).for_each(|task| top.spawn(task));
    register(&top, 1);
    let mut worker = top.worker(0);
    assert!(matches!(worker.step(), WorkerStepResult::RanTask { .. }));
    assert_eq!(top.queues[0].borrow().len(), 3);
    assert_eq!(top.unparked.take(), [1]);
}

#[test]
fn a_single_task_from_the_injector_wakes_nobody_else() {
    let top = Top::of(4);
    top.spawn(1);
    register(&top, 1);
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
