//! Tickets and controls: how a job is awaited, watched and shared.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pipeline_exec::{
    Job, JobErrorKind, JobStatus, JobTicket, PipelineExecutor, Stage, StepCx, StepError, step,
};

use crate::support::{Counting, Gate, block_on};

#[test]
fn a_ticket_is_awaited_from_async_code() {
    let executor = PipelineExecutor::new(2).unwrap();
    let total = block_on(async {
        let mut total = 0;
        for slots in [3, 0, 40] {
            let ticket = executor
                .submit(Job::builder("t").stage(Counting::new(slots)).build())
                .unwrap();
            total += ticket.await.unwrap().slots;
        }
        let failing = executor
            .submit(Job::from_steps("t", vec![step(|_| Err("no".into()))]))
            .unwrap();
        assert_eq!(failing.await.unwrap_err().kind, JobErrorKind::Failed);
        total
    });
    assert_eq!(total, 43);
}

fn held(executor: &PipelineExecutor) -> (Arc<Gate>, JobTicket) {
    let gate = Gate::new();
    let passed = gate.clone();
    let pass = step(move |_| {
        passed.pass();
        Ok(())
    });
    let ticket = executor.submit(Job::from_steps("t", vec![pass])).unwrap();
    (gate, ticket)
}

#[test]
fn a_ticket_wakes_the_task_that_polled_it_last() {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    struct CountWakes(AtomicUsize);
    impl Wake for CountWakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let executor = PipelineExecutor::new(1).unwrap();
    let (gate, ticket) = held(&executor);
    let (first, second) = (
        Arc::new(CountWakes(AtomicUsize::new(0))),
        Arc::new(CountWakes(AtomicUsize::new(0))),
    );
    let mut ticket = pin!(ticket);
    for waker in [&first, &second] {
        let waker = Waker::from(waker.clone());
        assert!(
            ticket
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    gate.open();
    executor.drain();
    assert_eq!(
        (first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)),
        (0, 1)
    );
    let Poll::Ready(end) = ticket.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it was woken")
    };
    assert_eq!(end.unwrap().slots, 1);
}

#[test]
fn a_waker_that_panics_stops_no_worker() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Wake, Waker};

    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("woken");
        }
    }
    let executor = PipelineExecutor::new(1).unwrap();
    let (gate, ticket) = held(&executor);
    let mut ticket = pin!(ticket);
    let waker = Waker::from(Arc::new(Panics));
    assert!(
        ticket
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    gate.open();
    executor
        .submit(Job::builder("t").stage(Counting::new(9)).build())
        .unwrap()
        .wait()
        .unwrap();
}

#[test]
fn progress_only_grows_and_ends_complete() {
    let executor = PipelineExecutor::new(2).unwrap();
    let stages = [Counting::new(400), Counting::new(0), Counting::new(300)];
    let mut job = Job::builder("t");
    for stage in &stages {
        job = job.stage(stage.clone());
    }
    let ticket = executor.submit(job.build()).unwrap();
    let control = ticket.control();
    let mut seen = vec![(0, 0)];
    while !matches!(control.status(), JobStatus::Completed | JobStatus::Ended(_)) {
        // Only changes are kept: a job that never ends must not fill the memory.
        let progress = control.progress();
        if seen.last() != Some(&progress) {
            seen.push(progress);
        }
    }
    seen.push(control.progress());
    assert!(seen.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{seen:?}");
    assert!(seen.iter().all(|(done, total)| done <= total), "{seen:?}");
    assert_eq!(seen.last(), Some(&(700, 700)));
    ticket.wait().unwrap();
}

struct Gated {
    name: &'static str,
    slots: usize,
    gate: Arc<Gate>,
}

impl Stage for Gated {
    fn name(&self) -> &str {
        self.name
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        if slot + 1 == self.slots {
            self.gate.pass();
        }
        Ok(())
    }
}

#[test]
fn each_stage_tells_how_far_it_is_and_those_that_wait_know_no_slots_yet() {
    let executor = PipelineExecutor::new(1).unwrap();
    let stages = [("read", 3), ("sort", 2)].map(|(name, slots)| {
        Arc::new(Gated {
            name,
            slots,
            gate: Gate::new(),
        })
    });
    let [read, sort] = stages.clone();
    let ticket = executor
        .submit(Job::builder("t").stage(read).stage(sort).build())
        .unwrap();
    let control = ticket.control();
    let told = || {
        let stages = control.stages();
        let told = stages.iter().map(|stage| {
            let slots = stage.slots.map_or("?".to_owned(), |slots| slots.to_string());
            let running = if stage.is_running() { " runs" } else { "" };
            format!("{} {} of {slots}{running}", stage.name, stage.done)
        });
        told.collect::<Vec<_>>().join(", ")
    };
    stages[0].gate.wait_for(1);
    assert_eq!(told(), "read 2 of 3 runs, sort 0 of ?");
    stages[0].gate.open();
    stages[1].gate.wait_for(1);
    assert_eq!(told(), "read 3 of 3, sort 1 of 2 runs");
    stages[1].gate.open();
    ticket.wait().unwrap();
    executor.drain();
    assert_eq!(control.stages(), []);
}

#[test]
fn a_control_does_not_keep_the_users_data() {
    let executor = PipelineExecutor::new(1).unwrap();
    let stage = Counting::new(3);
    let ticket = executor
        .submit(Job::builder("t").stage(stage.clone()).build())
        .unwrap();
    let control = ticket.control();
    ticket.wait().unwrap();
    executor.drain();
    assert_eq!(Arc::strong_count(&stage), 1);
    assert_eq!(control.progress(), (3, 3));
}

#[test]
fn a_report_says_how_long_the_job_waited_and_ran() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = Gate::new();
    let passed = gate.clone();
    let first = step(move |_| {
        passed.pass();
        Ok(())
    });
    let first = executor.submit(Job::from_steps("t", vec![first])).unwrap();
    gate.wait_for(1);
    let second = executor
        .submit(Job::from_steps("t", vec![step(|_| Ok(()))]))
        .unwrap();
    let both_submitted = Instant::now();
    thread::sleep(Duration::from_millis(2));
    let held = both_submitted.elapsed();
    gate.open();
    let (first, second) = (first.wait().unwrap(), second.wait().unwrap());
    assert!(first.run >= held, "it was running all that time");
    assert!(second.wait >= held, "it was waiting all that time");
    assert_eq!(second.slots_per_worker, [1, 0]);
    let snapshot = executor.snapshot();
    let times = snapshot.times_of_all();
    assert_eq!((times.wait.samples(), times.run.samples()), (2, 2));
    assert!(times.run.max() >= held && times.wait.max() >= held, "{snapshot}");
    assert_eq!(snapshot.total().slots(), 2);
}

#[test]
fn a_ticket_and_its_control_say_which_job_is_theirs() {
    let executor = PipelineExecutor::builder().threads(3).build().unwrap();
    assert_eq!((executor.workers(), executor.handle().workers()), (3, 3));
    let job = Job::builder("t").stage(Counting::new(1)).build();
    let id = job.id;
    let ticket = executor.submit(job).unwrap();
    assert_eq!((ticket.id(), ticket.control().id()), (id, id));
    let control = ticket.control();
    let report = ticket.wait().unwrap();
    assert_eq!((report.id, control.id()), (id, id));
    assert_eq!(report.slots_per_worker.len(), executor.workers() + 1);
}
