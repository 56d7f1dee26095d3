//! Closing, aborting and panicking: what still runs, what is returned, and which party ends it.

use executor_core::ports::Native;
use executor_core::{
    ExecTraceEvent, ExecutorConfig, NoopTrace, OnPanic, Rejected, TieredIdle, WorkerCtxLike, WorkerExit,
    WorkerMetricsLocal, WorkerState, WorkerStepResult, run_worker,
};

use crate::bench_top::{Fragile, PlannedPanic, Ports, Top, Worker};

#[test]
fn after_the_close_what_is_there_and_what_it_spawns_still_runs() {
    let top = Top::of(1);
    top.spawn(2);
    top.scheduler.close(&top.ports(0));
    let mut worker = top.worker(0);
    let exit = run_worker(
        &mut worker,
        &|task, cx: &mut Worker| {
            cx.scratch.push(task);
            if task > 0 {
                cx.state.spawn_local(task - 1);
                cx.state.spawn_global(0);
            }
        },
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Done);
    worker.scratch.sort_unstable();
    assert_eq!(worker.scratch, [0, 0, 0, 1, 2]);
}

#[test]
fn a_closed_gate_gives_the_task_back() {
    let top = Top::of(1);
    let ports = top.ports(0);
    top.scheduler.close(&ports);
    assert_eq!(top.scheduler.spawn_external(&ports, 7), Err(Rejected(7)));
    assert_eq!(
        top.scheduler.spawn_external_batch(&ports, vec![8, 9]),
        Err(Rejected(vec![8, 9]))
    );
    assert!(top.injector.borrow().is_empty());
}

#[test]
fn an_idle_executor_ends_at_the_close() {
    let top = Top::of(1);
    top.scheduler.close(&top.ports(0));
    assert_eq!(top.worker(0).step(), WorkerStepResult::ExitDone);
}

#[test]
fn an_aborting_worker_takes_everything_and_runs_nothing() {
    let top = Top::of(2);
    top.spawn(1);
    top.place(0, 2);
    top.place(1, 3);
    top.scheduler.abort(&top.ports(0));
    let mut worker = top.worker(0);
    let exit = run_worker(
        &mut worker,
        &|_, _: &mut Worker| panic!("ran"),
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Done);
    let mut back = worker.state.take_returned();
    back.sort_unstable();
    assert_eq!(back, [1, 2, 3]);
    assert_eq!((worker.metrics.returned, worker.metrics.executed()), (3, 0));
}

#[test]
fn a_panic_closes_the_gate_hands_back_the_rest_and_leaves_no_count() {
    let top = Top::of(1);
    top.spawn(1);
    top.spawn(2);
    let mut worker = top.worker(0);
    let exit = run_worker(
        &mut worker,
        &|task, cx: &mut Worker| {
            cx.state.spawn_local(10 + task);
            PlannedPanic::throw();
        },
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Panicked);
    assert!(!top.scheduler.state().is_accepting(&top.ports(0)));
    assert_eq!(top.in_flight(), 0);
    let mut back = worker.state.take_returned();
    back.sort_unstable();
    assert_eq!(
        back,
        [2, 11],
        "the child of the task that panicked, and the task that nobody ran"
    );
    assert_eq!((top.panics.get(), worker.metrics.panicked), (1, 1));
}

fn isolating(workers: usize) -> std::rc::Rc<Top> {
    Top::new(
        ExecutorConfig::new(workers)
            .on_panic(OnPanic::Isolate)
            .tune(|tuning| tuning.spin_iters = 0),
    )
}

#[test]
fn an_isolated_panic_settles_its_task_and_the_worker_goes_on() {
    let top = isolating(1);
    top.spawn(0);
    top.spawn(1);
    top.spawn(2);
    top.scheduler.close(&top.ports(0));
    let mut worker = top.worker(0);
    let exit = run_worker(
        &mut worker,
        &|task, cx: &mut Worker| {
            cx.scratch.push(task);
            if task == 1 {
                cx.state.spawn_local(7);
                PlannedPanic::throw();
            }
        },
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Done);
    assert_eq!(worker.isolated, 1);
    worker.scratch.sort_unstable();
    assert_eq!(
        worker.scratch,
        [2, 7],
        "the handler has cleared what was there before"
    );
    assert_eq!((worker.metrics.executed(), worker.metrics.panicked), (4, 1));
    assert_eq!(top.scheduler.state().in_flight(&Native), 0);
    assert_eq!(top.panics.get(), 0, "nothing is left to be thrown again");
}

#[test]
fn a_handler_that_panics_stops_the_executor() {
    let top = isolating(1);
    top.spawn(0);
    top.spawn(1);
    let mut worker = top.worker(0);
    worker.handler_panics = true;
    let exit = run_worker(
        &mut worker,
        &|_, _: &mut Worker| PlannedPanic::throw(),
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Panicked);
    assert_eq!(worker.state.take_returned(), [1]);
    assert_eq!((worker.isolated, top.panics.get()), (1, 1));
    assert_eq!(worker.metrics.panicked, 1, "the handler's is not a task's");
}

#[test]
fn a_panic_while_aborting_is_not_isolated() {
    let top = isolating(1);
    top.spawn(0);
    top.spawn(1);
    let mut worker = top.worker(0);
    let aborts = top.clone();
    let exit = run_worker(
        &mut worker,
        &|_, _: &mut Worker| {
            aborts.scheduler.abort(&aborts.ports(0));
            PlannedPanic::throw();
        },
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Panicked);
    assert_eq!((worker.isolated, top.panics.get()), (0, 1));
    assert_eq!(worker.state.take_returned(), [1]);
}

#[test]
fn the_panic_of_a_hook_is_not_isolated() {
    let top = isolating(1);
    top.spawn(0);
    let mut worker = top.worker(0);
    let exit = run_worker(
        &mut worker,
        &|_, _: &mut Worker| panic!("ran"),
        &mut TieredIdle::new(0, None),
        &mut Fragile(|event| matches!(event, ExecTraceEvent::TaskStart { .. })),
    );
    assert_eq!(exit, WorkerExit::Panicked);
    assert_eq!((worker.isolated, top.panics.get()), (0, 1));
}

struct Silent(Worker);

impl WorkerCtxLike<u32, Vec<u32>> for Silent {
    type Ports = Ports;

    fn state(&mut self) -> &mut WorkerState<u32, Ports> {
        &mut self.0.state
    }

    fn metrics(&mut self) -> &mut WorkerMetricsLocal {
        &mut self.0.metrics
    }
}

#[test]
fn who_says_nothing_about_panics_cannot_isolate_them() {
    let top = isolating(1);
    top.spawn(0);
    top.spawn(1);
    let mut worker = Silent(top.worker(0));
    let exit = run_worker(
        &mut worker,
        &|_, _: &mut Silent| PlannedPanic::throw(),
        &mut TieredIdle::new(0, None),
        &mut NoopTrace,
    );
    assert_eq!(exit, WorkerExit::Panicked);
    assert_eq!(worker.0.state.take_returned(), [1]);
    assert_eq!(top.panics.get(), 1);
}

#[test]
fn a_task_is_told_which_worker_it_runs_on() {
    let top = Top::of(4);
    top.place(3, 1);
    top.worker(3)
        .step_with(&|_, cx| assert_eq!(cx.state.worker_id(), 3));
}
