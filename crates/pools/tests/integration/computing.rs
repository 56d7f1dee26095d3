//! The CPU pool: values, panics, dropped tasks, a full pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use pipeline_exec::{Job, PipelineExecutor, step};
use pools::{CpuError, Pools};

use crate::support::{Gate, hold_cpu, pools};

#[test]
fn a_computation_gives_its_value_to_a_future_and_to_a_thread() {
    let pools = pools(2);
    let text = "as it is".to_owned();
    assert_eq!(pools.cpu().run(move |_cx| text).wait().unwrap(), "as it is");
    let (a, b) = (pools.cpu().run(|_cx| 1), pools.cpu().run(|_cx| 2));
    assert_eq!(
        pollster::block_on(async { (a.await.unwrap(), b.await.unwrap()) }),
        (1, 2)
    );
}

#[test]
fn a_panic_is_an_error_with_what_it_said_and_the_worker_lives_on() {
    let pools = pools(1);
    let said = |task: pools::CpuTask<()>| match task.wait() {
        Err(CpuError::Panicked { message }) => message,
        other => panic!("{other:?}"),
    };
    assert_eq!(said(pools.cpu().run(|_cx| panic!("literal"))), "literal");
    assert_eq!(said(pools.cpu().run(|_cx| panic!("number {}", 7))), "number 7");
    assert_eq!(
        said(pools.cpu().run(|_cx| std::panic::panic_any(7))),
        "a panic without a message"
    );
    assert_eq!(pools.cpu().run(|_cx| 1).wait().unwrap(), 1);
}

#[test]
fn a_task_that_is_dropped_before_it_starts_never_starts() {
    let pools = pools(1);
    let (gate, held) = hold_cpu(&pools, 1);
    let (dropped, (send, receive)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel::<()>());
    let ran = dropped.clone();
    let task = pools.cpu().run(move |_cx| {
        let _send = send;
        ran.fetch_add(1, Ordering::Relaxed);
    });
    drop(task);
    assert!(receive.recv().is_err());
    gate.open();
    for task in held {
        task.wait().unwrap();
    }
    assert!(pools.shutdown(std::time::Duration::MAX).unwrap().is_clean());
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
}

#[test]
fn a_task_that_is_dropped_while_it_runs_is_told() {
    let pools = pools(1);
    let (gate, (send, told)) = (Gate::new(), mpsc::channel());
    let at_gate = gate.clone();
    let task = pools.cpu().run(move |cx| {
        assert!(!cx.is_cancelled());
        at_gate.pass();
        send.send(cx.is_cancelled()).unwrap();
    });
    gate.wait_for(1);
    drop(task);
    gate.open();
    assert!(told.recv().unwrap());
}

#[test]
fn a_task_that_is_detached_runs() {
    let pools = pools(1);
    let (gate, held) = hold_cpu(&pools, 1);
    let (send, ran) = mpsc::channel();
    pools
        .cpu()
        .run(move |_cx| send.send(7).unwrap())
        .detach()
        .unwrap();
    gate.open();
    assert_eq!(ran.recv(), Ok(7));
    drop(held);
}

#[test]
fn a_task_for_which_there_is_no_room_waits_for_it() {
    let pools = Pools::builder()
        .cpu_threads(1)
        .cpu_spares(0)
        .cpu_queue_capacity(1)
        .build()
        .unwrap();
    let (gate, held) = hold_cpu(&pools, 1);
    let waits = pools.cpu().run(|_cx| 5);
    let given_up = pools.cpu().run(|_cx| panic!("it never ran"));
    assert!(matches!(given_up.detach(), Err(CpuError::Full)));
    let waiter = thread::spawn(move || waits.wait());
    gate.open();
    assert_eq!(waiter.join().unwrap().unwrap(), 5);
    drop(held);
}

#[test]
fn jobs_of_many_slots_and_closures_share_the_workers_of_one_executor() {
    let pools = Pools::from_executor(PipelineExecutor::new(2).unwrap());
    let job = Job::from_steps("steps", (0..10).map(|_| step(|_cx| Ok(()))).collect());
    let report = pools.cpu().submit(job).unwrap().wait().unwrap();
    assert_eq!((report.slots, report.slots_per_worker.len()), (10, 3));
    pools.cpu().run(|_cx| ()).wait().unwrap();
    let snapshot = pools.cpu().snapshot().unwrap();
    assert_eq!((snapshot.jobs.submitted, snapshot.workers.len()), (2, 2));
}

#[test]
fn threads_have_the_names_that_they_were_given() {
    let pools = Pools::builder()
        .name("test")
        .cpu_threads(1)
        .mixed_threads(1)
        .build()
        .unwrap();
    let name = || thread::current().name().map(str::to_owned);
    assert_eq!(
        pools.cpu().run(move |_cx| name()).wait().unwrap().unwrap(),
        "test-cpu-0"
    );
    let mixed = pools
        .mixed()
        .spawn(async move { name() })
        .unwrap()
        .wait()
        .unwrap();
    assert!(mixed.unwrap().starts_with("test-mixed-"));
    let (send, names) = mpsc::channel();
    pools
        .maintenance()
        .spawn(move || send.send(name()).unwrap())
        .unwrap();
    assert_eq!(names.recv().unwrap().unwrap(), "test-maintenance-0");
}

#[test]
fn many_tasks_from_many_threads_all_give_their_values() {
    let pools = pools(2);
    let sums = (0..4).map(|thread| {
        let pools = pools.clone();
        thread::spawn(move || {
            let tasks: Vec<_> = (0..500).map(|n| pools.cpu().run(move |_cx| thread * n)).collect();
            tasks.into_iter().map(|task| task.wait().unwrap()).sum::<u64>()
        })
    });
    let sums: Vec<_> = sums.collect();
    let sums: Vec<u64> = sums.into_iter().map(|sum| sum.join().unwrap()).collect();
    assert_eq!(sums, [0, 124_750, 249_500, 374_250]);
}

#[cfg(target_os = "linux")]
#[test]
fn workers_are_as_nice_as_they_are_told_and_no_other_thread_is() {
    // Niceness is field 19 of `stat`; the split begins at field 3.
    let nice = || {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let behind_name = &stat[stat.rfind(')').unwrap() + 2..];
        behind_name.split(' ').nth(16).unwrap().parse::<i32>().unwrap()
    };
    let before = nice();
    let pools = Pools::builder().cpu_threads(1).cpu_nice(7).build().unwrap();
    let cpu = pools.cpu().run(move |_cx| nice()).wait().unwrap();
    assert_eq!(cpu, (before + 7).min(19));
    assert_eq!(
        pools
            .mixed()
            .spawn(async move { nice() })
            .unwrap()
            .wait()
            .unwrap(),
        before
    );
    assert_eq!(nice(), before);
}
