//! Cancel, deadline and dropped tickets, before, during and after a run.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use pipeline_exec::policy::{self, JobSpec, LookEnd, Terms};
use pipeline_exec::{Class, Job, JobErrorKind, JobStatus, PipelineExecutor, Stage, StepCx, StepError, step};

use crate::plain::{Does, Plain, PlainJob, spec};
use crate::support::{Counting, Gate, hold_workers};

#[test]
fn a_job_cancelled_before_it_starts_never_runs() {
    for threads in [1, 2] {
        let executor = PipelineExecutor::new(threads).unwrap();
        let gate = hold_workers(&executor, threads);
        let stage = Counting::new(10);
        let ticket = executor
            .submit(Job::builder("t").stage(stage.clone()).build())
            .unwrap();
        assert_eq!(ticket.status(), JobStatus::Queued);
        let control = ticket.control();
        control.cancel();
        assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
        assert_eq!(control.status(), JobStatus::Ended(JobErrorKind::Cancelled));
        control.cancel();
        gate.open();
        executor.drain();
        assert_eq!(stage.ran(), 0);
    }
}

#[test]
fn a_job_cancelled_while_it_runs_ends_with_the_slots_that_run() {
    let executor = PipelineExecutor::new(2).unwrap();
    let (gate, ran, saw) = (
        Gate::new(),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    let steps = (0..100).map(|_| {
        let (gate, ran, saw) = (gate.clone(), ran.clone(), saw.clone());
        step(move |cx| {
            ran.fetch_add(1, Ordering::Relaxed);
            gate.pass();
            saw.fetch_add(usize::from(cx.is_cancelled()), Ordering::Relaxed);
            Err("cancelled".into())
        })
    });
    let ticket = executor.submit(Job::from_steps("t", steps.collect())).unwrap();
    gate.wait_for(2);
    assert_eq!(ticket.status(), JobStatus::Running);
    ticket.control().cancel();
    gate.open();
    let error = ticket.wait().unwrap_err();
    assert_eq!((error.kind, error.slot), (JobErrorKind::Cancelled, None));
    assert_eq!((ran.load(Ordering::Relaxed), saw.load(Ordering::Relaxed)), (2, 2));
}

#[test]
fn a_job_cancelled_after_it_completed_stays_completed() {
    let executor = PipelineExecutor::new(2).unwrap();
    let ticket = executor
        .submit(Job::builder("t").stage(Counting::new(3)).build())
        .unwrap();
    let control = ticket.control();
    ticket.wait().unwrap();
    control.cancel();
    assert_eq!(control.status(), JobStatus::Completed);
    assert_eq!(control.progress(), (3, 3));
}

#[test]
fn cancels_at_any_moment_leave_no_ticket_without_an_end() {
    let executor = PipelineExecutor::new(4).unwrap();
    let mut kinds = [0_usize; 2];
    for round in 0..2_000_u32 {
        let stages = [Counting::new(2), Counting::new(0), Counting::new(3)];
        let mut job = Job::builder("t");
        for stage in &stages {
            job = job.stage(stage.clone());
        }
        let ticket = executor.submit(job.build()).unwrap();
        let control = ticket.control();
        std::thread::scope(|scope| {
            let canceller = scope.spawn(|| {
                for _ in 0..round % 200 {
                    std::hint::spin_loop();
                }
                control.cancel();
            });
            match ticket.wait() {
                Ok(report) => {
                    kinds[0] += 1;
                    assert_eq!(report.slots, 5);
                    stages.iter().for_each(|stage| stage.assert_each_ran_once());
                }
                Err(error) => {
                    kinds[1] += 1;
                    assert_eq!(error.kind, JobErrorKind::Cancelled, "{error}");
                }
            }
            canceller.join().unwrap();
        });
        let (done, total) = control.progress();
        assert_eq!(done, total);
    }
    assert_eq!(kinds.iter().sum::<usize>(), 2_000);
    assert_eq!(executor.snapshot().queue_depth, 0);
}

#[test]
fn a_dropped_ticket_lets_its_job_run_and_cancel_on_drop_does_not() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = hold_workers(&executor, 1);
    let (kept, cancelled) = (Counting::new(5), Counting::new(5));
    let ticket = executor
        .submit(Job::builder("kept").stage(kept.clone()).build())
        .unwrap();
    drop(ticket);
    let ticket = executor
        .submit(Job::builder("cancelled").stage(cancelled.clone()).build())
        .unwrap();
    drop(ticket.cancel_on_drop());
    gate.open();
    executor.drain();
    kept.assert_each_ran_once();
    assert_eq!(cancelled.ran(), 0);
}

#[test]
fn a_job_past_its_deadline_is_closed_when_a_worker_comes_by() {
    let executor = PipelineExecutor::new(2).unwrap();
    let stage = Counting::new(5);
    let job = Job::builder("late")
        .stage(stage.clone())
        .deadline(Duration::ZERO)
        .build();
    let error = executor.submit(job).unwrap().wait().unwrap_err();
    assert_eq!(error.kind, JobErrorKind::DeadlineExceeded);
    assert_eq!(stage.ran(), 0);
    let job = Job::builder("early")
        .stage(stage.clone())
        .deadline(Duration::MAX)
        .build();
    executor.submit(job).unwrap().wait().unwrap();
    stage.assert_each_ran_once();
}

#[test]
fn a_slot_that_asks_sees_that_the_deadline_has_passed() {
    let executor = PipelineExecutor::new(2).unwrap();
    let wait_for_it = step(|cx| {
        while !cx.is_cancelled() {
            std::thread::yield_now();
        }
        Err("told to stop".into())
    });
    let job = Job::builder("late")
        .stage(Arc::new(One(wait_for_it)))
        .deadline(Duration::from_millis(5))
        .build();
    let error = executor.submit(job).unwrap().wait().unwrap_err();
    assert_eq!(error.kind, JobErrorKind::DeadlineExceeded, "{error}");
}

#[test]
fn a_deadline_that_passes_inside_a_claim_ends_the_job_at_the_next_slot_boundary() {
    let plain = Plain::with_quantum(1, 0, Duration::from_millis(2)).under_test();
    let terms = Terms {
        deadline: Some(Duration::from_micros(10)),
        ..Terms::default()
    };
    let takes_a_microsecond = Does(1_001, |plain, _slot| plain.pass(Duration::from_micros(1)));
    let late = plain.submit_spec(JobSpec {
        terms: terms.boxed(),
        ..spec("late", vec![Arc::new(takes_a_microsecond)])
    });
    let late = late.expect("there is room");
    while plain.look(0) == LookEnd::Again {}
    assert_eq!(plain.ran.get(), 10, "{:?} slots were claimed", plain.widths);
    assert_eq!(
        *plain.widths.borrow(),
        [1, 500],
        "the deadline is inside the second claim"
    );
    let end = JobStatus::Ended(JobErrorKind::DeadlineExceeded);
    assert_eq!(plain.status(&late), end);
}

#[test]
fn a_deadline_and_a_wait_count_from_before_the_call_that_returns_the_first_slots() {
    struct Counts(Arc<AtomicU64>);
    impl Stage for Counts {
        fn slots(&self) -> usize {
            self.0.fetch_add(2_000_000, Ordering::Relaxed);
            1
        }
        fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
            Ok(())
        }
    }
    let late = JobStatus::Ended(JobErrorKind::DeadlineExceeded);
    for (deadline_ms, expected) in [(3, JobStatus::Completed), (2, late), (1, late)] {
        let clock = Arc::new(AtomicU64::new(0));
        let plain = Plain::new(1, 0);
        plain.follow(&clock);
        let terms = Terms {
            deadline: Some(Duration::from_millis(deadline_ms)),
            ..Terms::default()
        };
        let job = plain.submit_spec(JobSpec {
            terms: terms.boxed(),
            ..spec("t", vec![Arc::new(Counts(clock))])
        });
        let job = job.expect("there is room");
        plain.look(0);
        assert_eq!(plain.status(&job), expected, "{deadline_ms} ms");
        if let Ok(report) = job.state.poll(&plain, Waker::noop()).expect("it has ended") {
            assert_eq!(report.wait, Duration::from_millis(2));
        }
    }
}

struct One(Box<dyn pipeline_exec::PipelineStep>);

impl pipeline_exec::Stage for One {
    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, cx: &pipeline_exec::StepCx<'_>) -> Result<(), pipeline_exec::StepError> {
        self.0.execute(cx)
    }
}

#[test]
fn a_slot_of_a_job_that_goes_on_is_told_so_and_whether_its_quantum_is_over() {
    const MS: u64 = 1_000_000;
    struct Asks {
        clock: Arc<AtomicU64>,
        told: Mutex<Vec<(bool, bool)>>,
    }
    impl Stage for Asks {
        fn slots(&self) -> usize {
            1
        }
        fn run(&self, _slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
            for _ in 0..4 {
                self.told
                    .lock()
                    .unwrap()
                    .push((cx.should_yield(), cx.is_cancelled()));
                self.clock.fetch_add(MS, Ordering::Relaxed);
            }
            Ok(())
        }
    }
    for (deadline, late_after) in [(None, 4), (Some(Duration::from_millis(3)), 3)] {
        let clock = Arc::new(AtomicU64::new(5 * MS));
        let plain = Plain::with_quantum(2, 0, Duration::from_millis(2));
        plain.follow(&clock);
        let stage = Arc::new(Asks {
            clock,
            told: Mutex::default(),
        });
        let terms = Terms {
            deadline,
            ..Terms::default()
        };
        let job = JobSpec {
            terms: terms.boxed(),
            ..spec("t", vec![stage.clone()])
        };
        plain.submit_spec(job).expect("there is room");
        plain.look(0);
        let expected: Vec<_> = (0..4).map(|ms| (ms >= 2, ms >= late_after)).collect();
        assert_eq!(*stage.told.lock().unwrap(), expected);
    }
}

#[test]
fn a_job_that_is_cancelled_while_it_is_shut_down_is_cancelled_and_does_not_come_back() {
    for shutdown_comes_between in [true, false] {
        let plain = Plain::new(1, 0);
        let stage = Counting::new(3);
        let PlainJob { state, job } = plain.submit("t", 1, Class::Normal, vec![stage.clone()]);
        let handed_back = Rc::new(Cell::new(0));
        // Each first gives its reason and then closes the claims; the other does both in between.
        if shutdown_comes_between {
            let handed_back = handed_back.clone();
            let stop = move |plain: &Plain| handed_back.set(policy::stop(plain).len());
            plain.after_change.replace(Some(Box::new(stop)));
            policy::cancel(&plain, &state, job);
        } else {
            let state = state.clone();
            let cancel = move |plain: &Plain| policy::cancel(plain, &state, job);
            plain.after_change.replace(Some(Box::new(cancel)));
            handed_back.set(policy::stop(&plain).len());
        }
        let status = state.ledger().borrow().status();
        assert_eq!(
            (status, handed_back.get(), stage.ran()),
            (JobStatus::Ended(JobErrorKind::Cancelled), 0, 0)
        );
        assert_eq!(plain.take_events(), ["t: the job was cancelled", "all ended"]);
    }
}
