//! The maintenance pool, at once and at intervals.

use std::sync::mpsc;
use std::time::Duration;

use pools::Pools;

use crate::setting_up::{in_a_process, is_child};
use crate::support::{Gate, pools};

#[test]
fn tasks_run_at_the_same_time_up_to_the_limit_and_then_one_after_another() {
    let pools = Pools::builder().maintenance_threads_max(2).build().unwrap();
    let (gate, (send, ended)) = (Gate::new(), mpsc::channel());
    for _ in 0..3 {
        let (gate, send) = (gate.clone(), send.clone());
        let task = move || {
            gate.pass();
            send.send(()).unwrap();
        };
        pools.maintenance().spawn(task).unwrap();
    }
    gate.wait_for(2);
    let snapshot = pools.maintenance().snapshot();
    assert_eq!((snapshot.threads, snapshot.running, snapshot.queued), (2, 2, 1));
    gate.open();
    ended.iter().take(3).for_each(drop);
}

#[test]
fn a_panic_disturbs_no_other_task_and_is_counted() {
    let pools = Pools::builder().maintenance_threads_max(1).build().unwrap();
    let (send, ended) = mpsc::channel();
    pools.maintenance().spawn(|| panic!("on purpose")).unwrap();
    pools.maintenance().spawn(move || send.send(()).unwrap()).unwrap();
    ended.recv().unwrap();
    assert!(pools.shutdown(Duration::from_secs(60)).unwrap().is_clean());
    let snapshot = pools.maintenance().snapshot();
    assert_eq!((snapshot.ran, snapshot.panicked), (2, 1));
}

#[test]
fn a_repeated_task_runs_until_its_guard_is_dropped_even_if_it_panics() {
    let pools = pools(1);
    let (send, runs) = mpsc::channel();
    let mut run = 0;
    let repeating = pools.maintenance().every(Duration::from_millis(1), move || {
        run += 1;
        send.send(run).unwrap();
        assert_ne!(run, 2, "on purpose");
    });
    let repeating = repeating.unwrap();
    assert_eq!(runs.iter().take(4).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(pools.maintenance().snapshot().repeating, 1);
    drop(repeating);
    assert!(runs.iter().all(|run| run > 4));
    assert_eq!(pools.maintenance().snapshot().repeating, 0);
}

#[test]
fn a_thread_without_work_goes_after_a_while_and_another_comes_with_the_next_task() {
    let pools = Pools::builder()
        .maintenance_keep_alive(Duration::ZERO)
        .build()
        .unwrap();
    for _ in 0..3 {
        let (send, ended) = mpsc::channel();
        pools.maintenance().spawn(move || send.send(()).unwrap()).unwrap();
        ended.recv().unwrap();
        while pools.maintenance().snapshot().threads > 0 {
            std::thread::yield_now();
        }
    }
    assert_eq!(pools.maintenance().snapshot().ran, 3);
}

#[test]
fn a_task_that_takes_long_holds_up_none_that_is_due_while_there_may_be_another_thread() {
    let pools = Pools::builder().maintenance_threads_max(2).build().unwrap();
    let (gate, (send, runs)) = (Gate::new(), mpsc::channel());
    let every = pools.maintenance().every(Duration::from_millis(1), move || {
        let _ = send.send(());
    });
    let every = every.unwrap();
    runs.recv().unwrap();
    let long = gate.clone();
    pools.maintenance().spawn(move || long.pass()).unwrap();
    gate.wait_for(1);
    let before = pools.maintenance().snapshot().ran;
    runs.iter().take(before as usize + 3).for_each(drop);
    gate.open();
    drop(every);
}

#[test]
fn a_task_that_is_always_late_leaves_turns_to_the_others_on_one_thread() {
    let pools = Pools::builder().maintenance_threads_max(1).build().unwrap();
    let (send, runs) = mpsc::channel();
    let always = pools.maintenance().every(Duration::ZERO, move || {
        let _ = send.send(());
    });
    let always = always.unwrap();
    runs.recv().unwrap();
    let (send, ended) = mpsc::channel();
    pools.maintenance().spawn(move || send.send(()).unwrap()).unwrap();
    ended.recv().unwrap();
    drop(always);
}

#[test]
fn a_period_that_never_ends_is_taken() {
    let pools = pools(1);
    let never = pools.maintenance().every(Duration::MAX, || panic!("never"));
    drop(never.unwrap());
    assert!(pools.shutdown(Duration::from_secs(60)).unwrap().is_clean());
}

#[test]
fn a_repeated_task_may_end_itself_and_its_destructor_may_panic() {
    struct Explodes;

    impl Drop for Explodes {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }

    let pools = Pools::builder().maintenance_threads_max(1).build().unwrap();
    let own = std::sync::Arc::new(std::sync::Mutex::new(None));
    let guard = own.clone();
    let explodes = Explodes;
    let (send, runs) = mpsc::channel();
    let every = pools.maintenance().every(Duration::from_millis(1), move || {
        let _own = &explodes;
        if guard.lock().unwrap().take().is_some() {
            send.send(()).unwrap();
        }
    });
    *own.lock().unwrap() = Some(every.unwrap());
    runs.recv().unwrap();
    let (send, ended) = mpsc::channel();
    pools.maintenance().spawn(move || send.send(()).unwrap()).unwrap();
    ended.recv().unwrap();
    assert!(runs.recv().is_err(), "it is gone");
}

#[test]
fn the_process_ends_while_maintenance_tasks_run() {
    if is_child() {
        let own = pools(1);
        for pools in [&own, Pools::global()] {
            let gate = Gate::new();
            let never_opened = gate.clone();
            pools.maintenance().spawn(move || never_opened.pass()).unwrap();
            let every = pools.maintenance().every(Duration::from_millis(1), || ());
            every.unwrap().detach();
            gate.wait_for(1);
        }
        drop(own);
        return;
    }
    let test = "maintenance::the_process_ends_while_maintenance_tasks_run";
    let output = in_a_process(test, "WINDLASS_WORKERS", "1");
    assert!(output.status.success(), "{output:?}");
}
