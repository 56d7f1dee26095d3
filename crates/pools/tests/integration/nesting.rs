//! CPU tasks that wait for parts of their own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pipeline_exec::{Job, step};
use pools::{CpuCx, CpuError, Pools};

use crate::support::pools;

#[test]
fn join_and_map_give_their_values_in_order() {
    for threads in [1, 2, 4] {
        let pools = pools(threads);
        let task = pools.cpu().run(|cx| {
            let (a, b) = cx.join(|_cx| "left", |cx| cx.map(4, |n, _cx| n * n)).unwrap();
            let count = Arc::new(AtomicUsize::new(0));
            let counts = count.clone();
            cx.for_each(100, move |n, _cx| {
                counts.fetch_add(n, Ordering::Relaxed);
            })
            .unwrap();
            (a, b.unwrap(), count.load(Ordering::Relaxed))
        });
        assert_eq!(task.wait().unwrap(), ("left", vec![0, 1, 4, 9], 4_950));
    }
}

fn fibonacci(cx: &CpuCx<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx
        .join(move |cx| fibonacci(cx, n - 1), move |cx| fibonacci(cx, n - 2))
        .unwrap();
    a + b
}

#[test]
fn ten_thousand_nested_waits_never_deadlock_with_one_worker() {
    for capacity in [65_536, 4] {
        let pools = Pools::builder()
            .cpu_threads(1)
            .cpu_stack_size(16 << 20)
            .cpu_queue_capacity(capacity)
            .build()
            .unwrap();
        assert_eq!(pools.cpu().run(|cx| fibonacci(cx, 20)).wait().unwrap(), 6_765);
    }
}

#[test]
fn a_part_that_panics_is_the_errors_of_the_wait_and_not_of_the_task() {
    let pools = pools(2);
    let task = pools.cpu().run(|cx| {
        let joined = cx.join(|_cx| 1, |_cx| -> u8 { panic!("right") });
        let mapped = cx.map(3, |n, _cx| assert_ne!(n, 1, "one"));
        (joined.unwrap_err().to_string(), mapped.unwrap_err().to_string())
    });
    let (joined, mapped) = task.wait().unwrap();
    assert_eq!(joined, "the CPU task panicked: right");
    assert!(mapped.contains("one"), "{mapped}");
}

#[test]
fn a_lock_that_is_held_over_a_nested_wait_meets_no_stranger() {
    for threads in [1, 2, 4] {
        let pools = pools(threads);
        let lock = Arc::new(Mutex::new(0));
        let tasks: Vec<_> = (0..50)
            .map(|_| {
                let lock = lock.clone();
                pools.cpu().run(move |cx| {
                    let mut sum = lock.lock().unwrap();
                    *sum += cx.map(8, |n, _cx| n).unwrap().len();
                })
            })
            .collect();
        for task in tasks {
            task.wait().unwrap();
        }
        assert_eq!(*lock.lock().unwrap(), 400);
    }
}

#[test]
fn a_task_that_is_dropped_ends_its_parts() {
    let pools = pools(1);
    let gate = crate::support::Gate::new();
    let at_gate = gate.clone();
    let (send, ended) = std::sync::mpsc::channel();
    let task = pools.cpu().run(move |cx| {
        let parts = cx.map(1_000, move |n, cx| {
            if n == 0 {
                at_gate.pass();
            }
            assert_eq!(n, 0, "no other starts");
            cx.is_cancelled()
        });
        send.send(parts.map(drop)).unwrap();
    });
    gate.wait_for(1);
    drop(task);
    gate.open();
    assert!(matches!(ended.recv().unwrap(), Err(CpuError::Cancelled)));
}

#[test]
fn a_job_inside_a_task_gives_its_report() {
    let pools = pools(1);
    let task = pools.cpu().run(|cx| {
        let steps = (0..3).map(|_| step(|_cx| Ok(())));
        cx.run_job(Job::from_steps("inner", steps.collect()))
            .map(|report| report.slots)
    });
    assert_eq!(task.wait().unwrap().unwrap(), 3);
}
