//! Outputs of jobs, from closure to ticket.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline_exec::policy::{JobSpec, Terms};
use pipeline_exec::{
    Job, JobErrorKind, JobOutput, JobReport, JobStatus, JobTicket, PipelineExecutor, Stage, StepCx,
    StepError, SubmitError, step,
};

use crate::plain::{Does, Plain, spec};
use crate::support::{Counting, Gate, block_on, hold_workers};

fn counted(stages: &[Arc<Counting>]) -> (Job<usize>, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let (counts, all) = (Arc::clone(&made), stages.to_vec());
    let mut job = Job::builder("t");
    for stage in stages {
        job = job.stage(stage.clone());
    }
    let job = job.output(move |_cx| {
        all.iter().for_each(|stage| stage.assert_each_ran_once());
        counts.fetch_add(1, Ordering::Relaxed);
        Ok(all.iter().map(|stage| stage.ran()).sum())
    });
    (job.build(), made)
}

#[test]
fn an_output_is_made_once_after_the_last_stage_and_is_in_the_report() {
    for threads in [1, 2, 8] {
        let executor = PipelineExecutor::new(threads).unwrap();
        for slots in [[1, 1, 1], [0, 30, 0], [20, 0, 7]] {
            let stages = slots.map(Counting::new);
            let (job, made) = counted(&stages);
            let report: JobReport<usize> = executor.submit(job).unwrap().wait().unwrap();
            assert_eq!(report.output, slots.iter().sum::<usize>());
            assert_eq!(report.slots, report.output);
            assert_eq!(made.load(Ordering::Relaxed), 1);
        }
    }
}

#[test]
fn an_output_is_awaited_like_any_end() {
    let executor = PipelineExecutor::new(2).unwrap();
    let output = block_on(async {
        let (job, _) = counted(&[Counting::new(3)]);
        let ticket: JobTicket<usize> = executor.submit_async(job).await.unwrap();
        ticket.await.unwrap().output
    });
    assert_eq!(output, 3);
    let (job, _) = counted(&[Counting::new(5)]);
    assert_eq!(executor.submit_blocking(job).unwrap().wait().unwrap().output, 5);
}

#[test]
fn an_output_that_fails_or_panics_fails_the_job_by_name() {
    let executor = PipelineExecutor::new(2).unwrap();
    let stage = Counting::new(4);
    let job = Job::builder("t").stage(stage.clone());
    let failing = job
        .output(|_| Err::<String, _>(StepError::from("no such thing")))
        .build();
    let error = executor.submit(failing).unwrap().wait().unwrap_err();
    assert_eq!((error.kind, error.slot), (JobErrorKind::Failed, None));
    assert_eq!(error.step.as_deref(), Some("output"));
    assert!(error.to_string().contains("no such thing"), "{error}");
    stage.assert_each_ran_once();

    let panicking = Job::builder("t")
        .output(|_| -> Result<u8, StepError> { panic!("out of ink") })
        .build();
    let error = executor.submit(panicking).unwrap().wait().unwrap_err();
    assert_eq!(error.kind, JobErrorKind::Panicked);
    assert!(error.to_string().contains("out of ink"), "{error}");
    executor.submit(counted(&[]).0).unwrap().wait().unwrap();
}

#[test]
fn no_output_is_made_of_a_job_that_fails_or_is_cancelled() {
    let executor = PipelineExecutor::new(1).unwrap();
    let made = Arc::new(AtomicUsize::new(0));
    let making = |made: &Arc<AtomicUsize>| {
        let made = Arc::clone(made);
        move |_: &pipeline_exec::StepCx<'_>| Ok(made.fetch_add(1, Ordering::Relaxed))
    };
    struct Fails;
    impl Stage for Fails {
        fn slots(&self) -> usize {
            1
        }
        fn run(&self, _slot: usize, _cx: &pipeline_exec::StepCx<'_>) -> Result<(), StepError> {
            Err("no".into())
        }
    }
    let failing = Job::builder("t")
        .stage(Arc::new(Fails))
        .output(making(&made))
        .build();
    let error = executor.submit(failing).unwrap().wait().unwrap_err();
    assert_eq!(
        (error.kind, error.step.as_deref()),
        (JobErrorKind::Failed, Some("stage"))
    );

    let gate = hold_workers(&executor, 1);
    let cancelled = Job::builder("t")
        .stage(Counting::new(2))
        .output(making(&made))
        .build();
    let ticket = executor.submit(cancelled).unwrap();
    ticket.control().cancel();
    gate.open();
    assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
    assert_eq!(made.load(Ordering::Relaxed), 0);
}

#[test]
fn a_job_that_was_not_taken_comes_back_with_its_output_and_can_be_submitted_again() {
    let executor = PipelineExecutor::builder().queue_capacity(1).build().unwrap();
    let gate = hold_workers(&executor, 1);
    let (job, made) = counted(&[Counting::new(2)]);
    let error: SubmitError<usize> = executor.submit(job).unwrap_err();
    assert!(matches!(error, SubmitError::Full(_)), "{error}");
    let (handle, job) = (executor.handle(), error.into_job());
    gate.open();
    executor.drain();
    let error = handle.submit(job).unwrap_err();
    assert!(matches!(error, SubmitError::Closed(_)), "{error}");
    let another = PipelineExecutor::new(2).unwrap();
    let report = another.submit(error.into_job()).unwrap().wait().unwrap();
    assert_eq!((report.output, made.load(Ordering::Relaxed)), (2, 1));
}

fn handed_back<T: Send + 'static>(job: Job<T>) -> Job {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = hold_workers(&executor, 1);
    let ticket = executor.submit(job).unwrap();
    let stopper = std::thread::spawn(move || executor.shutdown());
    assert_eq!(ticket.wait().err().unwrap().kind, JobErrorKind::HandedBack);
    gate.open();
    stopper.join().unwrap().pop().unwrap()
}

#[test]
fn a_job_that_a_shutdown_hands_back_runs_again_with_its_type_and_without() {
    let executor = PipelineExecutor::new(2).unwrap();
    let (job, made) = counted(&[Counting::new(3)]);
    let job = handed_back(job);
    executor.submit(job).unwrap().wait().unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 1, "nobody has it, but it was made");

    let (job, _) = counted(&[Counting::new(3)]);
    let job = handed_back(job).downcast::<String>().unwrap_err();
    let job = job.downcast::<usize>().unwrap();
    assert_eq!(executor.submit(job).unwrap().wait().unwrap().output, 3);

    let plain = handed_back(Job::from_steps("t", vec![step(|_| Ok(()))]));
    assert!(plain.downcast::<usize>().is_err(), "it gives nothing");
}

#[test]
fn a_job_that_was_run_by_hand_makes_its_output_by_hand_and_its_ticket_tells_it() {
    let (job, made) = counted(&[Counting::new(1), Counting::new(1)]);
    while let Some(ran) = job.get_next() {
        ran.unwrap();
    }
    assert_eq!(made.load(Ordering::Relaxed), 1);
    let executor = PipelineExecutor::new(1).unwrap();
    assert_eq!(executor.submit(job).unwrap().wait().unwrap().output, 2);
    assert_eq!(made.load(Ordering::Relaxed), 1);

    let failing = Job::builder("t").stage(Counting::new(1));
    let failing = failing.output(|_| Err::<(), _>(StepError::from("no"))).build();
    assert_eq!(
        failing.get_next().unwrap().unwrap_err().step.as_deref(),
        Some("output")
    );
}

#[test]
fn a_late_output_completes_its_job_unless_another_worker_looks_meanwhile() {
    let late = JobStatus::Ended(JobErrorKind::DeadlineExceeded);
    for (other_looks, expected) in [(false, JobStatus::Completed), (true, late)] {
        let plain = Plain::new(2, 0).under_test();
        let makes: fn(&Plain, usize) = if other_looks {
            |plain, _| {
                plain.pass(Duration::from_millis(2));
                plain.look(1);
            }
        } else {
            |plain, _| plain.pass(Duration::from_millis(2))
        };
        let makes = Does(0, makes);
        let terms = Terms {
            deadline: Some(Duration::from_millis(1)),
            ..Terms::default()
        };
        let output = JobOutput::new(move |_cx| {
            makes.run_by_hand(0);
            Ok(())
        });
        let job = plain.submit_spec(JobSpec {
            terms: terms.boxed(),
            output: Some(Arc::new(output)),
            ..spec("t", vec![Counting::new(1)])
        });
        let job = job.expect("there is room");
        plain.look(0);
        assert_eq!(plain.status(&job), expected, "another looks: {other_looks}");
    }
}

#[test]
fn a_late_output_of_an_inline_job_is_not_used() {
    let job = Job::builder("t")
        .stage(Counting::new(1))
        .deadline(Duration::from_millis(1))
        .output(|cx: &StepCx<'_>| {
            while !cx.is_cancelled() {
                std::thread::yield_now();
            }
            Ok(())
        });
    let error = StepCx::detached().run(job.build()).unwrap_err();
    assert_eq!(error.kind, JobErrorKind::DeadlineExceeded);
}

#[test]
fn a_builder_that_is_cloned_makes_jobs_with_outputs_of_their_own() {
    let executor = PipelineExecutor::new(2).unwrap();
    let next = Arc::new(AtomicUsize::new(0));
    let builder = Job::builder("t").output(move |_| Ok(next.fetch_add(1, Ordering::Relaxed)));
    let tickets = [builder.clone(), builder].map(|job| executor.submit(job.build()).unwrap());
    let mut outputs = tickets.map(|ticket| ticket.wait().unwrap().output);
    outputs.sort_unstable();
    assert_eq!(outputs, [0, 1]);
}

#[test]
fn neither_a_ticket_nor_a_control_keeps_what_makes_the_output() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = Gate::new();
    let held = Arc::new(Mutex::new(7));
    let (passed, inside) = (gate.clone(), Arc::clone(&held));
    let job = Job::builder("t").output(move |_| {
        passed.pass();
        Ok(*inside.lock().unwrap())
    });
    let ticket = executor.submit(job.build()).unwrap();
    let control = ticket.control();
    gate.wait_for(1);
    gate.open();
    executor.drain();
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(control.progress(), (0, 0));
    assert_eq!(ticket.wait().unwrap().output, 7);
}
