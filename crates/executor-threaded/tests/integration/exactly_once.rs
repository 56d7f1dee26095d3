//! Every task runs exactly once, with one worker and with more workers than cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use executor_threaded::{Executor, ExecutorHandle};
use proptest::prelude::*;

use crate::support::{Tally, both_ways_of_parking, config, sized};

both_ways_of_parking! {
    fn ten_million_tasks_from_inside_and_outside_run_once_each(park_timeout) {
        for workers in [1, 2, 8, 65] {
            run_from_inside_and_outside(workers, park_timeout);
        }
    }
}

fn run_from_inside_and_outside(workers: usize, park_timeout: Option<std::time::Duration>) {
    let tasks = sized(1_000_000, 10_000_000);
    let outside = tasks / 2;
    let tally = Arc::new(Tally::new(tasks));
    let seen = Arc::clone(&tally);
    let executor = Executor::<u32>::new(
        config(workers, park_timeout),
        |_| (),
        move |task, cx| {
            let task = task as usize;
            seen.see(task);
            if task < outside {
                let child = (task + outside) as u32;
                if task.is_multiple_of(7) {
                    cx.spawn_global(child);
                } else {
                    cx.spawn_local(child);
                }
            }
        },
    )
    .expect("the executor starts");

    let produce = |handle: ExecutorHandle<u32>, from: usize, to: usize| {
        let mut next = from as u32;
        let mut batch = 1;
        while (next as usize) < to {
            if next.is_multiple_of(1_000) {
                let end = (next + batch).min(to as u32);
                handle
                    .spawn_batch((next..end).collect())
                    .expect("the gate is open");
                (next, batch) = (end, batch % 5_000 + 1);
            } else {
                handle.spawn(next).expect("the gate is open");
                next += 1;
            }
        }
    };
    thread::scope(|scope| {
        let (first, second) = (executor.handle(), executor.handle());
        scope.spawn(move || produce(first, 0, outside / 2));
        scope.spawn(move || produce(second, outside / 2, outside));
    });
    let metrics = executor.join();
    tally.assert_each_once();
    assert_eq!(metrics.total.executed(), tasks as u64);
    assert_eq!(metrics.total.spawned, (tasks - outside) as u64);
    assert_eq!(metrics.accepted_external(), outside as u64);
}

both_ways_of_parking! {
    fn executor_runs_all_external_tasks(park_timeout) {
        let tally = Arc::new(Tally::new(10_000));
        let seen = Arc::clone(&tally);
        let executor = Executor::<usize>::new(config(4, park_timeout), |_| (), move |task, _cx| seen.see(task))
            .expect("the executor starts");
        for task in 0..10_000 {
            executor.spawn_external(task).expect("the gate is open");
        }
        executor.join();
        tally.assert_each_once();
    }
}

both_ways_of_parking! {
    fn executor_runs_all_external_tasks_batch(park_timeout) {
        let tally = Arc::new(Tally::new(10_000));
        let seen = Arc::clone(&tally);
        let executor = Executor::<usize>::new(config(4, park_timeout), |_| (), move |task, _cx| seen.see(task))
            .expect("the executor starts");
        executor.spawn_external_batch(Vec::new()).expect("an empty batch is fine");
        for from in (0..10_000).step_by(1_000) {
            executor.spawn_external_batch((from..from + 1_000).collect()).expect("the gate is open");
        }
        executor.join();
        tally.assert_each_once();
    }
}

both_ways_of_parking! {
    fn tasks_can_spawn_more_tasks_locally(park_timeout) {
        for workers in [1, 2, 8] {
            // Heap order: task n spawns 2n + 1 and 2n + 2.
            let tally = Arc::new(Tally::new(100_000));
            let seen = Arc::clone(&tally);
            let executor = Executor::<usize>::new(config(workers, park_timeout), |_| (), move |task, cx| {
                seen.see(task);
                for child in [2 * task + 1, 2 * task + 2] {
                    if child < 100_000 {
                        cx.spawn_local(child);
                    }
                }
            })
            .expect("the executor starts");
            executor.spawn_external(0).expect("the gate is open");
            let metrics = executor.join();
            tally.assert_each_once();
            assert_eq!(metrics.total.spawned, 99_999);
        }
    }
}

both_ways_of_parking! {
    fn a_task_that_respawns_itself_does_not_starve_the_injector(park_timeout) {
        #[derive(PartialEq)]
        enum Task {
            Again,
            Stop,
        }
        let stopped = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&stopped);
        let executor = Executor::<Task>::new(config(1, park_timeout), |_| false, move |task, cx| {
            if task == Task::Stop {
                cx.scratch = true;
                seen.fetch_add(1, Ordering::Relaxed);
            } else if !cx.scratch {
                cx.spawn_local(Task::Again);
            }
        })
        .expect("the executor starts");
        executor.spawn_external(Task::Again).expect("the gate is open");
        executor.spawn_external(Task::Stop).expect("the gate is open");
        executor.join();
        assert_eq!(stopped.load(Ordering::Relaxed), 1);
    }
}

/// A child's number is the next free one.
#[derive(Clone, Debug)]
struct Forest {
    roots: usize,
    children: Vec<u8>,
}

fn forests() -> impl Strategy<Value = Forest> {
    (1_usize..20, prop::collection::vec(0_u8..4, 0..400))
        .prop_map(|(roots, children)| Forest { roots, children })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_forest_runs_once_with_any_settings(
        forest in forests(),
        workers in 1_usize..6,
        credit_block in 1_usize..70,
        fairness_interval in 1_u32..70,
        steal_tries in 1_u32..5,
        spin_iters in 0_u32..50,
        timeout in any::<bool>(),
    ) {
        let Forest { roots, children } = forest;
        let born = Arc::new(AtomicUsize::new(roots));
        let full = roots + children.iter().map(|&n| usize::from(n)).sum::<usize>();
        let tally = Arc::new(Tally::new(full));
        let (seen, next) = (Arc::clone(&tally), Arc::clone(&born));
        let settings = config(workers, timeout.then_some(std::time::Duration::from_micros(200))).tune(|tuning| { tuning.steal_tries = steal_tries; tuning.spin_iters = spin_iters; tuning.credit_block = credit_block; tuning.fairness_interval = fairness_interval; });
        let executor = Executor::<usize>::new(settings, |_| (), move |task, cx| {
            seen.see(task);
            for child in 0..children.get(task).copied().unwrap_or(0) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if child % 2 == 0 { cx.spawn_local(number) } else { cx.spawn_global(number) }
            }
        })
        .expect("the executor starts");
        executor.spawn_external_batch((0..roots).collect()).expect("the gate is open");
        let metrics = executor.join();
        let born = born.load(Ordering::Relaxed);
        prop_assert_eq!(tally.seen_once(), born);
        prop_assert_eq!(metrics.total.executed(), born as u64);
        prop_assert_eq!(metrics.total.spawned, (born - roots) as u64);
    }
}
