//! Tasks that a task spawns together, beside those that it spawns one by one.

use std::sync::atomic::Ordering;

use super::{SMALL_NS, measured, run_root, search, steps, two};
use crate::bench_top::{Operation, Task, Worker};

#[test]
fn tasks_spawned_together_stay_private_at_the_cost_of_one_relaxed_load() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    run_root(&top, &mut worker, |cx| {
        top.take_log();
        cx.state.spawn_local_all([0, 1, 2, 3], |_| ());
        assert_eq!(top.take_log(), [Operation::Load(Ordering::Relaxed)]);
    });
    assert_eq!(top.public(0), []);
    steps(&mut worker, 4);
    assert_eq!(worker.scratch, [3, 2, 1, 0]);
}

#[test]
fn tasks_spawned_together_run_in_the_order_of_tasks_spawned_one_by_one() {
    const TASKS: Task = 600;
    let ran = |private_tasks, credit_block, spawn_all: fn(&mut Worker, [Task; 300])| {
        let config = two().tune(|tuning| {
            tuning.private_tasks = private_tasks;
            tuning.credit_block = credit_block;
        });
        let (top, mut worker) = measured(config, SMALL_NS);
        run_root(&top, &mut worker, |cx| {
            spawn_all(cx, std::array::from_fn(|index| index as Task));
            spawn_all(cx, std::array::from_fn(|index| 300 + index as Task));
        });
        steps(&mut worker, TASKS);
        assert_eq!(worker.state.take_returned(), []);
        worker.scratch.clone()
    };
    let one_by_one = |cx: &mut Worker, tasks: [Task; 300]| {
        tasks.into_iter().for_each(|task| cx.state.spawn_local(task));
    };
    let in_threes = |cx: &mut Worker, tasks: [Task; 300]| {
        let (threes, _) = tasks.as_chunks::<3>();
        threes
            .iter()
            .for_each(|&three| cx.state.spawn_local_all(three, |_| ()));
    };
    let together = |cx: &mut Worker, tasks: [Task; 300]| cx.state.spawn_local_all(tasks, |_| ());
    for private_tasks in [0, 1, 2, 3, 100, 256] {
        for credit_block in [1, 4, 64, 1_024] {
            let expected = ran(private_tasks, credit_block, one_by_one);
            assert_eq!(expected.len(), TASKS as usize);
            assert_eq!(ran(private_tasks, credit_block, in_threes), expected);
            assert_eq!(ran(private_tasks, credit_block, together), expected);
        }
    }
}

#[test]
fn what_follows_each_task_spawned_together_comes_as_often_as_there_are_tasks() {
    for searchers in 0..2 {
        let (top, mut worker) = measured(two(), SMALL_NS);
        (0..searchers).for_each(|_| search(&top, 1));
        run_root(&top, &mut worker, |cx| {
            let mut after = 0;
            cx.state.spawn_local_all([0; 5], |_| after += 1);
            assert_eq!(after, 5);
        });
    }
}

#[test]
fn a_searcher_is_given_half_of_the_tasks_spawned_together_after_the_next_task() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    run_root(&top, &mut worker, |cx| {
        cx.state.spawn_local_all([0, 1, 2, 3, 4, 5, 6, 7], |_| ());
        assert_eq!(top.public(0), []);
        search(&top, 1);
        cx.state.spawn_local_all([8, 9], |_| ());
        assert_eq!(top.public(0), [0, 1, 2, 3]);
    });
}
