//! The bench top itself: an endless or failing policy is a failure of its test.

use executor_core::{NoopTrace, TieredIdle, run_worker};

use crate::bench_top::{Top, Worker};

fn work(runner: impl Fn(u32, &mut Worker)) {
    let top = Top::of(1);
    top.spawn(1);
    let exit = run_worker(
        &mut top.worker(0),
        &runner,
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    unreachable!("{exit:?}");
}

#[test]
#[should_panic(expected = "worker 0 does not come to an end")]
fn a_worker_that_is_never_done_is_a_failure() {
    work(|task, cx| cx.state.spawn_local(task));
}

#[test]
#[should_panic(expected = "worker 0 does not come to an end")]
fn a_probe_that_is_contended_for_ever_is_a_failure() {
    let top = Top::of(2);
    top.contention.set(u32::MAX);
    top.worker(0).step();
}

#[test]
#[should_panic(expected = "nobody planned this")]
fn a_panic_that_is_not_planned_is_no_tasks_panic() {
    work(|_, _| panic!("nobody planned this"));
}

#[test]
#[should_panic(expected = "worker 0 fell asleep with nobody to wake it")]
fn a_worker_that_would_sleep_for_ever_is_a_failure() {
    work(|_, _| ());
}
