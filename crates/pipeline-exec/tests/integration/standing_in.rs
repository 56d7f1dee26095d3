//! Spare threads: they take young work while every worker is in a long slot or turn.

use std::collections::HashSet;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use pipeline_exec::{
    Job, JobStatus, JobTicket, PipelineExecutor, Role, StepCx, StepError, Task, Terms, Turn, step,
};

fn executor(threads: usize, spares: usize) -> PipelineExecutor {
    PipelineExecutor::builder()
        .threads(threads)
        .spares(spares)
        .build()
        .unwrap()
}

/// Keeps every worker in a slot until what it gives is dropped.
fn hold(executor: &PipelineExecutor) -> (Vec<JobTicket>, Vec<Sender<()>>) {
    let held = (0..executor.workers()).map(|_| {
        let (open, gate) = channel();
        let gate = Mutex::new(gate);
        let waits = step(move |_cx| {
            // An error once the sender is dropped.
            gate.lock().unwrap().recv().ok();
            Ok(())
        });
        let ticket = executor.submit(Job::from_steps("held", vec![waits])).unwrap();
        while ticket.status() == JobStatus::Queued {
            std::thread::yield_now();
        }
        (ticket, open)
    });
    held.unzip()
}

#[test]
fn a_young_job_is_run_by_a_spare_thread_while_every_worker_is_in_a_slot_that_does_not_end() {
    for (threads, spares) in [(1, 1), (2, 1), (2, 2), (4, 3)] {
        let executor = executor(threads, spares);
        let (held, gates) = hold(&executor);
        for _ in 0..3 {
            let seen = Arc::new(Mutex::new(HashSet::new()));
            let steps = (0..10).map(|_| {
                let seen = Arc::clone(&seen);
                step(move |cx| {
                    seen.lock().unwrap().insert((cx.role(), cx.worker_id()));
                    Ok(())
                })
            });
            let report = executor
                .submit(Job::from_steps("young", steps.collect()))
                .unwrap()
                .wait()
                .unwrap();
            let seen = seen.lock().unwrap();
            assert!(
                seen.iter().all(|&(role, worker)| role == Role::Spare
                    && (threads + 1..=threads + spares).contains(&worker)),
                "{seen:?}"
            );
            assert_eq!(report.slots_per_worker.len(), threads + 1);
            assert_eq!(report.slots_per_worker.iter().sum::<usize>(), 10);
        }
        assert_eq!(executor.snapshot().others.slots_spare, 30);
        drop(gates);
        held.into_iter()
            .for_each(|ticket| assert_eq!(ticket.wait().unwrap().slots, 1));
    }
}

#[test]
fn a_second_spare_thread_stands_in_when_the_first_is_in_a_long_slot_itself() {
    let executor = executor(2, 2);
    let (held, gates) = hold(&executor);
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let long = step(move |cx| {
        assert_eq!(cx.role(), Role::Spare);
        gate.lock().unwrap().recv().ok();
        Ok(())
    });
    let long = executor
        .submit(Job::from_steps("young and long", vec![long]))
        .unwrap();
    while long.status() == JobStatus::Queued {
        std::thread::yield_now();
    }
    let young = Job::from_steps("young", vec![step(|_cx| Ok(()))]);
    executor.submit(young).unwrap().wait().unwrap();
    drop((open, gates));
    long.wait().unwrap();
    held.into_iter().for_each(|ticket| drop(ticket.wait().unwrap()));
}

/// Waits in its turn.
struct Held(std::sync::mpsc::Receiver<()>, Sender<()>);

impl Task for Held {
    fn turn(&mut self, _cx: &StepCx<'_>, _waker: &Waker) -> Result<Turn, StepError> {
        self.1.send(())?;
        self.0.recv().ok();
        Ok(Turn::Done)
    }
}

struct Count(usize);

impl Task for Count {
    fn turn(&mut self, cx: &StepCx<'_>, waker: &Waker) -> Result<Turn, StepError> {
        assert_eq!(cx.role(), Role::Spare);
        self.0 -= 1;
        waker.wake_by_ref();
        Ok(if self.0 == 0 { Turn::Done } else { Turn::Parked })
    }
}

#[test]
fn a_long_turn_is_stood_in_for_as_a_long_slot_is() {
    let executor = executor(1, 1);
    let (long, long_ticket) = executor.open("long", Terms::default()).unwrap();
    let (open, gate) = channel();
    let (began, begins) = channel();
    assert!(long.spawn(Box::new(Held(gate, began))).is_ok());
    drop(long);
    begins.recv().unwrap();
    let (young, ticket) = executor.open("young", Terms::default()).unwrap();
    assert!(young.spawn(Box::new(Count(100))).is_ok());
    drop(young);
    assert_eq!(ticket.wait().unwrap().slots, 100);
    drop(open);
    long_ticket.wait().unwrap();
}

#[test]
fn an_executor_ends_whatever_its_spare_threads_do() {
    for _ in 0..50 {
        let executor = executor(1, 1);
        let steps = (0..4).map(|_| step(|_cx| Ok(()))).collect();
        let ticket = executor.submit(Job::from_steps("few", steps)).unwrap();
        drop(executor);
        // It may have been cut short.
        drop(ticket.wait());
    }
    let executor = executor(2, 2);
    executor
        .submit(Job::from_steps("one", vec![step(|_cx| Ok(()))]))
        .unwrap()
        .wait()
        .unwrap();
    executor.drain();
}
