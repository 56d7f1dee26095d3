//! What a task sees of its worker: scratch value, chance, counters, number and spawning.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use executor_threaded::worker_id::set_current_worker_id;
use executor_threaded::{Executor, Rng, TaskCtx, WorkerCtx, current_worker_id};

use crate::support::{Door, both_ways_of_parking, config, sized, wait_until};

both_ways_of_parking! {
    fn scratch_space_per_worker(park_timeout) {
        type Scratch = Rc<RefCell<Vec<usize>>>;
        let workers = 4;
        let seen: Arc<Mutex<BTreeSet<(usize, usize)>>> = Arc::default();
        let sees = Arc::clone(&seen);
        let met = AtomicUsize::new(0);
        let executor = Executor::<usize>::new(
            config(workers, park_timeout),
            |worker| -> Scratch { Rc::new(RefCell::new(vec![worker])) },
            move |task, cx| {
                assert_eq!(cx.scratch.borrow()[0], cx.worker_id);
                cx.scratch.borrow_mut().push(task);
                met.fetch_add(1, Ordering::Relaxed);
                wait_until(|| met.load(Ordering::Relaxed) == workers);
                sees.lock().expect("nobody panics here").insert((cx.worker_id, cx.scratch.borrow().len()));
            },
        )
        .expect("the executor starts");
        executor.spawn_external_batch((0..workers).collect()).expect("the gate is open");
        executor.join();
        let seen = seen.lock().expect("nobody panics here").clone();
        assert_eq!(seen, (0..workers).map(|worker| (worker, 2)).collect());
    }
}

fn history(seed: u64, park_timeout: Option<std::time::Duration>) -> Vec<(u32, u64)> {
    let history: Arc<Mutex<Vec<(u32, u64)>>> = Arc::default();
    let writes = Arc::clone(&history);
    let executor = Executor::<u32>::new(
        // Otherwise the measured times would decide when the worker takes from the injector, and in
        // which runs.
        config(1, park_timeout).seed(seed).tune(|tuning| {
            tuning.fairness_interval = 1;
            tuning.private_tasks = 0;
        }),
        |_| (),
        move |task, cx| {
            let lot = cx.rng.next_u64();
            writes.lock().expect("nobody panics here").push((task, lot));
            if task < 200 {
                for k in 1..=lot % 3 {
                    cx.spawn_local(task * 2 + k as u32);
                }
                if lot.is_multiple_of(5) {
                    cx.spawn_global(task + 100);
                }
            }
        },
    )
    .expect("the executor starts");
    executor
        .spawn_external_batch((0..10).collect())
        .expect("the gate is open");
    executor.join();
    Arc::into_inner(history)
        .expect("the runner is gone")
        .into_inner()
        .expect("nobody panics here")
}

both_ways_of_parking! {
    fn deterministic_with_same_seed_single_worker(park_timeout) {
        let first = history(1, park_timeout);
        assert!(first.len() >= 10);
        assert_eq!(first, history(1, park_timeout));
        assert_ne!(first, history(2, park_timeout));
    }
}

both_ways_of_parking! {
    fn metrics_track_steals(park_timeout) {
        #[derive(Clone, Copy)]
        enum Task {
            Parent,
            Child,
        }
        for _ in 0..50 {
            let taken = Door::default();
            let by = Arc::new(AtomicUsize::new(usize::MAX));
            let taker = Arc::clone(&by);
            let executor = Executor::<Task>::new(config(2, park_timeout), |_| (), move |task, cx| match task {
                // Its worker is busy here, so the other one must steal the child.
                Task::Parent => {
                    cx.spawn_local(Task::Child);
                    taken.pass();
                    assert_ne!(taker.load(Ordering::Relaxed), cx.worker_id);
                }
                Task::Child => {
                    taker.store(cx.worker_id, Ordering::Relaxed);
                    taken.open();
                }
            })
            .expect("the executor starts");
            executor.spawn_external(Task::Parent).expect("the gate is open");
            let metrics = executor.join();
            let thief = by.load(Ordering::Relaxed);
            assert_eq!(metrics.workers[thief].executed_stolen, 1, "{metrics}");
            assert_eq!(metrics.workers[thief].steals_won, 1, "{metrics}");
            assert!(metrics.workers[thief].steals_tried >= 1, "{metrics}");
            assert_eq!(metrics.workers[1 - thief].steals_won, 0, "{metrics}");
            assert_eq!(metrics.total.executed_injector, 1, "{metrics}");
        }
    }
}

both_ways_of_parking! {
    fn metrics_count_parks_wakes_and_idle_time(park_timeout) {
        // Whether a worker parks between two tasks is chance, so it is tried until one does.
        loop {
            let executor = Executor::<()>::new(
                config(1, park_timeout).tune(|tuning| tuning.spin_iters = 0),
                |_| (),
                |(), _cx| {},
            )
            .expect("the executor starts");
            for _ in 0..100 {
                executor.spawn_external(()).expect("the gate is open");
                executor.wait_idle();
            }
            let metrics = executor.join();
            let total = &metrics.total;
            assert_eq!(total.executed_injector, 100);
            assert!(metrics.wakes_external <= total.parks, "{metrics}");
            assert!(metrics.wake_delay.samples <= metrics.wakes_external + 1, "{metrics}");
            assert_eq!((total.steals_tried, total.wakes), (0, 0), "{metrics}");
            if total.parks > 0 && total.idle > Duration::ZERO && metrics.wake_delay.samples > 0 {
                break;
            }
        }
    }
}

both_ways_of_parking! {
    fn a_task_can_tell_whether_has_idle_workers(park_timeout) {
        let alone = Executor::<()>::new(config(1, park_timeout), |_| (), |(), cx| {
            assert!(!cx.has_idle_workers(), "there is nobody else");
        })
        .expect("the executor starts");
        alone.spawn_external(()).expect("the gate is open");
        alone.join();
        let two = Executor::<()>::new(config(2, park_timeout), |_| (), |(), cx| {
            wait_until(|| cx.has_idle_workers());
            wait_until(|| cx.parts().1.has_idle_workers());
            wait_until(|| TaskCtx::has_idle_workers(cx));
        })
        .expect("the executor starts");
        two.spawn_external(()).expect("the gate is open");
        two.join();
    }
}

both_ways_of_parking! {
    fn metrics_tell_how_long_tasks_waited_in_the_injector(park_timeout) {
        let door = Arc::new(Door::default());
        let waits = Arc::clone(&door);
        let executor = Executor::<u32>::new(config(1, park_timeout), |_| (), move |task, cx| {
            if task == 0 {
                waits.pass();
            } else if task == 1 {
                cx.spawn_global(2);
            }
        })
        .expect("the executor starts");
        executor.spawn_external(0).expect("the gate is open");
        door.await_a_waiter();
        // Of any 640 pushes in a row of one thread ten are watched; so are some of the worker's.
        executor.spawn_external_batch(vec![1; 640]).expect("the gate is open");
        let queued = Instant::now();
        while queued.elapsed() < Duration::from_millis(1) {
            thread::yield_now();
        }
        door.open();
        let metrics = executor.join();
        let waited = metrics.injector_wait;
        assert!((20..=22).contains(&waited.samples), "{metrics}");
        assert!(waited.p50 <= waited.p99 && waited.p99 <= waited.max, "{metrics}");
        assert!(waited.max >= Duration::from_millis(1), "{metrics}");
        assert!(metrics.to_string().contains("waited in the injector: p50"), "{metrics}");
    }
}

both_ways_of_parking! {
    fn tasks_know_their_worker_and_other_threads_know_that_they_are_none(park_timeout) {
        let executor = Executor::<()>::new(config(3, park_timeout), |_| (), |(), cx| {
            assert_eq!(current_worker_id(), Some(cx.worker_id));
            assert_eq!(thread::current().name(), Some(format!("windlass-{}", cx.worker_id).as_str()));
        })
        .expect("the executor starts");
        executor.spawn_external_batch(vec![(); 1_000]).expect("the gate is open");
        assert_eq!(executor.join().total.executed(), 1_000);
        assert_eq!(current_worker_id(), None);
    }
}

#[test]
fn a_thread_of_ones_own_may_call_itself_a_worker() {
    set_current_worker_id(Some(3));
    assert_eq!(current_worker_id(), Some(3));
    set_current_worker_id(None);
    assert_eq!(current_worker_id(), None);
}

both_ways_of_parking! {
    fn one_runner_serves_every_task_context(park_timeout) {
        fn run<C: TaskCtx<u32, u64>>(task: u32, cx: &mut C) {
            *cx.scratch() += 1;
            for child in 0..task {
                cx.spawn_local(child);
            }
            cx.publish();
        }
        let leaves = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&leaves);
        let executor = Executor::<u32>::new(
            config(2, park_timeout),
            |_| 0_u64,
            move |task, cx: &mut WorkerCtx<u32, u64>| {
                run(task, cx);
                counts.fetch_add(usize::from(task == 0), Ordering::Relaxed);
            },
        )
        .expect("the executor starts");
        executor.spawn_external(10).expect("the gate is open");
        // Task n spawns one of each smaller number: 2ⁿ tasks, half of them leaves.
        assert_eq!(executor.join().total.executed(), 1 << 10);
        assert_eq!(leaves.load(Ordering::Relaxed), 1 << 9);
    }
}

#[test]
fn tasks_spawned_together_run_once_each_the_last_one_first() {
    const LEVELS: usize = 5;
    let ran = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&ran);
    let executor = Executor::<Vec<usize>>::new(
        config(1, None),
        |_| (),
        move |path, cx| {
            if path.len() < LEVELS {
                let child = |last| path.iter().copied().chain([last]).collect();
                cx.spawn_local_all::<4>(std::array::from_fn(child));
            }
            log.lock().unwrap().push(path);
        },
    )
    .expect("the executor starts");
    executor.spawn_external(Vec::new()).expect("the gate is open");
    let total = executor.join().total;
    let ran = ran.lock().unwrap();
    let nodes: usize = (0..=LEVELS as u32).map(|level| 4_usize.pow(level)).sum();
    assert_eq!(
        (ran.len(), total.executed(), total.spawned),
        (nodes, nodes as u64, nodes as u64 - 1)
    );
    let turned: Vec<Vec<usize>> = (ran.iter())
        .map(|path| path.iter().map(|child| 3 - child).collect())
        .collect();
    assert!(turned.is_sorted(), "depth first, from the last child");
}

both_ways_of_parking! {
    fn a_returned_task_runs_next_and_counts_as_spawned(park_timeout) {
        const LINKS: u64 = sized(20_000, 2_000_000) as u64;
        for workers in [1, 2, 8] {
            let ran = Arc::new(Mutex::new(Vec::new()));
            let log = Arc::clone(&ran);
            let executor = Executor::<u64>::new(
                config(workers, park_timeout),
                |_| Vec::new(),
                move |task, cx| {
                    cx.scratch.push(task);
                    if task == LINKS {
                        log.lock().unwrap().append(&mut cx.scratch);
                    }
                    (task < LINKS).then_some(task + 1)
                },
            )
            .expect("the executor starts");
            executor.spawn_external(0).expect("the gate is open");
            let total = executor.join().total;
            assert_eq!((total.executed(), total.spawned), (LINKS + 1, LINKS));
            // A task that is spawned because a tick is due may be stolen, with all that follow it.
            let ran = ran.lock().unwrap();
            assert!(ran.windows(2).all(|pair| pair[0] < pair[1]), "in their order");
        }
    }
}

both_ways_of_parking! {
    fn each_worker_has_a_share_of_a_tree_whose_tasks_return_one_child(park_timeout) {
        const DEPTH: u32 = sized(12, 20) as u32;
        let leaves = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&leaves);
        let executor = Executor::<u32>::new(config(2, park_timeout), |_| (), move |depth, cx| {
            if depth == 0 {
                counts.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            cx.spawn_local(depth - 1);
            Some(depth - 1)
        })
        .expect("the executor starts");
        executor.spawn_external(DEPTH).expect("the gate is open");
        assert_eq!(executor.join().total.executed(), (2 << DEPTH) - 1);
        assert_eq!(leaves.load(Ordering::Relaxed), 1 << DEPTH);
    }
}

both_ways_of_parking! {
    fn a_shutdown_ends_a_row_of_returned_tasks_that_has_no_end(park_timeout) {
        let begun = Arc::new(Door::default());
        let begins = Arc::clone(&begun);
        let executor = Executor::<u64>::new(config(2, park_timeout), |_| (), move |task, _cx| {
            begins.open();
            Some(task + 1)
        })
        .expect("the executor starts");
        executor.spawn_external(0).expect("the gate is open");
        begun.pass();
        assert_eq!(executor.shutdown().len(), 1);
    }
}

both_ways_of_parking! {
    fn the_parts_of_a_context_can_be_borrowed_together(park_timeout) {
        let executor = Executor::<usize>::new(config(2, park_timeout), |_| vec![1, 2, 3], |task, cx| {
            if task == 0 {
                let (numbers, spawner) = cx.parts();
                for &number in numbers.iter() {
                    spawner.spawn_local(number);
                    spawner.spawn_global(number);
                    spawner.publish();
                }
                spawner.handle().spawn(4).expect("the gate is open");
            }
        })
        .expect("the executor starts");
        executor.spawn_external(0).expect("the gate is open");
        executor.wait_idle();
        let metrics = executor.join();
        assert_eq!((metrics.total.spawned, metrics.total.executed()), (6, 8));
        assert_eq!(metrics.accepted_external(), 2);
    }
}

/// With `spin_iters` this large a worker never reaches its last look, so the second task reaches
/// the idle worker by the search alone.
#[test]
fn a_task_that_changes_its_workers_number_does_not_change_which_queues_are_searched() {
    #[derive(Clone, Copy)]
    enum Task {
        ChangeTheNumber,
        WaitForAThief,
        Stolen,
    }

    let (changed, stolen) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let steals = Arc::clone(&stolen);
    let executor = Executor::<Task>::new(
        config(2, None)
            .cores(Some(2))
            .tune(|tuning| tuning.spin_iters = u32::MAX),
        |_| (),
        move |task, cx| match task {
            Task::ChangeTheNumber => {
                cx.worker_id = 1 - cx.worker_id;
                changed.fetch_add(1, Ordering::Relaxed);
                wait_until(|| changed.load(Ordering::Relaxed) == 2);
            }
            Task::WaitForAThief => {
                cx.spawn_local(Task::Stolen);
                cx.publish();
                let deadline = Instant::now() + Duration::from_secs(10);
                wait_until(|| steals.load(Ordering::Relaxed) > 0 || Instant::now() > deadline);
                steals.fetch_add(2, Ordering::Relaxed);
            }
            Task::Stolen => {
                steals.fetch_add(1, Ordering::Relaxed);
            }
        },
    )
    .expect("the executor starts");
    let changes = vec![Task::ChangeTheNumber; 2];
    executor.spawn_external_batch(changes).expect("it accepts tasks");
    executor.wait_idle();
    executor
        .spawn_external(Task::WaitForAThief)
        .expect("it accepts tasks");
    let metrics = executor.join();
    assert_eq!(stolen.load(Ordering::Relaxed), 3);
    assert_eq!(
        metrics.total.steals_won, 1,
        "the other worker took the second task"
    );
}
