//! When a worker ticks, and what it saves in between.

use super::*;

fn looked() -> (Rc<Top>, Worker) {
    let (top, mut worker) = measured(two(), SMALL_NS);
    run_root(&top, &mut worker, |_| {});
    (top, worker)
}

fn clock_reads(top: &Top) -> usize {
    let is_read = |operation: &&Operation| **operation == Operation::ReadClock;
    top.take_log().iter().filter(is_read).count()
}

#[test]
fn a_task_of_the_own_public_queue_needs_no_look_while_nothing_has_changed() {
    let (top, mut worker) = looked();
    top.place(0, 1);
    top.place(0, 2);
    top.take_log();
    let (load, pop) = (Operation::Load(Ordering::Relaxed), Operation::Pop);
    steps(&mut worker, 2);
    assert_eq!(top.take_log(), [load, load, pop, load, load, pop]);
    assert_eq!(worker.scratch, [2, 1]);
}

#[test]
fn what_is_in_reserve_is_newer_than_the_public_queue_and_comes_first() {
    let config = two().tune(|tuning| tuning.private_tasks = 4);
    let (top, mut worker) = measured(config, SMALL_NS);
    run_root(&top, &mut worker, |cx| {
        top.place(0, 77);
        spawn(cx, 7);
    });
    steps(&mut worker, 8);
    assert_eq!(worker.scratch, [6, 5, 4, 3, 2, 1, 0, 77]);
}

#[test]
fn while_no_worker_is_idle_private_tasks_need_hardly_a_tick() {
    let config = two().tune(|tuning| tuning.credit_block = 256);
    let (top, mut worker) = measured(config, SMALL_NS);
    let n = 200;
    run_root(&top, &mut worker, |cx| {
        top.take_log();
        spawn(cx, n);
        let changes = |operation: &&Operation| matches!(operation, Operation::Change(_));
        let log = top.take_log();
        assert_eq!(log.iter().filter(changes).count(), 1, "a block is acquired");
        // One load more, because ticks come before and after the block is acquired.
        assert_eq!(log.len(), n as usize + 2 + 1);
        assert!(!log.contains(&Operation::ReadClock), "no sample is due");
    });
}

#[test]
fn a_chain_looks_no_more_often_than_a_wake_would_be_worth() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    top.register(1, false);
    let (links, again) = (1_000, |_: Task, cx: &mut Worker| cx.state.spawn_local(0));
    run_root(&top, &mut worker, |cx| cx.state.spawn_local(0));
    top.take_log();
    for _ in 0..links {
        worker.step_with(&again);
    }
    let operations = top.take_log().len();
    assert!(
        operations < 2 * links + links / 5,
        "{operations} operations for {links} links"
    );
}

#[test]
fn who_begins_to_search_during_a_long_task_is_given_everything_at_its_end() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 10);
    worker.step_with(&|_, _| {
        search(&top, 1);
        top.now_ns.set(top.now_ns.get() + 1_000_000);
    });
    worker.step();
    assert_eq!(worker.scratch, [9, 8]);
    assert_eq!(top.public(0), (0..8).collect::<Vec<_>>());
}

#[test]
fn the_clock_is_read_at_ticks_while_a_sleeper_could_be_given_something() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    run_root(&top, &mut worker, |cx| {
        spawn(cx, 30);
        top.register(1, false);
        top.take_log();
        // The first spawn sees it; then ticks come after 1, 2, 4, 8, 16 operations in all.
        for spawned in [1, 1, 1, 2, 4, 8] {
            spawn(cx, spawned);
            assert_eq!(clock_reads(&top), 1, "in {spawned} spawns");
        }
    });
}

#[test]
fn the_clock_is_not_read_when_there_is_nothing_to_give_away() {
    let (top, mut worker) = looked();
    top.register(1, false);
    top.place(0, 5);
    top.take_log();
    worker.step();
    assert_eq!((worker.scratch.clone(), clock_reads(&top)), (vec![5], 0));
}

#[test]
fn the_clock_is_not_read_when_the_hungry_have_something_to_take() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 80);
    top.place(0, 77);
    top.register(1, false);
    worker.step();
    assert!(clock_reads(&top) > 0, "somebody has just fallen asleep");
    steps(&mut worker, 2 * WAKE_ON_HOARD_THRESHOLD);
    assert_eq!((clock_reads(&top), top.public(0)), (0, vec![77]));
}

#[test]
fn with_fewer_cores_than_workers_no_more_is_given_away_than_thieves_take_one_by_one() {
    for (cores, public, injected) in [(None, 0, 100), (Some(2), 0, 100), (Some(1), 32, 0)] {
        let (top, mut worker) = measured(two().cores(cores), SMALL_NS);
        spawn_from_root(&top, &mut worker, 200);
        search(&top, 1);
        worker.step();
        assert_eq!(
            (top.public(0).len(), top.injector.borrow().len()),
            (public, injected),
            "{cores:?}"
        );
    }
}

#[test]
fn with_fewer_cores_than_workers_tasks_leave_the_injector_one_by_one() {
    let config = two().cores(Some(1));
    let (top, mut worker) = measured(config, SMALL_NS);
    hand_over(&top, 0..5);
    worker.step();
    assert_eq!(top.injector.borrow().len(), 4);
}

#[test]
fn the_injector_is_looked_at_with_every_nth_task_and_no_more_often() {
    let interval = 5;
    let config = two().tune(|tuning| tuning.fairness_interval = interval);
    // Where each task ticks, the tick for the injector counts as well.
    for (private_tasks, every) in [(0, interval - 1), (8, interval)] {
        let (top, mut worker) = measured(
            config.clone().tune(|tuning| tuning.private_tasks = private_tasks),
            SMALL_NS,
        );
        run_root(&top, &mut worker, |cx| cx.state.spawn_local(0));
        top.take_log();
        let looks: Vec<u32> = (0..40)
            .filter(|_| {
                worker.step_with(&|_, cx| cx.state.spawn_local(0));
                top.take_log().contains(&Operation::Take)
            })
            .collect();
        let distances: Vec<u32> = looks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(distances, vec![every; distances.len()], "{looks:?}");
        assert!(distances.len() >= 6, "{looks:?}");
    }
}

#[test]
fn a_look_in_between_does_not_put_off_the_injectors_turn() {
    const OUTSIDE: Task = 7;
    let interval = 20;
    let config = two().tune(|tuning| tuning.fairness_interval = interval);
    for look_after in [3, 10, 17] {
        let (top, mut worker) = measured(config.clone(), SMALL_NS);
        let link = |task: Task, cx: &mut Worker| {
            if task != OUTSIDE {
                cx.state.spawn_local(0);
            }
        };
        run_root(&top, &mut worker, |cx| cx.state.spawn_local(0));
        (0..400).for_each(|_| {
            worker.step_with(&link);
        });
        top.register(1, false);
        top.place_outside(OUTSIDE);
        let ran = (1..=2 * interval).find(|&ran| {
            if ran == look_after {
                wake(&top);
            }
            worker.step_with(&link);
            worker.scratch.last() == Some(&OUTSIDE)
        });
        assert!(ran.is_some_and(|ran| ran <= interval), "{ran:?} of {interval}");
    }
}

#[test]
fn what_became_public_and_who_was_woken_is_counted() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    top.register(1, false);
    for (round, n) in [5, 3].into_iter().enumerate() {
        run_root(&top, &mut worker, |cx| {
            spawn(cx, n);
            cx.state.publish();
        });
        assert_eq!(top.unparked.take(), [1], "round {round}");
        top.register(1, true);
        steps(&mut worker, n);
        worker.step();
    }
    assert_eq!((worker.metrics.published, worker.metrics.wakes), (8, 2));
}

#[test]
fn a_task_is_told_whether_a_worker_is_idle() {
    let top = Top::new(two());
    let mut worker = top.worker(0);
    let asked = |worker: &mut Worker| {
        let answer = Cell::new(None);
        run_root(&top, worker, |cx| answer.set(Some(cx.state.has_idle_workers())));
        answer.get()
    };
    assert_eq!(asked(&mut worker), Some(false));
    search(&top, 1);
    assert_eq!(asked(&mut worker), Some(true), "one searches");
    top.register(1, true);
    assert_eq!(asked(&mut worker), Some(true), "one sleeps");
    wake(&top);
    assert_eq!(asked(&mut worker), Some(false));
}

fn spawns_until_woken(top: &Top, cx: &mut Worker, woken: usize) -> Option<u32> {
    (1..=2 * WAKE_ON_HOARD_THRESHOLD).find(|&task| {
        cx.state.spawn_local(task);
        top.unparked.borrow().len() == woken
    })
}

#[test]
fn a_sleeper_is_woken_for_as_many_operations_as_take_as_long_as_the_last_wake() {
    for (unpark_ns, worth) in [
        (10 * SMALL_NS, 10),
        (17 * SMALL_NS, 17),
        (0, 4),
        (50 * SMALL_NS, 32),
    ] {
        let (top, mut worker) = measured(two(), SMALL_NS);
        top.unpark_ns.set(unpark_ns);
        top.register(1, false);
        run_root(&top, &mut worker, |cx| {
            let first = spawns_until_woken(&top, cx, 1);
            assert_eq!(first, Some(WAKE_ON_HOARD_THRESHOLD + 1), "nothing is known yet");
            cx.state.spawn_local(0);
            top.queues[0].borrow_mut().clear();
            top.register(1, true);
            assert_eq!(spawns_until_woken(&top, cx, 2), Some(worth), "{unpark_ns} ns");
        });
    }
}

#[test]
fn a_publication_without_a_wake_says_nothing_about_how_long_a_wake_takes() {
    for somebody_searches in [false, true] {
        let (top, mut worker) = measured(two(), SMALL_NS);
        run_root(&top, &mut worker, |cx| {
            spawn(cx, 3);
            if somebody_searches {
                search(&top, 1);
            }
            cx.state.publish();
            assert_eq!(top.public(0), [0, 1, 2]);
            top.queues[0].borrow_mut().clear();
            top.register(1, somebody_searches);
            assert_eq!(
                spawns_until_woken(&top, cx, 1),
                Some(WAKE_ON_HOARD_THRESHOLD + 1),
                "{somebody_searches}"
            );
        });
    }
}

#[test]
fn publishing_much_hands_it_to_the_injector_and_wakes() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    run_root(&top, &mut worker, |cx| {
        spawn(cx, 100);
        top.register(1, false);
        cx.state.publish();
        assert_eq!((top.injector.borrow().len(), top.unparked.take()), (100, vec![1]));
    });
}
