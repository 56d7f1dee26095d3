//! What people read: debug forms, messages, names of threads, events.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline_exec::policy::{self, JobBody, Refused};
use pipeline_exec::{
    BuildError, Class, Job, JobErrorKind, JobIds, Pin, PipelineExecutor, PipelineStep, Role, Stage, StepCx,
    StepError, SubmitError, step,
};

use crate::plain::{Plain, spec};
use crate::support::{Counting, hold_workers};

#[track_caller]
fn assert_shows(value: &dyn Debug, parts: &[&str]) {
    let shown = format!("{value:?}");
    for part in parts {
        assert!(shown.contains(part), "`{part}` is not in {shown}");
    }
}

#[test]
fn debug_forms_say_what_something_is_about() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .queue_capacity(2)
        .build()
        .unwrap();
    let gate = hold_workers(&executor, 1);
    let cities = || Job::builder("cities").cost(7).stage(Counting::new(2));
    assert_shows(&cities(), &["cities", "7", "stages: 1"]);
    let job = cities().build();
    let id = job.id;
    assert_shows(&job, &["cities", &id, "7", "stages: 1"]);
    let ticket = executor.submit(job).unwrap();
    assert_shows(&ticket, &["Queued", "cancel_on_drop: false"]);
    assert_shows(&ticket.control(), &["rank: 7", "Queued", "(0, 2)"]);
    assert_shows(&executor, &["main: 1", "capacity: 2", "queue_depth: 2"]);
    assert_shows(&executor.handle(), &["PipelineHandle"]);
    let job = cities().build();
    let id = job.id;
    let full = executor.submit(job).unwrap_err();
    assert_shows(&full, &["Full", &id]);
    let handle = executor.handle();
    gate.open();
    executor.drain();
    assert_shows(&handle.submit(full.into_job()).unwrap_err(), &["Closed", &id]);
    assert_shows(&StepError::from("no luck"), &["no luck"]);
    assert_shows(
        &StepCx::detached(),
        &["worker_id: 0", "Main", "pipe-detached", "is_cancelled: false"],
    );
}

#[test]
fn debug_forms_of_the_policy_name_the_job_and_show_nothing_of_the_users() {
    let plain = Plain::new(1, 0);
    assert_shows(
        &spec("cities", vec![Counting::new(2)]),
        &["cities", "Normal", "stages: 1"],
    );
    let job = plain.submit("cities", 3, Class::Batch, vec![Counting::new(2)]);
    assert_shows(&job.state, &["JobState", "seq: 0"]);
    let body = JobBody::new(
        spec("t", vec![Counting::new(1)]),
        1,
        RefCell::default(),
        Cell::new,
    );
    assert_shows(&policy::submit(&plain, body), &["Admitted", "rank: 1", "seq: 1"]);
    plain.workers_leave.set(true);
    while plain.main_runs_one(0) {}
    plain.look(0);
    let refused = plain.submit_spec(spec("late", vec![Counting::new(2)])).err();
    assert_shows(&refused, &["Stopped", "pipe-"]);
    let Some(Refused::Stopped(body)) = refused.map(|refused| *refused) else {
        panic!("nobody would look for it");
    };
    assert_shows(&body, &["JobBody", "late", "stages: 1"]);
}

#[test]
fn errors_say_what_happened_and_lead_to_their_cause() {
    let executor = PipelineExecutor::new(1).unwrap();
    let parse = StepError::from("ten".parse::<u32>().unwrap_err());
    assert_eq!(parse.to_string(), "invalid digit found in string");
    assert!(parse.downcast_ref::<std::num::ParseIntError>().is_some());
    assert!(parse.downcast_ref::<std::fmt::Error>().is_none());
    let failing = |step| {
        let job = Job::from_steps("t", vec![step]);
        executor.submit(job).unwrap().wait().unwrap_err()
    };
    let error = failing(step(|_| Err("no luck".into())));
    assert_eq!(error.to_string(), "step `step` failed in slot 0: no luck");
    assert_eq!(
        error.source().map(ToString::to_string).as_deref(),
        Some("no luck")
    );
    let error = failing(step(|_| std::panic::panic_any(7)));
    assert_eq!(
        error.to_string(),
        "step `step` panicked in slot 0: a panic without a message"
    );
    let ticket = executor.submit(Job::builder("t").deadline(Duration::ZERO).build());
    let error = ticket.unwrap().wait().unwrap_err();
    assert_eq!(error.to_string(), "the job was not done by its deadline");
    assert!(error.source().is_none());
    let error = PipelineExecutor::new(0).unwrap_err();
    assert!(error.source().is_none());
    let handle = executor.handle();
    executor.drain();
    let job = Job::builder("cities").id_from(&mut JobIds::seeded(1)).build();
    let id = job.id;
    let error = handle.submit(job).unwrap_err();
    assert!(matches!(error, SubmitError::Closed(_)));
    assert_eq!(
        error.to_string(),
        format!("job {id} over `cities` was not taken: the executor no longer accepts jobs")
    );
}

#[test]
fn threads_that_cannot_have_cores_of_their_own_are_an_error_with_its_cause() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let built = PipelineExecutor::builder()
        .threads(cores + 1)
        .pinning(Pin::Always)
        .build();
    let error = built.unwrap_err();
    let source = error.source().expect("the threads' own error");
    assert_eq!(error.to_string(), source.to_string());
    assert!(matches!(error, BuildError::Threads(_)));
}

#[test]
fn threads_are_named_and_slots_are_told_on_which_they_run() {
    let executor = PipelineExecutor::builder()
        .threads(3)
        .thread_name("query")
        .build()
        .unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let barrier = Arc::new(std::sync::Barrier::new(3));
    let steps = (0..3).map(|_| {
        let (seen, barrier) = (seen.clone(), barrier.clone());
        step(move |cx| {
            let name = std::thread::current().name().map(str::to_owned);
            seen.lock()
                .unwrap()
                .push((cx.worker_id(), name, cx.job_id().to_owned()));
            barrier.wait();
            Ok(())
        })
    });
    let job = Job::from_steps("t", steps.collect());
    let id = job.id.to_string();
    executor.submit(job).unwrap().wait().unwrap();
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    let expected = [0, 1, 2].map(|worker| (worker, Some(format!("query-{worker}")), id.clone()));
    assert_eq!(seen, expected);
}

#[test]
fn a_slot_without_a_job_around_it_is_worker_0_and_never_asked_to_stop() {
    let cx = StepCx::detached();
    assert_eq!((cx.worker_id(), cx.role()), (0, Role::Main));
    assert_eq!(cx.job_id(), "pipe-detached");
    assert!(!cx.is_cancelled() && !cx.should_yield());
}

#[test]
fn what_has_no_name_of_its_own_is_called_by_what_it_is() {
    struct Nameless;
    impl Stage for Nameless {
        fn slots(&self) -> usize {
            1
        }
        fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
            Err("no".into())
        }
    }
    assert_eq!((Nameless.name(), &*Nameless.slot_name(3)), ("stage", "stage"));
    assert_eq!(PipelineStep::name(&*step(|_| Ok(()))), "step");
    let job = Job::builder("t").stage(Arc::new(Nameless)).build();
    let error = job.get_next().unwrap().unwrap_err();
    assert_eq!(
        (error.kind, error.step.as_deref()),
        (JobErrorKind::Failed, Some("stage"))
    );
}

#[derive(Clone, Default)]
struct Messages(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Messages {
    fn enabled(&self, _metadata: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _span: &tracing::span::Id, _values: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _span: &tracing::span::Id, _follows: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Message<'a>(&'a Messages);
        impl tracing::field::Visit for Message<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
                if field.name() == "message" {
                    self.0.0.lock().unwrap().push(format!("{value:?}"));
                }
            }
        }
        event.record(&mut Message(self));
    }

    fn enter(&self, _span: &tracing::span::Id) {}

    fn exit(&self, _span: &tracing::span::Id) {}
}

#[test]
fn a_subscriber_hears_of_a_job_that_comes_and_of_one_that_has_ended_already() {
    let executor = PipelineExecutor::new(1).unwrap();
    let heard = Messages::default();
    let worked_off = || {
        let job = Job::builder("t").stage(Counting::new(1)).build();
        job.get_next().unwrap().unwrap();
        job
    };
    // Two, because `tracing` asks a lone one only on the thread that first passes an event, which
    // may be another test's.
    let subscribers = [(); 2].map(|()| tracing::Dispatch::new(heard.clone()));
    tracing::dispatcher::with_default(&subscribers[0], || {
        drop(
            executor
                .submit(Job::builder("t").stage(Counting::new(1)).build())
                .unwrap(),
        );
        drop(executor.submit(worked_off()).unwrap());
    });
    assert_eq!(
        *heard.0.lock().unwrap(),
        ["job submitted", "stage started", "job submitted", "job completed"]
    );
}
