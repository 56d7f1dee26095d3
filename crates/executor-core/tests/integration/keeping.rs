//! Private tasks: which are kept, when they are published, and that no count is lost.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use executor_core::{
    ExecutorConfig, NoopTrace, PopSource, TieredIdle, WAKE_ON_HOARD_THRESHOLD, WorkerExit, WorkerStepResult,
    run_worker,
};

use executor_core::sleep::Search;

use crate::bench_top::{Operation, PlannedPanic, Task, Top, Worker};

mod counts;
mod looks;
mod next;
mod together;

const ROOT: Task = 1_000;

const SMALL_NS: u64 = 100;

fn two() -> ExecutorConfig {
    ExecutorConfig::new(2).tune(|tuning| tuning.spin_iters = 0)
}

fn measured(config: ExecutorConfig, each_ns: u64) -> (Rc<Top>, Worker) {
    let top = Top::new(config);
    let mut worker = top.worker(0);
    // The first tick begins a sample, and the tick after the 16th task ends it.
    for _ in 0..=16 {
        top.place(0, 0);
        worker.step_with(&|_, _| top.now_ns.set(top.now_ns.get() + each_ns));
    }
    worker.scratch.clear();
    (top, worker)
}

fn run_root(top: &Rc<Top>, worker: &mut Worker, what: impl Fn(&mut Worker)) {
    top.place(0, ROOT);
    worker.step_with(&|task, cx| {
        assert_eq!(task, ROOT);
        what(cx);
    });
    assert_eq!(worker.scratch.pop(), Some(ROOT));
}

fn spawn_from_root(top: &Rc<Top>, worker: &mut Worker, n: Task) {
    run_root(top, worker, |cx| spawn(cx, n));
}

fn spawn(cx: &mut Worker, n: Task) {
    (0..n).for_each(|task| cx.state.spawn_local(task));
}

fn steps(worker: &mut Worker, n: Task) {
    for _ in 0..n {
        worker.step();
    }
}

fn wake(top: &Rc<Top>) {
    let ports = top.ports(0);
    assert_eq!(top.scheduler.sleep().notify(&ports, 1), 1);
    top.scheduler
        .sleep()
        .found_work(&ports, Search::Yes, false, || false);
    top.unparked.take();
}

fn search(top: &Rc<Top>, worker: usize) {
    assert!(top.scheduler.sleep().begin_search(&top.ports(worker)));
}

#[test]
fn nothing_is_private_before_tasks_were_measured() {
    let top = Top::new(two());
    spawn_from_root(&top, &mut top.worker(0), 3);
    assert_eq!(top.public(0), [0, 1, 2]);
}

#[test]
fn short_tasks_stay_private_while_no_worker_is_idle_and_the_newest_runs_first() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 100);
    for _ in 0..100 {
        assert_eq!(top.public(0), []);
        let ran = worker.step();
        let (source, victim) = (PopSource::Local, None);
        assert_eq!(
            ran,
            WorkerStepResult::RanTask {
                tag: (),
                source,
                victim
            }
        );
    }
    assert_eq!(worker.scratch, (0..100).rev().collect::<Vec<_>>());
    assert_eq!(worker.metrics.published, 0);
}

#[test]
fn a_private_task_is_spawned_and_taken_with_one_relaxed_load_each() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    let n = 10;
    run_root(&top, &mut worker, |cx| {
        top.take_log();
        spawn(cx, n);
        assert_eq!(top.take_log(), [Operation::Load(Ordering::Relaxed); 10]);
    });
    top.take_log();
    steps(&mut worker, n);
    assert_eq!(top.take_log(), [Operation::Load(Ordering::Relaxed); 10]);
    assert_eq!(worker.scratch.len(), 10);
}

#[test]
fn long_tasks_are_public_at_once_and_wake() {
    let (top, mut worker) = measured(two(), 1_000);
    top.register(1, false);
    run_root(&top, &mut worker, |cx| {
        cx.state.spawn_local(0);
        assert_eq!((top.public(0), top.unparked.take()), (vec![0], vec![1]));
        cx.state.spawn_local(1);
    });
    assert_eq!(top.public(0), [0, 1]);
}

#[test]
fn a_searcher_is_given_the_older_half_at_the_next_pop() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 10);
    search(&top, 1);
    worker.step();
    assert_eq!(
        (top.public(0), worker.scratch.clone()),
        (vec![0, 1, 2, 3, 4], vec![9])
    );
}

#[test]
fn a_searcher_is_given_the_older_half_at_the_next_spawn() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    run_root(&top, &mut worker, |cx| {
        spawn(cx, 10);
        search(&top, 1);
        assert_eq!(top.public(0), []);
        cx.state.spawn_local(10);
        assert_eq!(top.public(0), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn more_than_thirty_two_tasks_are_given_away_through_the_injector() {
    for (spawned, injected) in [(64, 0), (66, 33), (200, 100), (1_000, 500)] {
        let (top, mut worker) = measured(two(), SMALL_NS);
        spawn_from_root(&top, &mut worker, spawned);
        search(&top, 1);
        worker.step();
        let given: Vec<Task> = top.injector.borrow().iter().copied().collect();
        assert_eq!(given, (0..injected).collect::<Vec<_>>(), "of {spawned}");
        assert_eq!(top.public(0).is_empty(), injected > 0, "of {spawned}");
    }
}

#[test]
fn what_was_given_away_through_the_injector_is_not_given_away_again_while_it_is_there() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 200);
    search(&top, 1);
    steps(&mut worker, 20);
    assert_eq!(top.injector.borrow().len(), 100);
    top.injector.borrow_mut().clear();
    let waited = (1..=21).find(|_| {
        worker.step();
        !top.injector.borrow().is_empty()
    });
    assert!(waited.is_some(), "the searcher went hungry");
}

#[test]
fn a_searcher_is_given_nothing_while_it_has_something_to_take() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 40);
    top.place(0, 77);
    search(&top, 1);
    for _ in 0..20 {
        worker.step();
        assert_eq!(top.public(0), [77]);
    }
    top.queues[0].borrow_mut().pop_front();
    let waited = (1..=21).find(|_| {
        worker.step();
        !top.public(0).is_empty()
    });
    assert!(waited.is_some(), "the searcher went hungry");
    assert_eq!(top.public(0).first(), Some(&0));
}

#[test]
fn those_that_were_given_away_are_the_oldest_and_the_rest_runs_newest_first() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 6);
    search(&top, 1);
    worker.step();
    assert_eq!(top.queues[0].borrow_mut().pop_front(), Some(0));
    steps(&mut worker, 4);
    assert_eq!(worker.scratch, [5, 4, 3, 2, 1]);
}

#[test]
fn a_sleeper_is_woken_after_a_number_of_spawns_and_not_before() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    top.register(1, false);
    let woken_after = Cell::new(None);
    run_root(&top, &mut worker, |cx| {
        for spawned in 1..=100 {
            cx.state.spawn_local(spawned);
            if woken_after.get().is_none() && !top.unparked.borrow().is_empty() {
                woken_after.set(Some(spawned));
            }
        }
    });
    assert_eq!(
        woken_after.get(),
        Some(WAKE_ON_HOARD_THRESHOLD + 1),
        "with the first spawn after the threshold"
    );
    assert_eq!(top.unparked.take(), [1]);
}

#[test]
fn a_sleeper_is_woken_after_a_number_of_pops_and_not_before() {
    let wake_threshold = 12;
    let config = two().tune(|tuning| tuning.wake_threshold = wake_threshold);
    let (top, mut worker) = measured(config, SMALL_NS);
    spawn_from_root(&top, &mut worker, 100);
    // The searcher takes all tasks and falls asleep.
    search(&top, 1);
    worker.step();
    top.injector.borrow_mut().clear();
    top.register(1, true);
    let woken_after = (1..100).find(|_| {
        worker.step();
        !top.unparked.borrow().is_empty()
    });
    let woken_after = woken_after.expect("the sleeper sleeps on");
    // Ticks of pops do not count.
    assert!(
        (wake_threshold..=2 * wake_threshold).contains(&woken_after),
        "woken after {woken_after} operations"
    );
}

#[test]
fn a_chain_neither_wakes_a_sleeper_nor_gives_anything_away() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    top.register(1, false);
    run_root(&top, &mut worker, |cx| cx.state.spawn_local(999));
    let links = |task: Task, cx: &mut Worker| {
        if task > 0 {
            cx.state.spawn_local(task - 1);
        }
    };
    for _ in 0..1_000 {
        worker.step_with(&links);
    }
    assert_eq!(worker.scratch.last(), Some(&0));
    assert_eq!((top.public(0), top.unparked.take()), (vec![], vec![]));
    worker.step();
    assert_eq!((worker.metrics.published, worker.metrics.wakes), (0, 0));
}

#[test]
fn operations_are_counted_anew_after_the_private_tasks_have_run_out() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    let n = WAKE_ON_HOARD_THRESHOLD / 3;
    for sleeps_from in [0, 9] {
        for round in 0..10 {
            spawn_from_root(&top, &mut worker, n);
            if round == sleeps_from {
                top.register(1, false);
            }
            steps(&mut worker, n);
            assert_eq!(top.unparked.take(), [0; 0]);
        }
        wake(&top);
    }
}

#[test]
fn tasks_that_have_become_long_are_public_after_the_next_sample() {
    let config = two().tune(|tuning| tuning.fairness_interval = 20);
    let (top, mut worker) = measured(config, SMALL_NS);
    spawn_from_root(&top, &mut worker, 100);
    let long = |_: Task, _: &mut Worker| top.now_ns.set(top.now_ns.get() + 5_000);
    let ran = (1..100).find(|_| {
        worker.step_with(&long);
        !top.injector.borrow().is_empty()
    });
    // The sample is due after one interval and taken at the next tick.
    assert!(ran.is_some_and(|ran| ran < 40), "public after {ran:?} long tasks");
    assert_eq!(
        top.injector.borrow().front(),
        Some(&1),
        "its owner has taken the oldest"
    );
}

fn fall_asleep_during_a_task_of(last_ns: u64) -> (Rc<Top>, Worker) {
    let (top, mut worker) = measured(two(), SMALL_NS);
    spawn_from_root(&top, &mut worker, 10);
    worker.step_with(&|_, _| {
        top.register(1, false);
        top.now_ns.set(top.now_ns.get() + last_ns);
    });
    assert_eq!((top.public(0), top.unparked.take()), (vec![], vec![]));
    worker.step();
    (top, worker)
}

#[test]
fn who_falls_asleep_during_a_long_task_is_woken_at_its_end_and_everything_is_public() {
    let (top, worker) = fall_asleep_during_a_task_of(1_000_000);
    assert_eq!(top.unparked.take(), [1]);
    assert_eq!(worker.scratch, [9, 8]);
    assert_eq!(top.public(0), (0..8).collect::<Vec<_>>());
}

#[test]
fn who_falls_asleep_during_a_short_task_sleeps_on() {
    let (top, _) = fall_asleep_during_a_task_of(SMALL_NS);
    assert_eq!((top.public(0), top.unparked.take()), (vec![], vec![]));
}

#[test]
fn publishing_makes_everything_public_and_wakes() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    top.register(1, false);
    run_root(&top, &mut worker, |cx| {
        spawn(cx, 5);
        assert_eq!((top.public(0), top.unparked.take()), (vec![], vec![]));
        top.take_log();
        cx.state.publish();
        assert!(
            top.take_log().contains(&Operation::Fence(Ordering::SeqCst)),
            "like every publisher"
        );
        assert_eq!(
            (top.public(0), top.unparked.take()),
            (vec![0, 1, 2, 3, 4], vec![1])
        );
    });
}

fn hand_over(top: &Rc<Top>, tasks: std::ops::Range<Task>) {
    let ports = top.ports(0);
    let handed_over = top.scheduler.spawn_external_batch(&ports, tasks.collect());
    handed_over.expect("the gate is open");
}

#[test]
fn short_tasks_leave_the_injector_in_runs_of_thirty_two_and_keep_their_order() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    hand_over(&top, 0..70);
    for (ran, left) in [(1, 38), (32, 38), (33, 6), (64, 6), (65, 0), (70, 0)] {
        let done = worker.scratch.len();
        (done..ran).for_each(|_| {
            worker.step();
        });
        assert_eq!(top.injector.borrow().len(), left, "after {ran} tasks");
    }
    assert_eq!(worker.scratch, (0..70).collect::<Vec<_>>());
}

#[test]
fn tasks_that_are_not_known_to_be_short_leave_the_injector_one_by_one() {
    let (top, mut worker) = measured(two(), 5_000);
    hand_over(&top, 0..5);
    worker.step();
    assert_eq!((top.injector.borrow().len(), top.public(0)), (4, vec![]));
    let top = Top::new(two());
    hand_over(&top, 0..5);
    top.worker(0).step();
    assert_eq!((top.injector.borrow().len(), top.public(0)), (4, vec![]));
}

#[test]
fn what_a_task_of_a_run_spawns_comes_after_the_run_and_before_what_is_in_reserve() {
    let config = two().tune(|tuning| {
        tuning.fairness_interval = 20;
        tuning.private_tasks = 8;
    });
    let (top, mut worker) = measured(config, SMALL_NS);
    spawn_from_root(&top, &mut worker, 30);
    let mut own = 0;
    while worker.scratch.last() != Some(&100) {
        if own == 3 {
            hand_over(&top, 100..103);
        }
        worker.step();
        own += 1;
        assert!(own < 30, "the outside starved");
    }
    worker.scratch.clear();
    let two_each = |task: Task, cx: &mut Worker| (0..2).for_each(|n| cx.state.spawn_local(2 * task + n));
    worker.step_with(&two_each);
    worker.step_with(&two_each);
    steps(&mut worker, 5);
    assert_eq!(worker.scratch[..6], [101, 102, 205, 204, 203, 202]);
    assert!(worker.scratch[6] < 30);
}

#[test]
fn a_task_that_feeds_itself_does_not_bury_the_run_that_it_came_with() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    hand_over(&top, 0..32);
    let again = |task: Task, cx: &mut Worker| cx.state.spawn_local(task);
    (0..32).for_each(|_| {
        worker.step_with(&again);
    });
    assert_eq!(worker.scratch, (0..32).collect::<Vec<_>>());
}

#[test]
fn what_is_left_of_a_run_goes_back_to_the_injector_if_a_worker_is_idle_or_tasks_turn_out_long() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    hand_over(&top, 0..10);
    worker.step();
    search(&top, 1);
    worker.step();
    assert_eq!((top.injector.borrow().len(), top.public(0)), (4, vec![]));
    let long = |_: Task, _: &mut Worker| top.now_ns.set(top.now_ns.get() + 5_000_000);
    (0..4).for_each(|_| {
        worker.step_with(&long);
    });
    assert_eq!(top.public(0), []);
    assert_eq!(worker.scratch.len() + top.injector.borrow().len(), 10);
}

#[test]
fn more_than_fits_is_kept_in_reserve_and_all_of_it_runs_newest_first() {
    let config = two().tune(|tuning| tuning.private_tasks = 8);
    let (top, mut worker) = measured(config, SMALL_NS);
    run_root(&top, &mut worker, |cx| {
        spawn(cx, 100);
        assert_eq!((top.public(0), top.injector.borrow().len()), (vec![], 0));
    });
    steps(&mut worker, 50);
    worker.step_with(&|_, cx| spawn(cx, 10));
    steps(&mut worker, 59);
    let newest_first = (49..100).rev().chain((0..10).rev()).chain((0..49).rev());
    assert_eq!(worker.scratch, newest_first.collect::<Vec<_>>());
    assert_eq!(worker.metrics.published, 0);
}

#[test]
fn no_room_for_private_tasks_makes_every_task_public() {
    let config = two().tune(|tuning| tuning.private_tasks = 0);
    let (top, mut worker) = measured(config, SMALL_NS);
    top.register(1, false);
    spawn_from_root(&top, &mut worker, 3);
    assert_eq!((top.public(0), top.unparked.take()), (vec![0, 1, 2], vec![1]));
}

#[test]
fn private_tasks_are_handed_back_while_aborting_and_so_is_what_the_running_one_still_spawns() {
    let (top, mut worker) = measured(two(), SMALL_NS);
    run_root(&top, &mut worker, |cx| {
        spawn(cx, 3);
        top.scheduler.abort(&top.ports(1));
        cx.state.spawn_local(3);
    });
    let exit = run_to_the_end(&mut worker, |_, _| panic!("ran"));
    assert_eq!(
        (exit, returned(&mut worker)),
        (WorkerExit::Done, vec![0, 1, 2, 3])
    );
    assert_eq!(top.in_flight(), 0);
}

#[test]
fn after_a_panic_private_tasks_are_handed_back_and_no_count_is_left_or_missing() {
    for credit_block in [1, 2, 64] {
        let config = two().tune(|tuning| tuning.credit_block = credit_block);
        for panics in [ROOT, 4] {
            let (top, mut worker) = measured(config.clone(), SMALL_NS);
            top.place(0, ROOT);
            let exit = run_to_the_end(&mut worker, |task, cx| {
                if task == ROOT {
                    spawn(cx, 5);
                }
                assert_eq!(top.public(0), []);
                if task == panics {
                    PlannedPanic::throw();
                }
            });
            let back = if panics == ROOT { 0..5 } else { 0..4 };
            assert_eq!(exit, WorkerExit::Panicked);
            assert_eq!(returned(&mut worker), back.collect::<Vec<_>>());
            assert_eq!((top.in_flight(), top.panics.get()), (0, 1));
        }
    }
}

fn run_to_the_end(worker: &mut Worker, runner: impl Fn(Task, &mut Worker)) -> WorkerExit {
    run_worker(worker, &runner, &mut TieredIdle::new(0, None), &mut NoopTrace)
}

fn returned(worker: &mut Worker) -> Vec<Task> {
    let mut tasks = worker.state.take_returned();
    tasks.sort_unstable();
    tasks
}

fn outside_waits_for(config: ExecutorConfig, each_ns: u64) -> usize {
    const OUTSIDE: Task = 7;
    let (top, mut worker) = measured(config, each_ns);
    run_root(&top, &mut worker, |cx| cx.state.spawn_local(0));
    top.spawn(OUTSIDE);
    let link = |task: Task, cx: &mut Worker| {
        top.now_ns.set(top.now_ns.get() + each_ns);
        if task != OUTSIDE {
            cx.state.spawn_local(0);
            assert_eq!(top.public(0), []);
        }
    };
    (0..1_000)
        .position(|_| {
            worker.step_with(&link);
            worker.scratch.last() == Some(&OUTSIDE)
        })
        .expect("the outside task starved")
}

#[test]
fn the_injector_has_its_turn_within_the_interval_when_all_tasks_are_private() {
    for fairness_interval in [1, 20, 127, 255] {
        let config = two().tune(|tuning| tuning.fairness_interval = fairness_interval);
        let waited = outside_waits_for(config, SMALL_NS);
        assert!(
            waited < fairness_interval as usize,
            "{waited} of {fairness_interval}"
        );
    }
}

#[test]
fn the_injector_has_its_turn_within_two_hundred_microseconds() {
    let config = two().tune(|tuning| tuning.short_task = Duration::from_millis(1));
    let waited = outside_waits_for(config, 50_000);
    assert!(waited < 4, "{waited} tasks of 50 µs");
}
