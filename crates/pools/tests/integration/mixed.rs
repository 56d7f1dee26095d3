//! The mixed pool: async tasks, blocking calls, and their limits.

use std::sync::mpsc;

use pools::{MixedError, Pools};

use crate::support::{Gate, pools};

#[test]
fn async_tasks_and_blocking_calls_give_their_values() {
    let pools = pools(1);
    let mixed = pools.mixed();
    assert_eq!(mixed.spawn(async { 1 }).unwrap().wait().unwrap(), 1);
    assert_eq!(mixed.run_blocking(|| 2).unwrap().wait().unwrap(), 2);
    let inner = pools.mixed();
    let both = mixed.block_on(async move {
        let a = inner.spawn(async { 3 })?.await?;
        let b = inner.run_blocking(|| 4)?.await?;
        Ok::<_, MixedError>((a, b))
    });
    assert_eq!(both.unwrap().unwrap(), (3, 4));
}

#[test]
fn a_panic_is_an_error_with_what_it_said() {
    let pools = pools(1);
    let ended = pools.mixed().spawn(async { panic!("no socket") }).unwrap().wait();
    let ended: Result<(), _> = ended;
    assert_eq!(
        ended.unwrap_err().to_string(),
        "the mixed task panicked: no socket"
    );
    let ended: Result<(), _> = pools.mixed().run_blocking(|| panic!("no file")).unwrap().wait();
    assert_eq!(ended.unwrap_err().to_string(), "the mixed task panicked: no file");
    assert_eq!(pools.mixed().snapshot().tasks, 0);
}

#[test]
fn blocking_calls_beyond_the_limit_queue_and_are_counted() {
    let pools = Pools::builder().mixed_threads(1).blocking_max(2).build().unwrap();
    let (gate, mixed) = (Gate::new(), pools.mixed());
    let call = || {
        let gate = gate.clone();
        mixed.run_blocking(move || gate.pass()).unwrap()
    };
    let first: Vec<_> = (0..2).map(|_| call()).collect();
    gate.wait_for(2);
    let more: Vec<_> = (0..3).map(|_| call()).collect();
    let snapshot = mixed.snapshot();
    assert_eq!((snapshot.blocking_running, snapshot.blocking_waiting), (2, 3));
    assert_eq!((snapshot.blocking_in_all, snapshot.blocking_queued), (5, 3));
    let text = snapshot.to_string();
    assert!(
        text.contains("2 of 2 blocking calls run, 3 wait (5 in all, 3 had to queue)"),
        "{text}"
    );
    gate.open();
    for task in first.into_iter().chain(more) {
        task.wait().unwrap();
    }
    let snapshot = mixed.snapshot();
    assert_eq!((snapshot.blocking_running, snapshot.blocking_waiting), (0, 0));
}

#[test]
fn a_blocking_call_that_is_aborted_before_it_starts_never_starts() {
    let pools = Pools::builder().mixed_threads(1).blocking_max(1).build().unwrap();
    let (gate, mixed) = (Gate::new(), pools.mixed());
    let at_gate = gate.clone();
    let holds = mixed.run_blocking(move || at_gate.pass()).unwrap();
    gate.wait_for(1);
    let waits = mixed.run_blocking(|| panic!("it never ran")).unwrap();
    waits.abort();
    gate.open();
    let ended: Result<(), _> = waits.wait();
    assert!(matches!(ended, Err(MixedError::Cancelled)));
    holds.wait().unwrap();
}

#[test]
fn a_task_whose_handle_is_dropped_goes_on() {
    let pools = pools(1);
    let (send, ran) = mpsc::channel();
    drop(pools.mixed().spawn(async move { send.send(1).unwrap() }).unwrap());
    assert_eq!(ran.recv(), Ok(1));
}

#[test]
fn calls_that_block_are_refused_in_async_code_and_allowed_in_blocking_calls() {
    let pools = pools(1);
    let inner = pools.clone();
    let refused = pools.mixed().spawn(async move {
        let waits = inner.mixed().spawn(async {}).unwrap();
        (inner.mixed().block_on(async {}), waits.wait())
    });
    for ended in <[_; 2]>::from(refused.unwrap().wait().unwrap()) {
        assert!(matches!(ended, Err(MixedError::InAsync { .. })), "{ended:?}");
    }
    let inner = pools.clone();
    let allowed = pools.mixed().run_blocking(move || {
        let waits = inner.mixed().spawn(async { 1 }).unwrap();
        (
            inner.mixed().block_on(async { 2 }).unwrap(),
            waits.wait().unwrap(),
        )
    });
    assert_eq!(allowed.unwrap().wait().unwrap(), (2, 1));
}
