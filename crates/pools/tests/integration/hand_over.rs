//! The hand-over from mixed work to computation and back, at each point.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use pools::{CpuCx, CpuError, Pools};

use crate::support::pools;

const LONG: Duration = Duration::from_secs(3_600);

struct Owned(Arc<AtomicUsize>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn spin(turns: usize) {
    (0..turns).for_each(|_| std::hint::spin_loop());
}

#[test]
fn a_future_that_is_dropped_at_any_moment_leaves_its_computation_whole_or_undone() {
    let pools = pools(2);
    let (begun, ended, dropped) = (counter(), counter(), counter());
    let tasks: usize = 2_000;
    for n in 0..tasks {
        let (begins, ends) = (begun.clone(), ended.clone());
        let owned = Owned(dropped.clone());
        let task = pools.cpu().run(move |_cx| {
            let _owned = owned;
            begins.fetch_add(1, Ordering::Relaxed);
            spin(n % 50);
            ends.fetch_add(1, Ordering::Relaxed);
        });
        // Before the start, during the run, at the end, or after it.
        spin(n * 7 % 3_000);
        drop(task);
    }
    assert!(pools.shutdown(LONG).unwrap().is_clean());
    assert_eq!(begun.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
    assert_eq!(dropped.load(Ordering::Relaxed), tasks, "each once");
}

#[test]
fn a_shutdown_at_any_moment_tells_everybody_who_awaits() {
    for round in 0..200 {
        let pools = pools(1 + round % 2);
        let ran = counter();
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let (inner, runs) = (pools.clone(), ran.clone());
                let task = pools.mixed().spawn(async move {
                    let computes = inner.cpu().run(move |_cx| {
                        runs.fetch_add(1, Ordering::Relaxed);
                        n
                    });
                    computes.await
                });
                task.unwrap()
            })
            .collect();
        spin(round * 131 % 20_000);
        let timeout = if round % 3 == 0 { Duration::ZERO } else { LONG };
        let report = pools.shutdown(timeout).unwrap();
        let mut values = 0;
        for (n, task) in tasks.into_iter().enumerate() {
            match task.wait() {
                Ok(Ok(value)) => {
                    assert_eq!(value, n);
                    values += 1;
                }
                Ok(Err(CpuError::Closed | CpuError::Cancelled)) | Err(pools::MixedError::Cancelled) => {
                    assert!(!report.is_clean(), "{report}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(values <= ran.load(Ordering::Relaxed));
        assert!(!report.is_clean() || values == 8, "{report}");
    }
}

fn counter() -> Arc<AtomicUsize> {
    Arc::default()
}

#[test]
fn five_thousand_blocking_calls_of_which_two_may_run_all_compute() {
    let pools = Pools::builder()
        .cpu_threads(1)
        .mixed_threads(1)
        .blocking_max(2)
        .build()
        .unwrap();
    let (running, most) = (counter(), counter());
    let calls: Vec<_> = (0..5_000_usize)
        .map(|n| {
            let (inner, running, most) = (pools.clone(), running.clone(), most.clone());
            let call = pools.mixed().run_blocking(move || {
                most.fetch_max(1 + running.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
                let value = inner.cpu().run(move |_cx| n).wait().unwrap();
                running.fetch_sub(1, Ordering::Relaxed);
                value
            });
            call.unwrap()
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.wait().unwrap(), n);
    }
    assert!(most.load(Ordering::Relaxed) <= 2);
    let snapshot = pools.mixed().snapshot();
    assert_eq!((snapshot.blocking_in_all, snapshot.blocking_waiting), (5_000, 0));
    assert!(pools.shutdown(LONG).unwrap().is_clean());
}

fn deep(cx: &CpuCx<'_>, depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let (a, b) = cx
        .join(move |cx| deep(cx, depth - 1), move |cx| deep(cx, depth - 1))
        .unwrap();
    a + b
}

#[test]
fn mixed_to_blocking_to_cpu_to_nested_and_back_with_one_of_everything() {
    for capacity in [1, 2, 64] {
        let pools = Pools::builder()
            .cpu_threads(1)
            .cpu_queue_capacity(capacity)
            .mixed_threads(1)
            .blocking_max(1)
            .build()
            .unwrap();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let outer = pools.clone();
                let task = pools.mixed().spawn(async move {
                    let inner = outer.clone();
                    let blocks = outer.mixed().run_blocking(move || {
                        let innermost = inner.clone();
                        let awaits = async move { innermost.cpu().run(|cx| deep(cx, 5)).await.unwrap() };
                        inner.mixed().block_on(awaits).unwrap()
                    });
                    let first = blocks.unwrap().await.unwrap();
                    first + outer.cpu().run(|cx| deep(cx, 3)).await.unwrap()
                });
                task.unwrap()
            })
            .collect();
        for task in tasks {
            assert_eq!(task.wait().unwrap(), 32 + 8);
        }
        assert!(pools.shutdown(LONG).unwrap().is_clean());
    }
}

#[test]
fn a_task_that_waits_for_room_is_told_when_the_pool_ends() {
    let pools = Pools::builder()
        .cpu_threads(1)
        .cpu_spares(0)
        .cpu_queue_capacity(1)
        .build()
        .unwrap();
    let (gate, held) = crate::support::hold_cpu(&pools, 1);
    let waiters: Vec<_> = (0..4)
        .map(|n| {
            let task = pools.cpu().run(move |_cx| n);
            thread::spawn(move || task.wait())
        })
        .collect();
    let ends = {
        let pools = pools.clone();
        thread::spawn(move || pools.shutdown(LONG).unwrap())
    };
    let told = waiters.into_iter().map(|waiter| waiter.join().unwrap());
    let told: Vec<_> = told.collect();
    assert!(
        told.iter().all(|told| matches!(told, Err(CpuError::Closed))),
        "{told:?}"
    );
    gate.open();
    assert!(ends.join().unwrap().is_clean());
    for task in held {
        task.wait().unwrap();
    }
}
