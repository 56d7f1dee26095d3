//! A panic anywhere is reported; nothing hangs, no task is lost and none is accepted after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use executor_threaded::hooks::{ExecTraceEvent, IdleAction, IdleHooks, IdleRound, TraceHooks};
use executor_threaded::{BuildError, Executor, ExecutorConfig, OnPanic, current_worker_id};

use crate::endings::assert_handed_back;
use crate::support::{Door, Tally, assert_no_thread_is_left, both_ways_of_parking, config};

both_ways_of_parking! {
    fn panic_in_task_decrements_count(park_timeout) {
        for workers in [1, 2, 8] {
            let executor = Executor::<u32>::new(config(workers, park_timeout), |_| (), |task, _cx| {
                assert_ne!(task, 5, "five panics");
            })
            .expect("the executor starts");
            let handle = executor.handle();
            executor.spawn_external_batch((0..100).collect()).expect("the gate is open");
            executor.wait_idle();
            assert_eq!(handle.in_flight(), 0);
            assert!(!handle.is_accepting());
            let aborted = executor.try_join().expect_err("a task panicked");
            assert_eq!(handle.in_flight(), 0);
            assert_eq!(aborted.metrics.total.panicked, 1);
        }
    }
}

both_ways_of_parking! {
    fn join_throws_the_panic_of_a_task_again(park_timeout) {
        #[derive(Debug, PartialEq)]
        struct Payload(u32);
        let executor = Executor::<u32>::new(config(2, park_timeout), |_| (), |task, _cx| {
            std::panic::resume_unwind(Box::new(Payload(task)));
        })
        .expect("the executor starts");
        executor.spawn_external(7).expect("the gate is open");
        let thrown = catch_unwind(AssertUnwindSafe(|| executor.join())).expect_err("join throws");
        assert_eq!(thrown.downcast_ref(), Some(&Payload(7)));
    }
}

both_ways_of_parking! {
    fn join_timeout_throws_the_panic_of_a_task_again(park_timeout) {
        let executor = Executor::<u32>::new(config(2, park_timeout), |_| (), |_task, _cx| panic!("no"))
            .expect("the executor starts");
        executor.spawn_external(7).expect("the gate is open");
        let thrown = catch_unwind(AssertUnwindSafe(|| executor.join_timeout(std::time::Duration::MAX)));
        assert_eq!(thrown.expect_err("join_timeout throws").downcast_ref(), Some(&"no"));
    }
}

both_ways_of_parking! {
    fn shutdown_and_drop_after_a_panic_do_not_throw(park_timeout) {
        for end in [drop as fn(Executor<u32>), |executor| drop(executor.shutdown())] {
            let executor = Executor::<u32>::new(config(2, park_timeout), |_| (), |_task, _cx| panic!("no"))
                .expect("the executor starts");
            executor.spawn_external(7).expect("the gate is open");
            executor.wait_idle();
            end(executor);
        }
    }
}

both_ways_of_parking! {
    fn spawn_after_a_panic_gets_the_task_back(park_timeout) {
        let executor = Executor::<Box<u32>>::new(config(2, park_timeout), |_| (), |_task, _cx| panic!("no"))
            .expect("the executor starts");
        executor.spawn_external(Box::new(0)).expect("the gate is open");
        executor.wait_idle();
        assert_handed_back(&executor.handle());
        drop(executor.shutdown());
    }
}

both_ways_of_parking! {
    fn after_a_panic_every_task_was_run_or_is_handed_back(park_timeout) {
        for workers in [1, 2, 8] {
            const TASKS: usize = 20_000;
            let tally = Arc::new(Tally::new(2 * TASKS));
            let seen = Arc::clone(&tally);
            let executor = Executor::<usize>::new(config(workers, park_timeout), |_| (), move |task, cx| {
                seen.see(task);
                if task < TASKS {
                    cx.spawn_local(task + TASKS);
                }
                assert_ne!(task, 700, "this one panics, its child spawned");
            })
            .expect("the executor starts");
            executor.spawn_external_batch((0..TASKS).collect()).expect("the gate is open");
            let aborted = executor.try_join().expect_err("a task panicked");
            assert!(aborted.panic_message().is_some_and(|text| text.contains("this one panics")));
            let run = tally.seen_once();
            assert_eq!(aborted.metrics.total.executed(), run as u64);
            for &task in &aborted.tasks {
                tally.see(task);
            }
            let total = &aborted.metrics.total;
            assert_eq!(tally.seen_once(), run + aborted.tasks.len());
            assert_eq!(TASKS as u64 + total.spawned, total.executed() + total.returned);
        }
    }
}

both_ways_of_parking! {
    fn several_tasks_that_panic_at_once_are_all_counted_and_one_is_thrown(park_timeout) {
        let door = Arc::new(Door::default());
        let waits = Arc::clone(&door);
        let waiting = Arc::new(AtomicUsize::new(0));
        let arrives = Arc::clone(&waiting);
        let executor = Executor::<u32>::new(config(4, park_timeout), |_| (), move |_task, _cx| {
            if arrives.fetch_add(1, Ordering::Relaxed) == 3 {
                waits.open();
            }
            waits.pass();
            panic!("all at once");
        })
        .expect("the executor starts");
        executor.spawn_external_batch(vec![0; 4]).expect("the gate is open");
        let aborted = executor.try_join().expect_err("four tasks panicked");
        assert_eq!(aborted.panic_message(), Some("all at once"));
        assert_eq!(aborted.metrics.total.panicked, 4);
        assert!(aborted.tasks.is_empty());
        assert!(aborted.to_string().contains("all at once"), "{aborted}");
    }
}

both_ways_of_parking! {
    fn a_panic_in_scratch_init_is_a_build_error_with_worker_and_message_and_no_thread_stays(park_timeout) {
        for workers in [4, 65] {
            let prefix = if park_timeout.is_some() { "bad-scratch-t" } else { "bad-scratch-n" };
            let made = Arc::new(AtomicUsize::new(0));
            struct Scratch(Arc<AtomicUsize>);
            impl Drop for Scratch {
                fn drop(&mut self) {
                    self.0.fetch_sub(1, Ordering::Relaxed);
                }
            }
            let makes = Arc::clone(&made);
            let built = Executor::<()>::builder()
                .config(config(workers, park_timeout))
                .thread_name(prefix)
                .build(
                    move |worker| {
                        assert!(worker != 2, "no scratch for number {worker}");
                        makes.fetch_add(1, Ordering::Relaxed);
                        Scratch(Arc::clone(&makes))
                    },
                    |(), _cx| {},
                );
            let error = built.expect_err("worker 2 has no scratch");
            let text = error.to_string();
            assert!(text.contains("worker 2") && text.contains("no scratch for number 2"), "{text}");
            assert!(matches!(error, BuildError::ScratchPanicked { worker: 2, .. }), "{error:?}");
            assert_eq!(made.load(Ordering::Relaxed), 0, "the scratches of the others are dropped");
            assert_eq!(Arc::strong_count(&made), 1, "the threads of the others are gone");
            assert_no_thread_is_left(prefix);
        }
    }
}

both_ways_of_parking! {
    fn a_panic_in_a_start_hook_is_a_build_error(park_timeout) {
        let built = Executor::<()>::builder()
            .config(config(3, park_timeout))
            .on_start(|worker| assert!(worker != 1, "not today"))
            .build(|_| (), |(), _cx| {});
        let error = built.expect_err("worker 1 does not start");
        assert!(matches!(&error, BuildError::HookPanicked { worker: 1, message } if message == "not today"), "{error:?}");
    }
}

both_ways_of_parking! {
    fn panics_while_leaving_are_thrown_by_join(park_timeout) {
        struct Grenade;
        impl Drop for Grenade {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let executor = Executor::<()>::new(config(2, park_timeout), |_| Grenade, |(), _cx| {})
            .expect("the executor starts");
        let thrown = catch_unwind(AssertUnwindSafe(|| executor.join())).expect_err("join throws");
        assert_eq!(thrown.downcast_ref(), Some(&"dropped"));

        let executor = Executor::<()>::builder()
            .config(config(2, park_timeout))
            .on_stop(|_| panic!("stopped"))
            .build(|_| (), |(), _cx| {})
            .expect("the executor starts");
        let aborted = executor.try_join().expect_err("the hook panics");
        assert_eq!(aborted.panic_message(), Some("stopped"));
    }
}

struct Fragile(fn(&ExecTraceEvent<()>) -> bool);

impl TraceHooks<u32> for Fragile {
    type Tag = ();

    fn tag(&mut self, _task: &u32) {}

    fn event(&mut self, event: ExecTraceEvent<()>) {
        assert!(!(self.0)(&event), "the trace hook panics");
    }
}

both_ways_of_parking! {
    fn a_trace_hook_that_panics_at_any_event_loses_no_task_and_hangs_no_thread(park_timeout) {
        let kinds: [fn(&ExecTraceEvent<()>) -> bool; 6] = [
            |event| matches!(event, ExecTraceEvent::TaskStart { .. }),
            |event| matches!(event, ExecTraceEvent::TaskEnd { .. }),
            |event| matches!(event, ExecTraceEvent::Returned { .. }),
            |event| matches!(event, ExecTraceEvent::Panicked),
            |event| matches!(event, ExecTraceEvent::Park | ExecTraceEvent::Awake { .. }),
            |event| matches!(event, ExecTraceEvent::Exit),
        ];
        for kind in kinds {
            let executor = Executor::<u32>::builder()
                .config(config(2, park_timeout))
                .trace_hooks(move |_| Fragile(kind))
                .build(|_| (), |task, _cx| assert_ne!(task, 50, "this task panics"))
                .expect("the executor starts");
            // The hook may have ended it already.
            drop(executor.spawn_external_batch((0..100).collect()));
            executor.wait_idle();
            assert_eq!(executor.in_flight(), 0);
            let aborted = executor.try_join().expect_err("something panicked");
            assert!(aborted.panic.is_some());
        }
    }
}

both_ways_of_parking! {
    fn a_trace_hook_that_panics_at_the_end_of_a_task_leaves_the_task_that_runs_next(park_timeout) {
        let executor = Executor::<u32>::builder()
            .config(config(1, park_timeout))
            .trace_hooks(|_| Fragile(|event| matches!(event, ExecTraceEvent::TaskEnd { .. })))
            .build(|_| (), |task, _cx| Some(task + 1))
            .expect("the executor starts");
        executor.spawn_external(7).expect("the gate is open");
        let aborted = executor.try_join().expect_err("the hook panics");
        assert_eq!(aborted.tasks, [8]);
    }
}

struct Impatient(mpsc::Sender<()>);

impl IdleHooks for Impatient {
    fn on_idle(&mut self, round: IdleRound) -> IdleAction {
        self.0.send(()).expect("the test has the other end");
        panic!("nothing to do in round {}", round.round);
    }
}

both_ways_of_parking! {
    fn an_idle_hook_that_panics_aborts_the_executor(park_timeout) {
        let (idle, was_idle) = mpsc::channel();
        let executor = Executor::<u32>::builder()
            .config(config(2, park_timeout))
            .idle_hooks(move |_, _| Impatient(idle.clone()))
            .build(|_| (), |_task, _cx| {})
            .expect("the executor starts");
        // A worker that is joined before it has been idle ends without its hook.
        was_idle.recv().expect("a worker is idle");
        let aborted = executor.try_join().expect_err("the hook panics");
        assert!(aborted.panic_message().is_some_and(|text| text.contains("nothing to do")));
    }
}

fn isolating(workers: usize, park_timeout: Option<std::time::Duration>) -> ExecutorConfig {
    config(workers, park_timeout).on_panic(OnPanic::Isolate)
}

both_ways_of_parking! {
    fn isolated_panics_are_counted_and_handled_on_their_worker_and_everything_else_runs(park_timeout) {
        for workers in [1, 2, 8] {
            const TASKS: usize = 20_000;
            let tally = Arc::new(Tally::new(2 * TASKS));
            let seen = Arc::clone(&tally);
            let handled = Arc::new(Mutex::new(Vec::new()));
            let notes = Arc::clone(&handled);
            let executor = Executor::<usize>::builder()
                .config(isolating(workers, park_timeout))
                .on_panic(move |worker, payload, scratch: &mut Option<usize>| {
                    assert_eq!(current_worker_id(), Some(worker));
                    let task = *payload.downcast::<usize>().expect("the payload is the task");
                    assert_eq!(scratch.take(), Some(task), "the scratch is as the task has left it");
                    notes.lock().expect("nobody panics under the lock").push(task);
                })
                .build(|_| None, move |task, cx| {
                    assert_eq!(cx.scratch.replace(task), None, "the last one was cleared");
                    seen.see(task);
                    if task < TASKS {
                        cx.spawn_local(task + TASKS);
                    }
                    if task % 10 == 0 {
                        std::panic::resume_unwind(Box::new(task));
                    }
                    cx.scratch = None;
                })
                .expect("the executor starts");
            executor.spawn_external_batch((0..TASKS).collect()).expect("the gate is open");
            executor.wait_idle();
            let mut handled = std::mem::take(&mut *handled.lock().expect("nobody panics under the lock"));
            handled.sort_unstable();
            let expected: Vec<usize> = (0..2 * TASKS).step_by(10).collect();
            assert_eq!(handled, expected, "each panic was handled before the executor was idle");
            assert!(executor.is_accepting());
            let metrics = executor.join();
            tally.assert_each_once();
            assert_eq!(metrics.total.panicked, expected.len() as u64);
            assert_eq!(metrics.total.executed(), 2 * TASKS as u64);
            assert_eq!(metrics.total.returned, 0);
        }
    }
}

both_ways_of_parking! {
    fn without_a_handler_an_isolated_panic_is_dropped(park_timeout) {
        let executor = Executor::<u32>::new(isolating(2, park_timeout), |_| (), |task, _cx| {
            assert_ne!(task % 2, 0, "even tasks panic");
        })
        .expect("the executor starts");
        executor.spawn_external_batch((0..100).collect()).expect("the gate is open");
        let metrics = executor.try_join().expect("no panic is left to be thrown");
        assert_eq!((metrics.total.executed(), metrics.total.panicked), (100, 50));
    }
}

both_ways_of_parking! {
    fn a_panic_handler_that_panics_aborts_the_executor(park_timeout) {
        let executor = Executor::<u32>::builder()
            .config(isolating(1, park_timeout))
            .on_panic(|_worker, _payload, (): &mut ()| panic!("the handler, too"))
            .build(|_| (), |_task, _cx| panic!("the task"))
            .expect("the executor starts");
        executor.spawn_external_batch((0..100).collect()).expect("the gate is open");
        let aborted = executor.try_join().expect_err("the handler panicked");
        assert_eq!(aborted.panic_message(), Some("the handler, too"));
        assert_eq!((aborted.metrics.total.panicked, aborted.tasks.len()), (1, 99));
    }
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("dropped"));
    }
}

both_ways_of_parking! {
    fn a_payload_that_panics_when_it_is_dropped_aborts_the_executor(park_timeout) {
        let executor = Executor::<u32>::new(isolating(1, park_timeout), |_| (), |_task, _cx| {
            std::panic::resume_unwind(Box::new(PanicsWhenDropped));
        })
        .expect("the executor starts");
        executor.spawn_external(0).expect("the gate is open");
        let aborted = executor.try_join().expect_err("dropping the payload panicked");
        assert_eq!(aborted.panic_message(), Some("dropped"));
    }
}

both_ways_of_parking! {
    fn hooks_that_panic_are_not_isolated(park_timeout) {
        let executor = Executor::<u32>::builder()
            .config(isolating(2, park_timeout))
            .trace_hooks(|_| Fragile(|event| matches!(event, ExecTraceEvent::TaskEnd { .. })))
            .build(|_| (), |_task, _cx| {})
            .expect("the executor starts");
        executor.spawn_external(0).expect("the gate is open");
        let aborted = executor.try_join().expect_err("the hook panicked");
        assert_eq!(aborted.panic_message(), Some("the trace hook panics"));
    }
}
