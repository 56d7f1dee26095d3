//! Spans and events that a subscriber of `tracing` hears. A separate program, because workers hear
//! only the subscriber of the whole process.
#![cfg(not(windlass_loom))]

mod listener;

use std::sync::Arc;
use std::time::Duration;

use pipeline_exec::{Class, Job, PipelineExecutor, Stage, StepCx, StepError, step};
use tracing::{Level, info, info_span};

use listener::{Heard, listen, spoil};

struct Emits(&'static str, usize);

impl Stage for Emits {
    fn name(&self) -> &str {
        self.0
    }

    fn slots(&self) -> usize {
        self.1
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        info!(slot, "in a slot");
        Ok(())
    }

    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        info!("in finish");
        Ok(())
    }
}

fn heard(threads: usize, run: impl FnOnce(&PipelineExecutor)) -> Heard {
    listen(|| {
        let executor = PipelineExecutor::new(threads).unwrap();
        run(&executor);
        executor.drain();
    })
}

#[test]
fn what_a_slot_emits_is_inside_its_claim_its_stage_and_its_job_on_every_thread() {
    let heard = heard(3, |executor| {
        let job = Job::builder("cities")
            .stage(Arc::new(Emits("scan", 40)))
            .stage(Arc::new(Emits("merge", 1)));
        info_span!("request", user = 7).in_scope(|| drop(executor.submit(job.build()).unwrap()));
    });
    let inside = |message: &str| -> Vec<_> {
        let events = heard
            .events
            .iter()
            .filter(|event| event.fields["message"] == message);
        events.map(|event| heard.names_around(event)).collect()
    };
    let scan = ["request", "job", "stage scan", "claim"];
    let merge = ["request", "job", "stage merge", "claim"];
    let slots = inside("in a slot");
    assert_eq!(slots.iter().filter(|names| **names == scan).count(), 40);
    assert_eq!(slots.iter().filter(|names| **names == merge).count(), 1);
    assert_eq!(slots.len(), 41);
    assert_eq!(inside("in finish"), [scan, merge]);
}

#[test]
fn spans_say_what_job_stage_and_claim_they_are() {
    let job = Job::builder("cities")
        .stage(Arc::new(Emits("scan", 5)))
        .class(Class::Batch)
        .cost(77)
        .build();
    let id = job.id;
    let heard = heard(1, |executor| drop(executor.submit(job).unwrap()));
    let job = heard.only_span("job");
    for (field, value) in [
        ("id", &*id),
        ("table", "cities"),
        ("class", "batch"),
        ("cost", "77"),
        ("seq", "0"),
    ] {
        assert_eq!(job.fields[field], value);
    }
    let stage = heard.only_span("stage");
    for (field, value) in [("stage", "0"), ("name", "scan"), ("slots", "5")] {
        assert_eq!(stage.fields[field], value);
    }
    assert_eq!((job.level, stage.level), (Level::INFO, Level::INFO));
    let claims: Vec<_> = heard.spans_named("claim").collect();
    let claimed: usize = claims
        .iter()
        .map(|claim| claim.fields["slots"].parse::<usize>().unwrap())
        .sum();
    assert_eq!(claimed, 5);
    for claim in claims {
        assert_eq!((&*claim.fields["worker"], claim.level), ("0", Level::DEBUG));
        assert!(["main", "reserve"].contains(&&*claim.fields["role"]));
        assert!(claim.fields.contains_key("first"));
    }
}

#[test]
fn every_span_is_left_as_often_as_entered_and_closed_when_its_job_has_ended() {
    let heard = heard(2, |executor| {
        let tickets: Vec<_> = (0..30)
            .map(|n| {
                let mut job = Job::builder("t").stage(Arc::new(Emits("one", n % 4)));
                if n % 3 == 0 {
                    job = job.stage(Arc::new(Emits("two", 3)));
                }
                executor.submit(job.build()).unwrap()
            })
            .collect();
        tickets[20].control().cancel();
        listener::keep(tickets);
    });
    assert_eq!(heard.spans_named("job").count(), 30);
    for span in &heard.spans {
        assert_eq!((span.entered, span.closed), (0, true), "{span:?}");
    }
}

#[test]
fn a_stage_is_one_span_on_any_thread() {
    let heard = heard(3, |executor| {
        for _ in 0..20 {
            drop(
                executor
                    .submit(Job::builder("t").stage(Arc::new(Emits("scan", 30))).build())
                    .unwrap(),
            );
        }
    });
    assert_eq!(heard.spans_named("job").count(), 20);
    assert_eq!(
        heard
            .spans_named("stage")
            .filter(|stage| heard.stages_of_same_job(stage) == 1)
            .count(),
        20
    );
}

#[test]
fn failures_are_events_in_the_stage_where_they_happened_and_in_the_job() {
    let heard = heard(1, |executor| {
        let steps = vec![step(|_| Ok(())), step(|_| Err("no luck".into()))];
        executor
            .submit(Job::from_steps("t", steps))
            .unwrap()
            .wait()
            .unwrap_err();
        let steps = vec![step(|_| -> Result<(), StepError> { panic!("gone") })];
        executor
            .submit(Job::from_steps("t", steps))
            .unwrap()
            .wait()
            .unwrap_err();
    });
    let failed: Vec<_> = heard
        .events
        .iter()
        .filter(|event| event.fields["message"] == "step failed")
        .collect();
    let [returned, panicked] = failed[..] else {
        panic!("two steps failed: {failed:?}")
    };
    assert_eq!(
        heard.names_around(returned),
        ["job", "stage stage", "claim"],
        "{returned:?}"
    );
    for (event, slot, error, by_panic) in [
        (returned, "1", "no luck", "false"),
        (panicked, "0", "gone", "true"),
    ] {
        assert_eq!(event.level, Level::WARN);
        assert_eq!((&*event.fields["slot"], &*event.fields["error"]), (slot, error));
        assert_eq!(
            (&*event.fields["panicked"], &*event.fields["step"]),
            (by_panic, "step")
        );
    }
    let ends: Vec<_> = heard
        .events
        .iter()
        .filter(|event| event.fields["message"] == "job ended early")
        .collect();
    assert_eq!(ends.len(), 2);
    assert!(ends[0].fields["error"].contains("no luck"), "{ends:?}");
    assert_eq!(heard.names_around(ends[0]).last().unwrap(), "job");
}

#[test]
fn a_stage_that_cannot_say_its_slots_fails_in_the_span_of_its_job() {
    struct Unsure;
    impl Stage for Unsure {
        fn name(&self) -> &str {
            "unsure"
        }
        fn slots(&self) -> usize {
            panic!("who knows")
        }
        fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
            Ok(())
        }
    }
    let heard = heard(1, |executor| {
        let ticket = executor
            .submit(Job::builder("t").stage(Arc::new(Unsure)).build())
            .unwrap();
        ticket.wait().unwrap_err();
    });
    let failed = heard
        .events
        .iter()
        .find(|event| event.fields["message"] == "step failed")
        .unwrap();
    assert_eq!(heard.names_around(failed), ["job"]);
    assert_eq!(&*failed.fields["step"], "unsure");
}

#[test]
fn a_job_that_is_cancelled_in_the_queue_has_a_span_and_says_that_it_ended() {
    let heard = heard(1, |executor| {
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let told = std::sync::Mutex::new(told);
        let hold = step(move |_| {
            let told = told.lock().map_err(|_| "somebody panicked")?;
            told.recv_timeout(Duration::from_secs(60))?;
            Ok(())
        });
        let held = executor.submit(Job::from_steps("hold", vec![hold])).unwrap();
        let waits = executor
            .submit(Job::builder("waits").stage(Arc::new(Emits("never", 1))).build())
            .unwrap();
        waits.control().cancel();
        waits.wait().unwrap_err();
        tell.send(()).unwrap();
        held.wait().unwrap();
    });
    let events: Vec<_> = heard
        .events
        .iter()
        .filter(|event| {
            heard
                .around(event)
                .any(|span| span.fields.get("table").is_some_and(|table| table == "waits"))
        })
        .map(|event| &*event.fields["message"])
        .collect();
    assert_eq!(events, ["job submitted", "stage started", "job ended early"]);
}

#[test]
fn a_subscriber_that_panics_disturbs_no_job() {
    let heard = heard(2, |executor| {
        spoil(|| {
            for nth in 0..30 {
                let steps = (0..4).map(|_| step(|_| Ok(())));
                let job = Job::from_steps("steps", steps.collect());
                assert_eq!(executor.submit(job).unwrap().wait().unwrap().slots, 4);
                let failing = step(|_| Err("no luck".into()));
                let failing = Job::from_steps("failing", vec![failing]);
                let error = executor.submit(failing).unwrap().wait().unwrap_err();
                assert!(error.to_string().contains("no luck"), "job {nth}: {error}");
            }
        });
    });
    assert!(!heard.events.is_empty());
}
