//! Shutdown at each point of running work.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pools::{CpuError, MaintenanceError, MixedError, PoolKind, Pools, WrongPool};

use crate::support::{Gate, hold_cpu, pools};

const LONG: Duration = Duration::from_secs(3_600);

fn assert_ended(pools: &Pools) {
    assert!(matches!(pools.cpu().run(|_cx| ()).wait(), Err(CpuError::Closed)));
    assert!(matches!(pools.mixed().spawn(async {}), Err(MixedError::Closed)));
    assert!(matches!(
        pools.mixed().run_blocking(|| ()),
        Err(MixedError::Closed)
    ));
    assert!(matches!(
        pools.mixed().block_on(async {}),
        Err(MixedError::Closed)
    ));
    assert!(matches!(
        pools.maintenance().spawn(|| ()),
        Err(MaintenanceError::Closed)
    ));
    let again = pools.shutdown(LONG).unwrap();
    assert!(again.is_clean(), "{again}");
}

#[test]
fn unused_pools_end_at_once() {
    let pools = pools(1);
    assert!(pools.shutdown(LONG).unwrap().is_clean());
    assert_ended(&pools);
}

#[test]
fn the_last_handle_may_be_dropped_in_async_code_while_a_closure_runs() {
    for in_a_task in [false, true] {
        let (gate, (tell, ended)) = (Gate::new(), mpsc::channel());
        let (held, (over, drops)) = (gate.clone(), mpsc::channel::<()>());
        // Not joined: it may wait until the gate opens.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let pools = Pools::builder().cpu_threads(1).cpu_spares(0);
            let pools = match in_a_task {
                true => pools.runtime(runtime.handle().clone()),
                false => pools,
            };
            let pools = pools.build().unwrap();
            let waits = held.clone();
            let task = pools.cpu().run(move |_cx| {
                let _over = over;
                waits.pass();
            });
            held.wait_for(1);
            task.detach().unwrap();
            match in_a_task {
                true => {
                    let mixed = pools.mixed();
                    let task = mixed.spawn(async move { drop(pools) }).unwrap();
                    drop(mixed);
                    runtime.block_on(task).unwrap();
                }
                false => runtime.block_on(async { drop(pools) }),
            }
            tell.send(()).unwrap();
        });
        let dropped = ended.recv_timeout(Duration::from_secs(120));
        gate.open();
        dropped.expect("the drop waits for no closure");
        assert!(drops.recv().is_err());
    }
}

#[test]
fn cpu_tasks_that_wait_and_run_are_drained() {
    let pools = pools(1);
    let (gate, held) = hold_cpu(&pools, 1);
    let waits: Vec<_> = (0..10).map(|n| pools.cpu().run(move |_cx| n)).collect();
    let ends = {
        let pools = pools.clone();
        thread::spawn(move || pools.shutdown(LONG).unwrap())
    };
    gate.open();
    assert!(ends.join().unwrap().is_clean());
    for task in held {
        task.wait().unwrap();
    }
    for (n, task) in waits.into_iter().enumerate() {
        assert_eq!(task.wait().unwrap(), n);
    }
    assert_ended(&pools);
}

#[test]
fn a_mixed_task_that_still_wants_to_compute_may() {
    let pools = pools(1);
    let (go, goes) = tokio::sync::oneshot::channel::<()>();
    let inner = pools.clone();
    let task = pools.mixed().spawn(async move {
        goes.await.unwrap();
        inner.cpu().run(|_cx| 7).await
    });
    let ends = {
        let pools = pools.clone();
        thread::spawn(move || pools.shutdown(LONG).unwrap())
    };
    while !matches!(pools.mixed().spawn(async {}), Err(MixedError::Closed)) {
        thread::yield_now();
    }
    go.send(()).unwrap();
    assert_eq!(task.unwrap().wait().unwrap().unwrap(), 7);
    assert!(ends.join().unwrap().is_clean());
}

#[test]
fn when_the_time_is_up_what_is_left_is_told_to_stop_and_counted() {
    let pools = pools(1);
    let told = Gate::new();
    let (send, ended) = mpsc::channel();
    let tells = told.clone();
    let runs = pools.cpu().run(move |cx| {
        tells.pass();
        while !cx.is_cancelled() {
            thread::yield_now();
        }
        send.send(()).unwrap();
    });
    told.wait_for(1);
    told.open();
    let waits = pools.cpu().run(|_cx| panic!("it never ran"));
    let mixed = pools.mixed().spawn(std::future::pending::<()>()).unwrap();
    let (blocked, gate) = (Gate::new(), Gate::new());
    let (arrives, keeps_house) = (blocked.clone(), gate.clone());
    let blocking = pools.mixed().run_blocking(move || arrives.pass()).unwrap();
    pools.maintenance().spawn(move || keeps_house.pass()).unwrap();
    blocked.wait_for(1);
    gate.wait_for(1);

    let report = pools.shutdown(Duration::from_millis(1)).unwrap();
    assert_eq!(
        (report.mixed_left, report.cpu_left, report.maintenance_left),
        (2, 2, 1)
    );
    assert!(
        report.to_string().contains("2 mixed, 2 CPU, 1 maintenance"),
        "{report}"
    );
    assert!(matches!(mixed.wait(), Err(MixedError::Cancelled)));
    let waits: Result<(), _> = waits.wait();
    assert!(matches!(waits, Err(CpuError::Closed)), "{waits:?}");
    ended.recv().unwrap();
    runs.wait().unwrap();
    blocked.open();
    blocking.wait().unwrap();
    gate.open();
    assert_ended(&pools);
}

#[test]
fn tasks_of_a_foreign_runtime_end_with_the_pools_and_the_runtime_does_not() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let pools = Pools::builder()
        .cpu_threads(1)
        .runtime(runtime.handle().clone())
        .build()
        .unwrap();
    let task = pools.mixed().spawn(std::future::pending::<()>()).unwrap();
    assert_eq!(pools.shutdown(Duration::ZERO).unwrap().mixed_left, 1);
    assert!(matches!(task.wait(), Err(MixedError::Cancelled)));
    assert_eq!(runtime.block_on(async { 1 }), 1);
}

#[test]
fn a_pool_does_not_wait_for_its_own_end() {
    let pools = pools(1);
    let (a, b, c) = (pools.clone(), pools.clone(), pools.clone());
    let (send, sent) = mpsc::channel();
    let from_async = pools
        .mixed()
        .spawn(async move { a.shutdown(LONG) })
        .unwrap()
        .wait();
    let from_blocking = pools
        .mixed()
        .run_blocking(move || b.shutdown(LONG))
        .unwrap()
        .wait();
    pools
        .maintenance()
        .spawn(move || send.send(c.shutdown(LONG)).unwrap())
        .unwrap();
    let inner = pools.clone();
    let inside = pools.mixed().block_on(async move { inner.shutdown(LONG) });
    let refused = [
        from_async.unwrap(),
        from_blocking.unwrap(),
        inside.unwrap(),
        sent.recv().unwrap(),
    ];
    let from = [
        PoolKind::Mixed,
        PoolKind::Mixed,
        PoolKind::Mixed,
        PoolKind::Maintenance,
    ];
    for (refused, from) in refused.into_iter().zip(from) {
        assert_eq!(
            refused.unwrap_err(),
            WrongPool {
                from,
                to: PoolKind::Mixed
            }
        );
    }
    assert_eq!(pools.cpu().run(|_cx| 1).wait().unwrap(), 1);
}

#[test]
fn a_drop_cancels_what_has_not_started_and_waits_for_what_runs() {
    let pools = pools(1);
    let (gate, mut held) = hold_cpu(&pools, 1);
    let waits = pools.cpu().run(|_cx| panic!("it never ran"));
    let dropping = thread::spawn(move || drop(pools));
    let waits: Result<(), _> = waits.wait();
    assert!(matches!(waits, Err(CpuError::Closed)), "{waits:?}");
    gate.open();
    dropping.join().unwrap();
    held.remove(0).wait().unwrap();
}

#[test]
fn the_last_handle_may_go_in_a_cpu_task_or_in_a_mixed_one() {
    let own = pools(1);
    let (gate, (send, ended)) = (Gate::new(), mpsc::channel());
    let (last, at_gate) = (own.clone(), gate.clone());
    let task = own.cpu().run(move |_cx| {
        at_gate.pass();
        drop(last);
        send.send(()).unwrap();
    });
    task.detach().unwrap();
    gate.wait_for(1);
    drop(own);
    gate.open();
    ended.recv().unwrap();

    let own = pools(1);
    own.cpu().run(|_cx| ()).wait().unwrap();
    let (go, goes) = tokio::sync::oneshot::channel::<()>();
    let (last, (send, ended)) = (own.clone(), mpsc::channel());
    let task = own.mixed().spawn(async move {
        goes.await.unwrap();
        drop(last);
        send.send(()).unwrap();
    });
    drop(task);
    drop(own);
    go.send(()).unwrap();
    ended.recv().unwrap();
}
