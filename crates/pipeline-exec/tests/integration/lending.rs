//! Threads that help the job they wait for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pipeline_exec::{Job, JobErrorKind, JobStatus, PipelineExecutor, Role, Stage, StepCx, StepError, step};

use crate::support::{Counting, Gate, hold_workers};

#[derive(Default)]
struct Noting {
    slots: usize,
    ran: Mutex<Vec<(thread::ThreadId, usize, Role)>>,
}

impl Noting {
    fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self {
            slots,
            ran: Mutex::default(),
        })
    }

    fn ran(&self) -> Vec<(thread::ThreadId, usize, Role)> {
        self.ran.lock().unwrap().clone()
    }
}

impl Stage for Noting {
    fn slots(&self) -> usize {
        self.slots
    }

    fn run(&self, _slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        let mut ran = self.ran.lock().unwrap();
        ran.push((thread::current().id(), cx.worker_id(), cx.role()));
        Ok(())
    }
}

#[test]
fn a_lent_thread_alone_completes_its_job_while_all_workers_are_busy_with_another() {
    for threads in [1, 2, 4] {
        let executor = PipelineExecutor::new(threads).unwrap();
        let gate = hold_workers(&executor, threads);
        let other = Counting::new(3);
        let other_ticket = executor
            .submit(Job::builder("other").stage(other.clone()).cost(99).build())
            .unwrap();
        let stages = [Noting::new(20), Noting::new(0), Noting::new(5)];
        let mut job = Job::builder("mine");
        for stage in &stages {
            job = job.stage(stage.clone());
        }
        let counted = stages.clone();
        let job = job.output(move |_| Ok(counted.iter().map(|stage| stage.ran().len()).sum::<usize>()));
        let ticket = executor.submit(job.build()).unwrap();
        executor.run_until(&ticket);
        assert_eq!(ticket.status(), JobStatus::Completed);

        let me = (thread::current().id(), threads, Role::Lent);
        for stage in &stages {
            assert_eq!(
                stage.ran(),
                vec![me; stage.slots],
                "by this thread, under its own number"
            );
        }
        assert_eq!(other.ran(), 0, "nothing else was run by it");
        let report = ticket.wait().unwrap();
        assert_eq!((report.output, report.slots), (25, 25));
        let mut expected = vec![0; threads];
        expected.push(25);
        assert_eq!(report.slots_per_worker, expected);
        assert_eq!(executor.snapshot().total().slots_lent, 25);
        gate.open();
        other_ticket.wait().unwrap();
        other.assert_each_ran_once();
    }
}

#[test]
fn a_lent_thread_and_the_workers_run_each_slot_once_and_the_result_is_the_same() {
    for threads in [1, 2, 3] {
        let executor = PipelineExecutor::builder()
            .threads(threads)
            .quantum(Duration::ZERO)
            .build()
            .unwrap();
        for workers_max in [1, 2, usize::MAX] {
            for _ in 0..50 {
                let stages = [7, 1, 0, 12].map(Counting::new);
                let mut job = Job::builder("t").max_workers(workers_max);
                for stage in &stages {
                    job = job.stage(stage.clone());
                }
                let ran = stages.clone();
                let job = job.output(move |_| Ok(ran.iter().map(|stage| stage.ran()).sum::<usize>()));
                let report = executor.submit(job.build()).unwrap().run().unwrap();
                assert_eq!((report.output, report.slots), (20, 20));
                assert_eq!(report.slots_per_worker.len(), threads + 1);
                stages.iter().for_each(|stage| stage.assert_each_ran_once());
            }
        }
    }
}

#[test]
fn a_lent_thread_that_found_nothing_is_woken_by_the_next_stage() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (gate, second) = (Gate::new(), Noting::new(40));
    let passed = gate.clone();
    struct Held(Arc<Gate>);
    impl Stage for Held {
        fn slots(&self) -> usize {
            1
        }
        fn run(&self, _slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
            assert_ne!(cx.role(), Role::Lent, "a worker was first");
            self.0.pass();
            Ok(())
        }
    }
    let job = Job::builder("t")
        .stage(Arc::new(Held(passed)))
        .stage(second.clone());
    let ticket = executor.submit(job.build()).unwrap();
    gate.wait_for(1);
    thread::scope(|scope| {
        let lent = scope.spawn(|| executor.run_until(&ticket));
        gate.open();
        lent.join().unwrap();
    });
    assert_eq!(ticket.status(), JobStatus::Completed);
    assert_eq!(second.ran().len(), 40);
}

#[test]
fn of_two_threads_that_are_lent_to_one_job_one_runs_slots_and_both_return() {
    let executor = PipelineExecutor::new(1).unwrap();
    let held = hold_workers(&executor, 1);
    let stage = Noting::new(200);
    let ticket = executor
        .submit(Job::builder("t").stage(stage.clone()).build())
        .unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| executor.run_until(&ticket));
        }
    });
    let ran = stage.ran();
    assert_eq!(ran.len(), 200);
    assert!(ran.iter().all(|by| *by == ran[0]), "one thread for the whole job");
    held.open();
}

#[test]
fn lending_ends_with_a_cancel_a_failure_and_a_deadline() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = hold_workers(&executor, 1);
    let lend = |job: Job| executor.submit(job).unwrap().run().unwrap_err().kind;

    let control = Arc::new(Mutex::new(None::<pipeline_exec::JobControl>));
    let canceller = Arc::clone(&control);
    let cancels = step(move |_| {
        canceller.lock().unwrap().as_ref().unwrap().cancel();
        Ok(())
    });
    let never = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&never);
    let counted = step(move |_| {
        counts.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let ticket = executor
        .submit(Job::from_steps("t", vec![cancels, counted]))
        .unwrap();
    *control.lock().unwrap() = Some(ticket.control());
    assert_eq!(ticket.run().unwrap_err().kind, JobErrorKind::Cancelled);
    assert_eq!(never.load(Ordering::Relaxed), 0);

    let failing = Job::from_steps("t", vec![step(|_| Err("no".into())), step(|_| Ok(()))]);
    assert_eq!(lend(failing), JobErrorKind::Failed);
    let panicking = Job::from_steps("t", vec![step(|_| panic!("no")), step(|_| Ok(()))]);
    assert_eq!(lend(panicking), JobErrorKind::Panicked);
    let late = Job::builder("t").stage(Counting::new(3)).deadline(Duration::ZERO);
    assert_eq!(lend(late.build()), JobErrorKind::DeadlineExceeded);
    gate.open();
}

#[test]
fn lending_ends_with_a_shutdown_also_asleep() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = Gate::new();
    let passed = gate.clone();
    let pass = step(move |_| {
        passed.pass();
        Ok(())
    });
    let ticket = executor.submit(Job::from_steps("t", vec![pass])).unwrap();
    let handle = executor.handle();
    gate.wait_for(1);
    thread::scope(|scope| {
        let lent = scope.spawn(|| handle.run_until(&ticket));
        let stopper = scope.spawn(|| executor.shutdown().len());
        gate.open();
        assert_eq!(stopper.join().unwrap(), 0);
        lent.join().unwrap();
    });
    assert_eq!(ticket.status(), JobStatus::Completed);

    let executor = PipelineExecutor::new(1).unwrap();
    let held = hold_workers(&executor, 1);
    let gate = Gate::new();
    let steps = (0..2).map(|_| {
        let passed = gate.clone();
        step(move |_| {
            passed.pass();
            Ok(())
        })
    });
    let ticket = executor.submit(Job::from_steps("t", steps.collect())).unwrap();
    let lent = thread::spawn(move || ticket.run());
    gate.wait_for(1);
    held.open();
    let stopper = thread::spawn(move || executor.shutdown().len());
    while !stopper.is_finished() && !gate.has_come(2) {
        thread::yield_now();
    }
    gate.open();
    stopper.join().unwrap();
    match lent.join().unwrap() {
        Ok(report) => assert_eq!(report.slots, 2),
        Err(error) => assert_eq!(error.kind, JobErrorKind::Cancelled),
    }
}

#[test]
fn a_job_that_has_ended_needs_no_thread() {
    let executor = PipelineExecutor::new(1).unwrap();
    let ticket = executor
        .submit(Job::from_steps("t", vec![step(|_| Ok(()))]))
        .unwrap();
    let handle = executor.handle();
    executor.drain();
    handle.run_until(&ticket);
    assert_eq!(ticket.run().unwrap().slots, 1);
}

fn panicked(executor: &PipelineExecutor, lent: bool, body: impl Fn() + Send + Sync + 'static) -> String {
    let job = Job::from_steps(
        "t",
        vec![step(move |_| {
            body();
            Ok(())
        })],
    );
    let ticket = executor.submit(job).unwrap();
    let end = if lent { ticket.run() } else { ticket.wait() };
    let error = end.unwrap_err();
    assert_eq!(error.kind, JobErrorKind::Panicked);
    error.to_string()
}

#[test]
fn lending_in_a_step_of_the_same_executor_panics_like_waiting_there() {
    let executor = PipelineExecutor::new(1).unwrap();
    let handle = executor.handle();
    let plain = || Job::from_steps("t", vec![step(|_| Ok(()))]);
    let inside = handle.clone();
    let said = panicked(&executor, false, move || {
        let ticket = inside.submit(plain()).unwrap();
        inside.run_until(&ticket);
    });
    assert!(
        said.contains("`run_until` was called in a step of the same executor"),
        "{said}"
    );

    let gate = hold_workers(&executor, 1);
    let said = panicked(&executor, true, move || {
        let _ = handle.submit(plain()).unwrap().wait();
    });
    assert!(said.contains("`JobTicket::wait` was called in a step"), "{said}");
    gate.open();
    executor.submit(plain()).unwrap().wait().unwrap();
}

#[test]
#[should_panic(expected = "the ticket of another executor's job")]
fn lending_to_another_executors_job_panics() {
    let [one, other] = [1, 1].map(|threads| PipelineExecutor::new(threads).unwrap());
    let ticket = one.submit(Job::from_steps("t", vec![step(|_| Ok(()))])).unwrap();
    other.run_until(&ticket);
}

#[test]
fn a_worker_of_one_executor_may_be_lent_to_another_ones_job() {
    let [one, other] = [1, 1].map(|threads| PipelineExecutor::new(threads).unwrap());
    let gate = hold_workers(&other, 1);
    let handle = other.handle();
    let lends = step(move |_| {
        let job = Job::from_steps(
            "inner",
            vec![step(|cx| {
                assert_eq!(cx.role(), Role::Lent);
                Ok(())
            })],
        );
        handle.submit(job)?.run()?;
        Ok(())
    });
    one.submit(Job::from_steps("outer", vec![lends]))
        .unwrap()
        .wait()
        .unwrap();
    gate.open();
}
