//! The ways in which an executor ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pipeline_exec::{Job, JobErrorKind, PipelineExecutor, Stage, StepCx, StepError, SubmitError, step};

use crate::support::{Counting, Gate, hold_workers};

#[test]
fn drain_finishes_everything_that_was_let_in() {
    for threads in [1, 2, 8] {
        let executor = PipelineExecutor::new(threads).unwrap();
        let stages: Vec<_> = (0..50)
            .map(|n| (Counting::new(n % 7), Counting::new(n % 3)))
            .collect();
        let tickets: Vec<_> = stages
            .iter()
            .map(|(one, two)| {
                executor
                    .submit(Job::builder("t").stage(one.clone()).stage(two.clone()).build())
                    .unwrap()
            })
            .collect();
        executor.drain();
        for ticket in tickets {
            ticket.wait().unwrap();
        }
        for (one, two) in stages {
            one.assert_each_ran_once();
            two.assert_each_ran_once();
        }
    }
}

#[test]
fn drain_lets_running_jobs_go_on_to_their_next_stages_on_all_threads() {
    for _ in 0..20 {
        let executor = PipelineExecutor::new(2).unwrap();
        let gate = Gate::new();
        let stages = [Counting::new(50), Counting::new(50)];
        let job = Job::builder("t")
            .stage(Arc::new(Waits(gate.clone())))
            .stage(stages[0].clone())
            .stage(stages[1].clone());
        let ticket = executor.submit(job.build()).unwrap();
        gate.wait_for(1);
        let handle = executor.handle();
        let drained = thread::spawn(move || executor.drain());
        while let Ok(late) = handle.submit(Job::builder("late").build()) {
            drop(late);
            thread::yield_now();
        }
        gate.open();
        ticket.wait().unwrap();
        drained.join().unwrap();
        stages.iter().for_each(|stage| stage.assert_each_ran_once());
    }
}

struct Waits(Arc<Gate>);

impl Stage for Waits {
    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.0.pass();
        Ok(())
    }
}

#[test]
fn an_executor_without_jobs_ends_at_once_in_every_way() {
    for threads in [1, 2, 8] {
        PipelineExecutor::new(threads).unwrap().drain();
        assert!(PipelineExecutor::new(threads).unwrap().shutdown().is_empty());
        drop(PipelineExecutor::new(threads).unwrap());
    }
}

#[test]
fn shutdown_hands_back_what_never_started_in_the_order_of_submission() {
    let executor = PipelineExecutor::new(2).unwrap();
    let gate = Gate::new();
    let running = executor
        .submit(Job::from_steps(
            "running",
            (0..10).map(|_| gated(&gate)).collect(),
        ))
        .unwrap();
    gate.wait_for(2);
    let stages: Vec<_> = (0..3).map(|_| Counting::new(4)).collect();
    let mut ids = Vec::new();
    let waiting: Vec<_> = stages
        .iter()
        .zip([5, 9, 7])
        .map(|(stage, cost)| {
            let job = Job::builder("waiting").stage(stage.clone()).cost(cost).build();
            ids.push(job.id);
            executor.submit(job).unwrap()
        })
        .collect();
    let handle = executor.handle();
    let stopper = thread::spawn(move || executor.shutdown());
    for ticket in waiting {
        assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::HandedBack);
    }
    assert!(matches!(
        handle.submit(Job::builder("late").build()),
        Err(SubmitError::Closed(_))
    ));
    gate.open();
    let jobs = stopper.join().unwrap();
    assert_eq!(running.wait().unwrap_err().kind, JobErrorKind::Cancelled);
    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), ids);
    assert_eq!(
        jobs.iter().map(|job| job.cost()).collect::<Vec<_>>(),
        [Some(5), Some(9), Some(7)]
    );
    assert!(stages.iter().all(|stage| stage.ran() == 0));
    let executor = PipelineExecutor::new(2).unwrap();
    for job in jobs {
        executor.submit(job).unwrap().wait().unwrap();
    }
    stages.iter().for_each(|stage| stage.assert_each_ran_once());
}

#[test]
fn dropping_the_executor_with_running_and_queued_jobs_fires_every_ticket() {
    for threads in [1, 2, 8] {
        let executor = PipelineExecutor::new(threads).unwrap();
        let gate = Gate::new();
        let job = Job::from_steps("running", (0..20).map(|_| gated(&gate)).collect());
        let running = executor.submit(job).unwrap();
        gate.wait_for(1);
        let queued: Vec<_> = (0..20)
            .map(|n| {
                executor
                    .submit(Job::builder("q").stage(Counting::new(n)).build())
                    .unwrap()
            })
            .collect();
        let dropper = thread::spawn(move || drop(executor));
        gate.open();
        if let Err(error) = running.wait() {
            assert_eq!(error.kind, JobErrorKind::Cancelled);
        }
        for ticket in queued {
            if let Err(error) = ticket.wait() {
                assert!(
                    matches!(error.kind, JobErrorKind::HandedBack | JobErrorKind::Cancelled),
                    "{error}"
                );
            }
        }
        dropper.join().unwrap();
    }
}

#[test]
fn submissions_that_race_with_the_end_are_taken_or_handed_back() {
    for round in 0..100 {
        let executor = PipelineExecutor::new(2).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let (handle, over) = (executor.handle(), over.clone());
                thread::spawn(move || {
                    let mut tickets = Vec::new();
                    let refused = loop {
                        match handle.submit(
                            Job::builder("t")
                                .stage(Counting::new(2))
                                .stage(Counting::new(1))
                                .build(),
                        ) {
                            Ok(ticket) => tickets.push(ticket),
                            Err(SubmitError::Closed(job)) => break job,
                            Err(SubmitError::Full(_)) => thread::yield_now(),
                        }
                    };
                    assert_eq!(refused.table_name, "t");
                    assert!(over.load(Ordering::Acquire), "it was closed before the end began");
                    tickets
                })
            })
            .collect();
        thread::yield_now();
        over.store(true, Ordering::Release);
        let mut handed_back = 0;
        match round % 3 {
            0 => handed_back = executor.shutdown().len(),
            1 => executor.drain(),
            _ => drop(executor),
        }
        let kinds: Vec<_> = submitters
            .into_iter()
            .flat_map(|submitter| submitter.join().unwrap())
            .map(|ticket| ticket.wait().map_err(|error| error.kind))
            .collect();
        let back = kinds
            .iter()
            .filter(|kind| **kind == Err(JobErrorKind::HandedBack))
            .count();
        match round % 3 {
            0 => assert_eq!(back, handed_back),
            1 => assert!(kinds.iter().all(Result::is_ok), "drain finishes what was let in"),
            _ => {}
        }
    }
}

#[test]
fn an_executor_dropped_by_its_own_step_ends() {
    let executor = Arc::new(PipelineExecutor::new(2).unwrap());
    let gate = Gate::new();
    let (inside, passed) = (std::sync::Mutex::new(Some(executor.clone())), gate.clone());
    let last = step(move |_cx| {
        passed.pass();
        drop(inside.lock().unwrap().take());
        Ok(())
    });
    let ticket = executor.submit(Job::from_steps("t", vec![last])).unwrap();
    drop(executor);
    gate.open();
    assert_eq!(ticket.wait().unwrap().slots, 1);
}

#[test]
fn drain_and_wait_in_a_step_of_the_same_executor_panic_instead_of_hanging() {
    let executor = Arc::new(PipelineExecutor::new(1).unwrap());
    let handle = executor.handle();
    let waits = step(move |_cx| {
        let ticket = handle.submit(Job::from_steps("inner", vec![step(|_| Ok(()))]))?;
        ticket.wait()?;
        Ok(())
    });
    let error = executor
        .submit(Job::from_steps("outer", vec![waits]))
        .unwrap()
        .wait()
        .unwrap_err();
    assert_eq!(error.kind, JobErrorKind::Panicked);
    assert!(error.to_string().contains("JobTicket::wait"), "{error}");
    let gate = hold_workers(&executor, 1);
    gate.open();
}

fn gated(gate: &Arc<Gate>) -> Box<dyn pipeline_exec::PipelineStep> {
    let gate = gate.clone();
    step(move |_cx| {
        gate.pass();
        Ok(())
    })
}
