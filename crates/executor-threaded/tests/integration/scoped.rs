//! Executors that end before the call returns: borrowing, results and panics.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use executor_threaded::{BuildError, Executor, OnPanic, Rejected, scope};

use crate::support::{Door, Tally, assert_no_thread_is_left, both_ways_of_parking, config};

both_ways_of_parking! {
    fn tasks_and_scratch_values_borrow_and_the_scratch_values_come_back_in_order(park_timeout) {
        for workers in [1, 2, 8] {
            let words: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
            let names: Vec<String> = (0..workers).map(|worker| format!("worker {worker}")).collect();
            struct Scratch<'a> {
                name: &'a str,
                letters: Cell<usize>,
                words: Vec<&'a str>,
            }
            let report = scope(
                config(workers, park_timeout),
                |worker| Scratch { name: &names[worker], letters: Cell::new(0), words: Vec::new() },
                |range: &[String], cx| {
                    if let [word] = range {
                        cx.scratch.letters.set(cx.scratch.letters.get() + word.len());
                        cx.scratch.words.push(word);
                    } else {
                        let (left, right) = range.split_at(range.len() / 2);
                        cx.spawn_local(left);
                        cx.spawn_local(right);
                    }
                },
                |executor| executor.spawn(&words),
            )
            .expect("the executor starts");
            assert_eq!(report.value, Ok(()));
            let came_back: Vec<&str> = report.scratches.iter().map(|scratch| scratch.name).collect();
            assert_eq!(came_back, names);
            let letters: usize = report.scratches.iter().map(|scratch| scratch.letters.get()).sum();
            assert_eq!(letters, words.iter().map(String::len).sum::<usize>());
            let mut seen: Vec<&str> = report.scratches.iter().flat_map(|scratch| scratch.words.clone()).collect();
            let mut expected: Vec<&str> = words.iter().map(String::as_str).collect();
            seen.sort_unstable();
            expected.sort_unstable();
            assert_eq!(seen, expected);
            assert_eq!(report.metrics.total.executed(), 2 * 10_000 - 1);
        }
    }
}

both_ways_of_parking! {
    fn what_was_accepted_runs_though_the_body_has_returned(park_timeout) {
        let tally = Tally::new(20_000);
        let report = scope(
            config(2, park_timeout),
            |_| (),
            |task: usize, cx| {
                tally.see(task);
                if task < 10_000 {
                    cx.spawn_local(task + 10_000);
                }
            },
            |executor| {
                for task in 0..5_000 {
                    executor.spawn(task).expect("the gate is open");
                }
                executor.spawn_batch((5_000..10_000).collect()).expect("the gate is open");
            },
        );
        tally.assert_each_once();
        assert_eq!(report.expect("the executor starts").metrics.accepted_external(), 10_000);
    }
}

both_ways_of_parking! {
    fn handles_that_leave_the_scope_hand_every_task_back(park_timeout) {
        let borrowed = String::from("borrowed");
        let report = scope(config(2, park_timeout), |_| (), |_task: &str, _cx| {}, |executor| executor.clone())
            .expect("the executor starts");
        let handle = report.value;
        assert!(!handle.is_accepting());
        assert_eq!(handle.spawn(&borrowed), Err(Rejected(borrowed.as_str())));
        assert_eq!(handle.spawn_batch(vec![&borrowed]), Err(Rejected(vec![borrowed.as_str()])));
    }
}

both_ways_of_parking! {
    fn the_panic_of_the_body_aborts_joins_all_and_is_thrown_again(park_timeout) {
        let prefix = if park_timeout.is_some() { "scope-body-t" } else { "scope-body-n" };
        let (door, ran) = (Door::default(), AtomicUsize::new(0));
        let thrown = catch_unwind(AssertUnwindSafe(|| {
            Executor::<u32>::builder().config(config(1, park_timeout)).thread_name(prefix).scope(
                |_| (),
                |_task, cx| {
                    door.pass();
                    cx.spawn_local(1);
                    ran.fetch_add(1, Ordering::Relaxed);
                },
                |executor| {
                    executor.spawn_batch(vec![0; 100]).expect("the gate is open");
                    door.await_a_waiter();
                    // The running task ends only when the abort has begun, or nearly so.
                    executor.shutdown();
                    door.open();
                    panic!("the body has had enough");
                },
            )
        }));
        let payload = thrown.expect_err("the panic goes on");
        assert_eq!(payload.downcast_ref(), Some(&"the body has had enough"));
        assert_eq!(ran.load(Ordering::Relaxed), 1, "the task that ran has finished, no other has begun");
        assert_no_thread_is_left(prefix);
    }
}

both_ways_of_parking! {
    fn of_two_panics_the_first_is_thrown(park_timeout) {
        let thrown = catch_unwind(AssertUnwindSafe(|| {
            scope(
                config(2, park_timeout),
                |_| (),
                |_task: u32, _cx| panic!("a task panics first"),
                |executor| while executor.spawn(0).is_ok() {},
            )
        }));
        let payload = thrown.expect_err("the panic goes on");
        assert_eq!(payload.downcast_ref(), Some(&"a task panics first"));

        let thrown = catch_unwind(AssertUnwindSafe(|| {
            scope(
                config(2, park_timeout),
                |_| (),
                |_task: u32, _cx| panic!("a task panics first"),
                |executor| loop {
                    executor.spawn(0).expect("and then the body, for it expects the gate to be open");
                },
            )
            .map(|report: executor_threaded::ScopeReport<(), ()>| report.value)
        }));
        let payload = thrown.expect_err("the panic goes on");
        assert_eq!(payload.downcast_ref(), Some(&"a task panics first"));
    }
}

both_ways_of_parking! {
    fn a_scope_isolates_panics_if_it_is_told_to(park_timeout) {
        let report = Executor::<u32>::builder()
            .config(config(2, park_timeout).on_panic(OnPanic::Isolate))
            .on_panic(|_worker, _payload, panics: &mut u32| *panics += 1)
            .scope(
                |_| 0,
                |task, _cx| assert_ne!(task % 3, 0, "every third panics"),
                |executor| executor.spawn_batch((0..99).collect()),
            )
            .expect("the executor starts");
        assert_eq!(report.scratches.iter().sum::<u32>(), 33);
        assert_eq!(report.metrics.total.panicked, 33);
    }
}

both_ways_of_parking! {
    fn a_scope_that_cannot_start_does_not_call_its_body(park_timeout) {
        let alive = AtomicUsize::new(0);
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let error = scope(
            config(4, park_timeout),
            |worker| {
                assert_ne!(worker, 2, "no scratch for this one");
                alive.fetch_add(1, Ordering::Relaxed);
                Counted(&alive)
            },
            |(), _cx| {},
            |_executor| -> () { panic!("called") },
        )
        .map(|_| ())
        .expect_err("worker 2 has no scratch");
        assert!(matches!(error, BuildError::ScratchPanicked { worker: 2, .. }), "{error:?}");
        assert_eq!(alive.load(Ordering::Relaxed), 0, "the scratches of the others are dropped");
    }
}

both_ways_of_parking! {
    fn a_scope_inside_a_task_of_another_executor_has_workers_of_its_own(park_timeout) {
        let executor = Executor::<u64>::new(config(1, park_timeout), |_| 0, move |task, cx| {
            let parts = [1, 2, task];
            let report = scope(config(2, park_timeout), |_| 0, |part: &u64, cx| cx.scratch += part, |inner| {
                inner.spawn_batch(parts.iter().collect())
            });
            cx.scratch = report.expect("the inner executor starts").scratches.iter().sum();
            assert_eq!(cx.scratch, 3 + task);
        })
        .expect("the executor starts");
        executor.spawn_external(4).expect("the gate is open");
        executor.join();
    }
}

both_ways_of_parking! {
    fn tasks_that_a_scope_was_told_not_to_run_are_counted(park_timeout) {
        let door = Door::default();
        let report = scope(config(1, park_timeout), |_| (), |_task: u32, _cx| door.pass(), |executor| {
            executor.spawn_batch(vec![0; 10]).expect("the gate is open");
            door.await_a_waiter();
            executor.shutdown();
            door.open();
        })
        .expect("the executor starts");
        assert_eq!((report.metrics.total.executed(), report.metrics.total.returned), (1, 9));
    }
}
