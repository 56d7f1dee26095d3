//! Ends in odd places: in destructors, on ending threads, from several sides at once.

use std::cell::RefCell;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use pipeline_exec::{Job, step};
use pools::{CpuError, MixedError, PoolKind, Pools, WrongPool};
use tokio::runtime::Builder;

use crate::setting_up::{in_a_process, is_child};
use crate::support::{Gate, hold_cpu, pools};

const LONG: Duration = Duration::from_secs(3_600);

struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> OnDrop<F> {
    fn new(call: F) -> Self {
        Self(Some(call))
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

#[test]
fn a_mixed_task_does_not_wait_for_its_own_end_in_a_destructor_either() {
    let pools = pools(1);
    let (inner, (send, refused)) = (pools.clone(), mpsc::channel());
    let ends = OnDrop::new(move || send.send(inner.shutdown(LONG)).unwrap());
    let (started, starts) = tokio::sync::oneshot::channel();
    let task = pools.mixed().spawn(async move {
        let _ends = ends;
        started.send(()).unwrap();
        pending::<()>().await;
    });
    let task = task.unwrap();
    pollster::block_on(starts).unwrap();
    task.abort();
    let wrong = WrongPool {
        from: PoolKind::Mixed,
        to: PoolKind::Mixed,
    };
    assert_eq!(refused.recv().unwrap(), Err(wrong));
    assert!(matches!(task.wait(), Err(MixedError::Cancelled)));
    assert!(pools.shutdown(LONG).unwrap().is_clean());
}

#[test]
fn neither_does_a_cpu_task_that_never_ran() {
    let pools = pools(1);
    let (gate, held) = hold_cpu(&pools, 1);
    let (inner, (send, refused)) = (pools.clone(), mpsc::channel());
    let captured = OnDrop::new(move || send.send(inner.shutdown(LONG)).unwrap());
    drop(pools.cpu().run(move |_cx| drop(captured)));
    let wrong = WrongPool {
        from: PoolKind::Cpu,
        to: PoolKind::Mixed,
    };
    assert_eq!(refused.recv().unwrap(), Err(wrong));
    gate.open();
    drop(held);
    assert!(pools.shutdown(LONG).unwrap().is_clean());
}

#[test]
fn when_a_shutdown_finds_no_caller_inside_all_that_was_inside_is_gone() {
    struct Slow(Option<Sender<()>>);

    impl Future for Slow {
        type Output = ();

        fn poll(self: std::pin::Pin<&mut Self>, _cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
            std::task::Poll::Ready(())
        }
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            (0..1_000).for_each(|_| thread::yield_now());
            self.0.take().unwrap().send(()).unwrap();
        }
    }

    let pools = pools(1);
    let (send, gone) = mpsc::channel();
    let tasks = (0..20).map(|_| pools.mixed().spawn(Slow(Some(send.clone()))).unwrap());
    tasks.for_each(drop);
    assert!(pools.shutdown(LONG).unwrap().is_clean());
    assert_eq!(gone.try_iter().count(), 20);
}

#[test]
fn a_panic_in_a_future_that_a_thread_blocks_on_is_that_threads_and_leaves_nothing_behind() {
    let pools = pools(1);
    let mixed = pools.mixed();
    let blocks = AssertUnwindSafe(|| mixed.block_on(async { panic!("no socket") }));
    let payload = catch_unwind(blocks).map(|_: Result<(), _>| ()).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"no socket"));
    assert_eq!(mixed.snapshot().tasks, 0);
    assert_eq!(mixed.block_on(async { 1 }).unwrap(), 1);
    assert!(pools.shutdown(LONG).unwrap().is_clean());
}

#[test]
fn the_last_handle_may_be_captured_by_a_task_that_never_starts() {
    let own = pools(1);
    let (gate, held) = hold_cpu(&own, 1);
    let (last, (send, ended)) = (own.clone(), mpsc::channel());
    let captured = OnDrop::new(move || {
        drop(last);
        send.send(()).unwrap();
    });
    let task = own.cpu().run(move |_cx| drop(captured));
    drop(own);
    let drops = thread::spawn(move || drop(task));
    gate.open();
    drops.join().unwrap();
    ended.recv().unwrap();
    for task in held {
        task.wait().unwrap();
    }
}

#[test]
fn the_last_handle_may_be_the_value_of_a_task_that_is_not_awaited() {
    for _ in 0..20 {
        let own = pools(1);
        let (last, (send, ended)) = (own.clone(), mpsc::channel());
        let task = own.cpu().run(move |_cx| {
            OnDrop::new(move || {
                drop(last);
                send.send(()).unwrap();
            })
        });
        task.detach().unwrap();
        drop(own);
        ended.recv().unwrap();
    }
}

#[test]
fn a_destructor_that_panics_on_a_worker_disturbs_no_other_task() {
    let pools = pools(1);
    let (gate, held) = hold_cpu(&pools, 1);
    let explodes = OnDrop::new(|| panic!("in a destructor"));
    let dropped = pools.cpu().run(move |_cx| drop(explodes));
    let explodes = OnDrop::new(|| panic!("in the destructor of a value"));
    pools.cpu().run(move |_cx| explodes).detach().unwrap();
    gate.open();
    let ended = dropped.wait();
    assert!(matches!(&ended, Err(CpuError::Panicked { message }) if message == "in a destructor"));
    assert_eq!(pools.cpu().run(|_cx| 1).wait().unwrap(), 1);
    drop(held);
    assert!(pools.shutdown(LONG).unwrap().is_clean());
}

#[test]
fn a_foreign_runtime_that_is_dropped_takes_its_tasks_along_and_hangs_no_thread() {
    for flavour in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let mut flavour = flavour;
        let runtime = flavour.build().unwrap();
        let pools = Pools::builder()
            .cpu_threads(1)
            .runtime(runtime.handle().clone())
            .build()
            .unwrap();
        let (gate, (send, told)) = (Gate::new(), mpsc::channel());
        let (at_gate, inner) = (gate.clone(), pools.clone());
        let awaits = pools.mixed().spawn(async move {
            let computes = inner.cpu().run(move |cx| {
                at_gate.pass();
                send.send(cx.is_cancelled()).unwrap();
            });
            computes.await
        });
        let awaits = awaits.unwrap();
        let arrived = gate.clone();
        runtime
            .block_on(async { tokio::task::spawn_blocking(move || arrived.wait_for(1)).await })
            .unwrap();
        drop(runtime);
        assert!(matches!(awaits.wait(), Err(MixedError::Cancelled)));
        gate.open();
        assert!(told.recv().unwrap(), "its future was dropped");
        let late = pools.mixed().spawn(async {}).unwrap().wait();
        assert!(matches!(late, Err(MixedError::Cancelled)), "{late:?}");
        let late = pools.mixed().run_blocking(|| ()).unwrap().wait();
        assert!(matches!(late, Err(MixedError::Cancelled)), "{late:?}");
        assert_eq!(pools.cpu().run(|_cx| 1).wait().unwrap(), 1);
        assert!(pools.shutdown(LONG).unwrap().is_clean());
    }
}

#[test]
fn pools_end_by_a_call_on_a_blocking_thread_of_the_runtime_that_they_use() {
    for flavour in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let mut flavour = flavour;
        let runtime = flavour.build().unwrap();
        let ended = runtime.block_on(async {
            let pools = Pools::builder()
                .cpu_threads(1)
                .runtime(tokio::runtime::Handle::current())
                .build()
                .unwrap();
            let inner = pools.clone();
            let task = pools.mixed().spawn(async move { inner.cpu().run(|_cx| 1).await });
            let ended = tokio::task::spawn_blocking(move || pools.shutdown(LONG)).await;
            assert_eq!(task.unwrap().await.unwrap().unwrap(), 1);
            ended.unwrap().unwrap()
        });
        assert!(ended.is_clean(), "{ended}");
    }
}

#[test]
fn several_shutdowns_at_once_beside_those_who_hand_over_end_for_all() {
    for _ in 0..20 {
        let pools = pools(2);
        let producers: Vec<_> = (0..2)
            .map(|_| {
                let pools = pools.clone();
                thread::spawn(move || {
                    loop {
                        let inner = pools.clone();
                        let task = pools.mixed().spawn(async move { inner.cpu().run(|_cx| 1).await });
                        match task.map(pools::MixedTask::wait) {
                            Ok(ended) => assert_eq!(ended.unwrap().unwrap(), 1),
                            Err(error) => {
                                assert!(matches!(error, MixedError::Closed), "{error}");
                                break;
                            }
                        }
                        match pools.cpu().run(|_cx| 1).wait() {
                            Ok(value) => assert_eq!(value, 1),
                            Err(error) => assert!(matches!(error, CpuError::Closed), "{error}"),
                        }
                    }
                })
            })
            .collect();
        let closers: Vec<_> = (0..3)
            .map(|_| {
                let pools = pools.clone();
                thread::spawn(move || pools.shutdown(LONG).unwrap())
            })
            .collect();
        for closer in closers {
            assert!(closer.join().unwrap().is_clean());
        }
        for producer in producers {
            producer.join().unwrap();
        }
    }
}

#[test]
fn pools_that_are_made_and_dropped_over_and_over_with_work_in_them_all_end() {
    for round in 0..100 {
        let pools = pools(2);
        let inner = pools.clone();
        let mixed = pools.mixed().spawn(async move { inner.cpu().run(|_cx| 1).await });
        let blocking = pools.mixed().run_blocking(|| 2);
        let cpu: Vec<_> = (0..10).map(|n| pools.cpu().run(move |_cx| n)).collect();
        pools.maintenance().spawn(|| ()).unwrap();
        if round % 2 == 0 {
            drop((mixed, blocking));
        }
        drop(pools);
        for (n, task) in cpu.into_iter().enumerate() {
            match task.wait() {
                Ok(value) => assert_eq!(value, n),
                Err(error) => assert!(matches!(error, CpuError::Closed | CpuError::Cancelled), "{error}"),
            }
        }
    }
}

#[test]
fn two_pools_in_one_process_know_each_others_workers() {
    let (one, other) = (pools(1), pools(1));
    let captured = other.clone();
    let task = one.cpu().run(move |_cx| {
        let (send, ran) = mpsc::channel();
        captured
            .cpu()
            .run(move |_cx| send.send(7).unwrap())
            .detach()
            .unwrap();
        let waits = captured.cpu().run(|_cx| ()).wait();
        let mixed = captured.mixed().spawn(async {}).map(drop);
        (
            waits.unwrap_err().to_string(),
            mixed.unwrap_err().to_string(),
            ran,
        )
    });
    let (waits, mixed, ran) = task.wait().unwrap();
    assert!(
        waits.starts_with("the CPU pool was called from the CPU pool"),
        "{waits}"
    );
    assert!(
        mixed.starts_with("the mixed pool was called from the CPU pool"),
        "{mixed}"
    );
    assert_eq!(ran.recv(), Ok(7));
    drop(one);
    assert_eq!(other.cpu().run(|_cx| 1).wait().unwrap(), 1);
}

struct AtTheEnd(RefCell<Option<(Pools, Sender<u32>)>>);

thread_local! {
    static LAST: AtTheEnd = const { AtTheEnd(RefCell::new(None)) };
}

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        if let Some((pools, send)) = self.0.take() {
            send.send(use_all(&pools)).unwrap();
            let blocks = pools.mixed().block_on(async {});
            assert!(matches!(blocks, Err(MixedError::Unavailable(_))), "{blocks:?}");
        }
    }
}

/// Makes all calls that do not enter the runtime on this thread; returns their number.
fn use_all(pools: &Pools) -> u32 {
    let job = || Job::from_steps("two", vec![step(|_cx| Ok(())), step(|_cx| Ok(()))]);
    assert_eq!(pools.cpu().submit(job()).unwrap().wait().unwrap().slots, 2);
    assert_eq!(pools.cpu().submit(job()).unwrap().run().unwrap().slots, 2);
    let (send, kept) = mpsc::channel();
    pools.maintenance().spawn(move || send.send(8).unwrap()).unwrap();
    let computed = pools
        .cpu()
        .run(|cx| cx.map(2, |n, _cx| n as u32).unwrap().len() as u32);
    let spawned = pools.mixed().spawn(async { 1 }).unwrap();
    let blocking = pools.mixed().run_blocking(|| 4).unwrap();
    computed.wait().unwrap() + spawned.wait().unwrap() + blocking.wait().unwrap() + kept.recv().unwrap()
}

#[test]
fn pools_work_for_a_thread_that_ends() {
    if is_child() {
        let (send, used) = mpsc::channel();
        LAST.with(|last| last.0.replace(Some((Pools::global().clone(), send))));
        // Younger thread-locals are dropped first.
        assert_eq!(use_all(Pools::global()), 15);
        Pools::global().mixed().block_on(async {}).unwrap();
        assert!(used.try_recv().is_err());
        std::mem::forget(used);
        return;
    }
    let own = pools(1);
    let (send, used) = mpsc::channel();
    let ends = own.clone();
    let ending = thread::spawn(move || {
        LAST.with(|last| last.0.replace(Some((ends.clone(), send))));
        assert_eq!(use_all(&ends), 15);
        ends.mixed().block_on(async {}).unwrap();
    });
    ending.join().unwrap();
    assert_eq!(used.recv(), Ok(15));
    assert!(own.shutdown(LONG).unwrap().is_clean());

    let output = in_a_process(
        "odd_ends::pools_work_for_a_thread_that_ends",
        "WINDLASS_WORKERS",
        "1",
    );
    assert!(output.status.success(), "{output:?}");
}
