//! Every way to end an executor: no task is lost or runs twice, and no thread stays.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use executor_threaded::{Executor, ExecutorHandle, Rejected, TaskCtx};

use crate::support::{
    Door, Tally, assert_no_thread_is_left, both_ways_of_parking, config, sized, wait_until,
};

both_ways_of_parking! {
    fn join_without_tasks_returns_immediately(park_timeout) {
        for workers in [1, 2, 8, 65] {
            let executor = Executor::<()>::new(config(workers, park_timeout), |_| (), |(), _cx| {})
                .expect("the executor starts");
            let metrics = executor.join();
            assert_eq!(metrics.total.executed(), 0);
            assert_eq!(metrics.workers.len(), workers);
        }
    }
}

both_ways_of_parking! {
    fn spawn_after_join_fails(park_timeout) {
        let executor = Executor::<Box<u32>>::new(config(2, park_timeout), |_| (), |_task, _cx| {})
            .expect("the executor starts");
        let handle = executor.handle();
        executor.join();
        assert_handed_back(&handle);
    }
}

both_ways_of_parking! {
    fn spawn_after_shutdown_fails(park_timeout) {
        let executor = Executor::<Box<u32>>::new(config(2, park_timeout), |_| (), |_task, _cx| {})
            .expect("the executor starts");
        let handle = executor.handle();
        assert_eq!(executor.shutdown(), []);
        assert_handed_back(&handle);
    }
}

both_ways_of_parking! {
    fn spawn_after_drop_fails(park_timeout) {
        let executor = Executor::<Box<u32>>::new(config(2, park_timeout), |_| (), |_task, _cx| {})
            .expect("the executor starts");
        let handle = executor.handle();
        drop(executor);
        assert_handed_back(&handle);
    }
}

both_ways_of_parking! {
    fn spawn_while_draining_fails_from_outside_and_works_from_inside(park_timeout) {
        let door = Arc::new(Door::default());
        let (waits, ran) = (Arc::clone(&door), Arc::new(AtomicUsize::new(0)));
        let runs = Arc::clone(&ran);
        let executor = Executor::<Box<u32>>::new(config(2, park_timeout), |_| (), move |task, cx| {
            runs.fetch_add(1, Ordering::Relaxed);
            if *task > 0 {
                waits.pass();
                cx.spawn_local(Box::new(0));
                cx.spawn_global(Box::new(0));
            }
        })
        .expect("the executor starts");
        executor.spawn_external(Box::new(1)).expect("the gate is open");
        let executor = executor.join_timeout(Duration::ZERO).expect_err("a task waits at the door");
        assert!(!executor.is_accepting());
        assert_handed_back(&executor.handle());
        let task = Box::new(7);
        let address = &raw const *task;
        let Rejected(back) = executor.spawn_external(task).expect_err("the gate is closed");
        assert_eq!(&raw const *back, address);
        door.open();
        executor.join();
        assert_eq!(ran.load(Ordering::Relaxed), 3);
    }
}

pub(crate) fn assert_handed_back(handle: &ExecutorHandle<Box<u32>>) {
    assert!(!handle.is_accepting());
    let task = Box::new(42);
    let address = &raw const *task;
    let Rejected(back) = handle.spawn(task).expect_err("the gate is closed");
    assert_eq!(&raw const *back, address);

    let batch: Vec<Box<u32>> = (0..100).map(Box::new).collect();
    let addresses: Vec<*const u32> = batch.iter().map(|task| &raw const **task).collect();
    let Rejected(back) = handle.spawn_batch(batch).expect_err("the gate is closed");
    let back: Vec<*const u32> = back.iter().map(|task| &raw const **task).collect();
    assert_eq!(back, addresses);
}

type Ending = fn(Executor<u32>);

fn a_thousand_times(prefix: &'static str, park_timeout: Option<Duration>, end: Ending) {
    for cycle in 0..1_000 {
        let executor = Executor::<u32>::builder()
            .config(config(1 + cycle % 3, park_timeout))
            .thread_name(prefix)
            .build(
                |_| (),
                |task, cx| {
                    if task > 0 {
                        cx.spawn_local(task - 1);
                        cx.spawn_global(task - 1);
                    }
                },
            )
            .expect("the executor starts");
        let handle = executor.handle();
        let producer = thread::spawn(move || while handle.spawn(3).is_ok() {});
        executor
            .spawn_external_batch(vec![4; 20])
            .expect("the gate is open");
        end(executor);
        producer.join().expect("the producer ends when it is refused");
    }
    assert_no_thread_is_left(prefix);
}

both_ways_of_parking! {
    fn a_thousand_cycles_of_start_and_join_leak_no_thread(park_timeout) {
        a_thousand_times(if park_timeout.is_some() { "cycle-join-t" } else { "cycle-join-n" }, park_timeout, |executor| {
            let metrics = executor.join();
            assert_eq!(metrics.total.returned, 0);
        });
    }
}

both_ways_of_parking! {
    fn a_thousand_cycles_of_start_and_drop_leak_no_thread(park_timeout) {
        a_thousand_times(if park_timeout.is_some() { "cycle-drop-t" } else { "cycle-drop-n" }, park_timeout, drop);
    }
}

both_ways_of_parking! {
    fn a_thousand_cycles_of_start_and_shutdown_leak_no_thread(park_timeout) {
        a_thousand_times(if park_timeout.is_some() { "cycle-stop-t" } else { "cycle-stop-n" }, park_timeout, |executor| {
            drop(executor.shutdown());
        });
    }
}

both_ways_of_parking! {
    fn concurrent_spawn_and_join_no_task_loss(park_timeout) {
        for _ in 0..sized(50, 200) {
            let (accepted, run) = race_producers(park_timeout, |executor| {
                executor.join();
                Vec::new()
            });
            assert_eq!(accepted, run);
        }
    }
}

both_ways_of_parking! {
    fn concurrent_spawn_and_shutdown_hand_every_accepted_task_back_or_run_it(park_timeout) {
        for _ in 0..sized(50, 200) {
            race_producers(park_timeout, Executor::shutdown);
        }
    }
}

both_ways_of_parking! {
    fn a_shutdown_from_a_handle_leaves_the_tasks_to_try_join(park_timeout) {
        for _ in 0..sized(50, 200) {
            race_producers(park_timeout, |executor| {
                executor.handle().shutdown();
                match executor.try_join() {
                    Ok(_) => Vec::new(),
                    Err(aborted) => {
                        assert!(aborted.panic.is_none());
                        assert_eq!(aborted.metrics.total.returned, aborted.tasks.len() as u64);
                        aborted.tasks
                    }
                }
            });
        }
    }
}

/// Returns the numbers of run and of returned tasks.
fn race_producers(
    park_timeout: Option<Duration>,
    end: impl FnOnce(Executor<usize>) -> Vec<usize>,
) -> (usize, usize) {
    const PRODUCERS: usize = 3;
    const EACH: usize = 20_000;
    let ran = Arc::new(Tally::new(PRODUCERS * EACH));
    let seen = Arc::clone(&ran);
    let executor = Executor::<usize>::new(config(3, park_timeout), |_| (), move |task, _cx| seen.see(task))
        .expect("the executor starts");
    let started = Arc::new(AtomicUsize::new(0));
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let (handle, started) = (executor.handle(), Arc::clone(&started));
            thread::spawn(move || {
                let mut next = producer * EACH;
                let end = next + EACH;
                let first = next;
                while next < end {
                    let size = if next.is_multiple_of(3) {
                        7.min(end - next)
                    } else {
                        1
                    };
                    let accepted = if size == 1 {
                        handle.spawn(next).is_ok()
                    } else {
                        handle.spawn_batch((next..next + size).collect()).is_ok()
                    };
                    if !accepted {
                        break;
                    }
                    next += size;
                    started.fetch_add(1, Ordering::Relaxed);
                }
                first..next
            })
        })
        .collect();
    wait_until(|| started.load(Ordering::Relaxed) > 100);
    let returned = end(executor);

    let run = ran.seen_once();
    for &task in &returned {
        ran.see(task);
    }
    assert_eq!(ran.seen_once(), run + returned.len());
    let mut accepted = 0;
    for producer in producers {
        accepted += producer.join().expect("the producer does not panic").len();
    }
    assert_eq!(accepted, run + returned.len());
    (accepted, run)
}

both_ways_of_parking! {
    fn tasks_spawned_by_the_last_running_one_are_handed_back(park_timeout) {
        let door = Arc::new(Door::default());
        let waits = Arc::clone(&door);
        let executor = Executor::<u32>::new(config(2, park_timeout), |_| (), move |task, cx| {
            assert_eq!(task, 0, "no other task may run after the shutdown");
            waits.pass();
            for child in 1..=10 {
                cx.spawn_local(child);
                cx.spawn_global(child + 10);
            }
        })
        .expect("the executor starts");
        executor.spawn_external(0).expect("the gate is open");
        door.await_a_waiter();
        executor.handle().shutdown();
        door.open();
        let mut tasks = executor.shutdown();
        tasks.sort_unstable();
        assert_eq!(tasks, (1..=20).collect::<Vec<_>>());
    }
}

both_ways_of_parking! {
    fn a_task_may_shut_its_own_executor_down(park_timeout) {
        let executor = Executor::<u32>::new(config(1, park_timeout), |_| (), |task, cx| {
            assert_eq!(task, 0, "no other task may run after the shutdown");
            cx.spawn_local(1);
            cx.handle().shutdown();
            assert!(!cx.handle().is_accepting());
            cx.spawn_local(2);
        })
        .expect("the executor starts");
        executor.spawn_external(0).expect("the gate is open");
        executor.wait_idle();
        let mut tasks = executor.shutdown();
        tasks.sort_unstable();
        assert_eq!(tasks, [1, 2]);
    }
}

both_ways_of_parking! {
    fn join_timeout_gives_a_busy_executor_back_and_joins_a_finished_one(park_timeout) {
        let door = Arc::new(Door::default());
        let waits = Arc::clone(&door);
        let executor = Executor::<u32>::new(config(2, park_timeout), |_| (), move |_task, _cx| waits.pass())
            .expect("the executor starts");
        executor.spawn_external_batch(vec![0; 5]).expect("the gate is open");
        let executor = executor.join_timeout(Duration::from_millis(1)).expect_err("the door is closed");
        let executor = executor.join_timeout(Duration::ZERO).expect_err("the door is closed");
        door.open();
        let metrics = executor.join_timeout(Duration::MAX).expect("the door is open");
        assert_eq!(metrics.total.executed(), 5);
    }
}

struct Counted(Arc<AtomicUsize>, u32);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

both_ways_of_parking! {
    fn every_task_is_dropped_exactly_once_whichever_way_it_ends(park_timeout) {
        let endings: [fn(Executor<Counted>); 4] = [
            |executor| drop(executor.join()),
            drop,
            |executor| drop(executor.shutdown()),
            |executor| {
                executor.handle().shutdown();
                drop(executor.try_join());
            },
        ];
        for end in endings {
            for _ in 0..20 {
                let (made, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                let makes = Arc::clone(&made);
                let executor = Executor::<Counted>::new(config(2, park_timeout), |_| (), move |task, cx| {
                    if task.1 > 0 {
                        for _ in 0..2 {
                            makes.fetch_add(1, Ordering::Relaxed);
                            cx.spawn_local(Counted(Arc::clone(&task.0), task.1 - 1));
                        }
                    }
                })
                .expect("the executor starts");
                for _ in 0..100 {
                    made.fetch_add(1, Ordering::Relaxed);
                    executor.spawn_external(Counted(Arc::clone(&dropped), 3)).expect("the gate is open");
                }
                end(executor);
                assert_eq!(made.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed));
            }
        }
    }
}

both_ways_of_parking! {
    fn dropping_an_executor_in_one_of_its_own_tasks_ends_and_leaves_no_thread(park_timeout) {
        const DROPPER: u32 = 0;
        const BEFORE: u32 = 1;
        const AFTER: u32 = 2;
        for workers in [1, 2, 8] {
            let prefix = if park_timeout.is_some() { "own-drop-t" } else { "own-drop-n" };
            let slot: Arc<Mutex<Option<Executor<Counted>>>> = Arc::default();
            let (taken, dropped) = (Arc::clone(&slot), Arc::new(AtomicUsize::new(0)));
            // A panic of this executor's tasks would be unheard.
            let wrong = Arc::new(AtomicBool::new(false));
            let is_wrong = Arc::clone(&wrong);
            let executor = Executor::<Counted>::builder()
                .config(config(workers, park_timeout))
                .thread_name(prefix)
                .build(|_| (), move |task, cx| {
                    if task.1 != DROPPER {
                        // The first child may have been taken at once; the second was spawned after
                        // the drop.
                        is_wrong.fetch_or(task.1 == AFTER, Ordering::Relaxed);
                        return;
                    }
                    let mut own = None;
                    wait_until(|| {
                        own = taken.lock().expect("nobody panics here").take();
                        own.is_some()
                    });
                    cx.spawn_local(Counted(Arc::clone(&task.0), BEFORE));
                    drop(own);
                    is_wrong.fetch_or(cx.handle().is_accepting(), Ordering::Relaxed);
                    cx.spawn_local(Counted(Arc::clone(&task.0), AFTER));
                })
                .expect("the executor starts");
            let handle = executor.handle();
            executor.spawn_external(Counted(Arc::clone(&dropped), DROPPER)).expect("the gate is open");
            *slot.lock().expect("nobody panics here") = Some(executor);
            // A worker holds the runner, and so a share of the slot, until it leaves.
            wait_until(|| Arc::strong_count(&slot) == 1);
            wait_until(|| dropped.load(Ordering::Relaxed) == 3);
            assert!(!wrong.load(Ordering::Relaxed));
            assert_eq!(handle.in_flight(), 0);
            assert_no_thread_is_left(prefix);
        }
    }
}

both_ways_of_parking! {
    fn waiting_for_oneself_is_refused_with_a_clear_message(park_timeout) {
        type Way = fn(Executor<()>);
        let ways: [(&str, Way); 5] = [
            ("wait_idle", |executor| executor.wait_idle()),
            ("join", |executor| drop(executor.join())),
            ("try_join", |executor| drop(executor.try_join())),
            ("join_timeout", |executor| drop(executor.join_timeout(Duration::MAX))),
            ("shutdown", |executor| drop(executor.shutdown())),
        ];
        for (name, way) in ways {
            let slot: Arc<Mutex<Option<Executor<()>>>> = Arc::default();
            let said: Arc<Mutex<String>> = Arc::default();
            let (taken, says) = (Arc::clone(&slot), Arc::clone(&said));
            let executor = Executor::<()>::new(config(2, park_timeout), |_| (), move |(), _cx| {
                let mut own = None;
                wait_until(|| {
                    own = taken.lock().expect("nobody panics under this lock").take();
                    own.is_some()
                });
                let own = own.expect("it was put there");
                let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| way(own)))
                    .expect_err("a worker cannot wait for itself");
                *says.lock().expect("nobody panics under this lock") =
                    panic.downcast_ref::<String>().cloned().unwrap_or_default();
            })
            .expect("the executor starts");
            executor.spawn_external(()).expect("the gate is open");
            *slot.lock().expect("nobody panics under this lock") = Some(executor);
            wait_until(|| Arc::strong_count(&slot) == 1);
            let said = said.lock().expect("nobody panics under this lock").clone();
            assert!(said.contains(&format!("Executor::{name}")), "{said}");
            assert!(said.contains("was called on worker") && said.contains("would wait for itself"), "{said}");
        }
    }
}

both_ways_of_parking! {
    fn every_scratch_is_dropped_on_its_own_thread_before_join_returns(park_timeout) {
        struct Scratch(Arc<AtomicUsize>, thread::ThreadId);
        impl Drop for Scratch {
            fn drop(&mut self) {
                assert_eq!(self.1, thread::current().id());
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let endings: [fn(Executor<()>); 4] = [
            |executor| drop(executor.join()),
            drop,
            |executor| drop(executor.shutdown()),
            |executor| drop(executor.join_timeout(Duration::MAX)),
        ];
        for end in endings {
            let dropped = Arc::new(AtomicUsize::new(0));
            let drops = Arc::clone(&dropped);
            let executor = Executor::<()>::new(
                config(8, park_timeout),
                move |_| Scratch(Arc::clone(&drops), thread::current().id()),
                |(), _cx| {},
            )
            .expect("the executor starts");
            executor.spawn_external(()).expect("the gate is open");
            end(executor);
            assert_eq!(dropped.load(Ordering::Relaxed), 8);
        }
    }
}

both_ways_of_parking! {
    fn handles_keep_nothing_running(park_timeout) {
        struct Task(Option<ExecutorHandle<Task>>);
        let alive = Arc::new(AtomicBool::new(true));
        let lives = Arc::clone(&alive);
        let executor = Executor::<Task>::new(config(2, park_timeout), |_| None, move |task, cx| {
            assert!(lives.load(Ordering::Relaxed));
            cx.scratch = task.0;
            cx.spawn_local(Task(None));
        })
        .expect("the executor starts");
        let handle = executor.handle();
        for _ in 0..100 {
            executor.spawn_external(Task(Some(handle.clone()))).expect("the gate is open");
        }
        drop(executor);
        assert_eq!(Arc::strong_count(&alive), 1, "runner and scratches are gone");
        assert_eq!(handle.in_flight(), 0);
    }
}

#[test]
fn a_task_that_waits_in_vain_is_let_go_by_an_abort() {
    let door = Arc::new(Door::default());
    let at_the_door = Arc::clone(&door);
    let runs = Arc::new(AtomicUsize::new(0));
    let ran = Arc::clone(&runs);
    let executor = Executor::<u32>::new(
        config(1, None),
        |_| (),
        move |task, cx| {
            ran.fetch_add(1, Ordering::Relaxed);
            cx.spawn_local(task + 1);
            let has_run = cx.wait_until("the next one has run", || {
                at_the_door.open();
                false
            });
            assert!(!has_run);
        },
    )
    .expect("the executor starts");
    executor.spawn_external(0).expect("the gate is open");
    door.pass();
    assert_eq!(executor.shutdown(), [1]);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}
