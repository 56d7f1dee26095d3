//! Tasks that a task returns, which run next.

use executor_core::ExecTraceEvent;
use proptest::prelude::*;

use super::*;
use crate::bench_top::Fragile;

#[test]
fn a_returned_task_runs_in_the_same_step_at_the_cost_of_one_relaxed_load() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 1);
    top.take_log();
    worker.step_returning(&|task, _| (task < 9).then_some(task + 1));
    assert_eq!(top.take_log(), [Operation::Load(Ordering::Relaxed); 10]);
    assert_eq!(worker.scratch, (0..10).collect::<Vec<_>>());
}

#[test]
fn returned_tasks_count_as_spawned_and_as_run_by_their_worker() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 1);
    while worker.scratch.len() < 1_000 {
        worker.step_returning(&|task, _| (task < 999).then_some(task + 1));
    }
    let in_flight = top.in_flight();
    worker.step();
    assert_eq!(top.in_flight(), 0, "of {in_flight} counts none covers a task");
    let metrics = &worker.metrics;
    // 17 measured ones and the root were placed in the queue.
    assert_eq!((metrics.spawned, metrics.executed()), (1_000, 1_018));
    assert_eq!(metrics.published, 0);
}

#[test]
fn a_row_of_returned_tasks_lets_the_injector_have_its_turn() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    let interval = two().tuning.fairness_interval as usize;
    spawn_from_root(&top, &mut worker, 1);
    top.place_outside(77);
    while !worker.scratch.contains(&77) {
        worker.step_returning(&|_, _| Some(1));
        assert!(
            worker.scratch.len() <= interval + 1,
            "{} tasks",
            worker.scratch.len()
        );
    }
}

#[test]
fn a_searcher_is_given_half_of_the_tasks_after_the_next_returned_one() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 8);
    worker.step_returning(&|task, _| {
        if task == 7 {
            search(&top, 1);
        }
        Some(100)
    });
    assert_eq!((top.public(0), worker.scratch.clone()), (vec![0, 1, 2], vec![7]));
    worker.step();
    assert_eq!(worker.scratch, [7, 100]);
}

#[test]
fn an_abort_during_a_row_hands_back_the_returned_task() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 2);
    worker.step_returning(&|task, cx| {
        if task == 3 {
            top.scheduler.abort(cx.state.ports());
        }
        Some(task + 1)
    });
    let exit = run_worker(
        &mut worker,
        &|_, _: &mut Worker| panic!("ran"),
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(
        (exit, worker.state.take_returned()),
        (WorkerExit::Done, vec![4, 0])
    );
    assert_eq!((worker.scratch, top.in_flight()), (vec![1, 2, 3], 0));
}

#[test]
fn a_hook_that_panics_at_the_end_of_a_task_leaves_the_returned_one() {
    for each_ns in [SMALL_NS, 1_000_000] {
        let (top, mut worker) = measured(two(), each_ns);
        top.place(0, 1);
        let exit = run_worker(
            &mut worker,
            &|task, _: &mut Worker| Some(task + 1),
            &mut TieredIdle::new(0, None),
            &mut Fragile(|event| matches!(event, ExecTraceEvent::TaskEnd { .. })),
        );
        assert_eq!(exit, WorkerExit::Panicked);
        assert_eq!((worker.state.take_returned(), top.in_flight()), (vec![2], 0));
    }
}

#[test]
fn after_the_panic_of_a_returned_task_the_worker_goes_on_with_the_others() {
    let config = two().on_panic(executor_core::OnPanic::Isolate);
    let (top, mut worker) = measured(config, SMALL_NS);
    spawn_from_root(&top, &mut worker, 2);
    top.scheduler.close(&top.ports(0));
    let exit = run_worker(
        &mut worker,
        &|task, cx: &mut Worker| {
            cx.scratch.push(task);
            if task == 3 {
                PlannedPanic::throw();
            }
            (task > 0).then_some(task + 1)
        },
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Done);
    assert_eq!((worker.isolated, worker.metrics.panicked), (1, 1));
    assert_eq!(worker.scratch, [0], "what the handler has cleared came before");
    assert_eq!(top.in_flight(), 0);
}

#[test]
fn a_row_that_begins_in_a_batch_goes_behind_the_batch_at_the_next_tick() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    (1..4).for_each(|task| top.place_outside(task));
    top.stolen_together.set(3);
    let interval = two().tuning.fairness_interval as usize;
    worker.step_returning(&|_, _| Some(100));
    assert!(worker.scratch.len() <= interval, "{} tasks", worker.scratch.len());
    assert_eq!(worker.scratch[..2], [1, 100]);
    worker.scratch.clear();
    steps(&mut worker, 3);
    assert_eq!(worker.scratch, [2, 3, 100]);
}

/// Children of a node: the first of them are spawned, and the last is returned or spawned.
fn children(node: Task, seed: u64) -> Vec<Task> {
    if node >= 1 << 12 {
        return Vec::new();
    }
    let hash = (u64::from(node) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let first = node * 3 + 1;
    (first..first + (hash >> 32) as Task % 4).collect()
}

fn runs(config: ExecutorConfig, each_ns: u64, seed: u64, returned: bool) -> Vec<Task> {
    let (top, mut worker) = measured(config, each_ns);
    (0..3).for_each(|root| top.place(0, root));
    while top.in_flight() > 0 {
        worker.step_returning(&|node, cx| {
            top.now_ns.set(top.now_ns.get() + each_ns);
            let mut children = children(node, seed);
            let last = if returned { children.pop() } else { None };
            children.into_iter().for_each(|child| cx.state.spawn_local(child));
            last
        });
    }
    std::mem::take(&mut worker.scratch)
}

proptest! {
    #[test]
    fn returned_tasks_run_in_the_order_of_tasks_spawned_last(
        private_tasks in prop::sample::select(vec![0_usize, 1, 2, 3, 100, 256]),
        credit_block in prop::sample::select(vec![1_usize, 4, 64, 1_024]),
        each_ns in prop::sample::select(vec![SMALL_NS, 1_000_000]),
        seed in any::<u64>(),
    ) {
        let config = || ExecutorConfig::new(1).tune(|tuning| {
            tuning.spin_iters = 0;
            tuning.private_tasks = private_tasks;
            tuning.credit_block = credit_block;
        });
        prop_assert_eq!(
            runs(config(), each_ns, seed, true),
            runs(config(), each_ns, seed, false)
        );
    }
}
