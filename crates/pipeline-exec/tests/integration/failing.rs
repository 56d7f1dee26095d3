//! Steps that fail or panic affect their own job alone.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pipeline_exec::{
    Class, Job, JobErrorKind, PipelineExecutor, PipelineStep, Stage, StepCx, StepError, step,
};

use crate::plain::Plain;
use crate::support::{Counting, Gate};

#[derive(Default)]
struct Wrong {
    slots_panic: bool,
    too_many_slots: bool,
    bad_slot: Option<usize>,
    slot_panics: bool,
    finish_fails: bool,
    finish_panics: bool,
    name_panics: bool,
    finished: AtomicUsize,
}

impl Stage for Wrong {
    fn name(&self) -> &str {
        assert!(!self.name_panics, "even the name");
        "wrong"
    }

    fn slots(&self) -> usize {
        assert!(!self.slots_panic, "no idea how many");
        if self.too_many_slots { usize::MAX } else { 4 }
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        if self.bad_slot == Some(slot) {
            assert!(!self.slot_panics, "slot {slot} panics");
            return Err(std::io::Error::other("disk on fire").into());
        }
        Ok(())
    }

    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.finished.fetch_add(1, Ordering::Relaxed);
        assert!(!self.finish_panics, "cannot finish");
        if self.finish_fails {
            Err("cannot merge".into())
        } else {
            Ok(())
        }
    }
}

#[test]
fn a_failure_names_step_and_slot_and_stops_the_job_whatever_fails() {
    let cases = [
        (
            Wrong {
                bad_slot: Some(2),
                ..Wrong::default()
            },
            JobErrorKind::Failed,
            Some(2),
            "disk on fire",
        ),
        (
            Wrong {
                bad_slot: Some(1),
                slot_panics: true,
                ..Wrong::default()
            },
            JobErrorKind::Panicked,
            Some(1),
            "slot 1 panics",
        ),
        (
            Wrong {
                finish_fails: true,
                ..Wrong::default()
            },
            JobErrorKind::Failed,
            None,
            "cannot merge",
        ),
        (
            Wrong {
                finish_panics: true,
                ..Wrong::default()
            },
            JobErrorKind::Panicked,
            None,
            "cannot finish",
        ),
        (
            Wrong {
                slots_panic: true,
                ..Wrong::default()
            },
            JobErrorKind::Panicked,
            None,
            "no idea how many",
        ),
        (
            Wrong {
                too_many_slots: true,
                ..Wrong::default()
            },
            JobErrorKind::Failed,
            None,
            "at most",
        ),
    ];
    for (wrong, kind, slot, text) in cases {
        for (threads, before) in [(1, 0), (2, 0), (8, 0), (2, 3)] {
            let executor = PipelineExecutor::new(threads).unwrap();
            let stage = Arc::new(Wrong {
                finished: AtomicUsize::new(0),
                ..wrong_like(&wrong)
            });
            let after = Counting::new(5);
            let bystander = Counting::new(50);
            let job = Job::builder("t")
                .stage(Counting::new(before))
                .stage(stage.clone())
                .stage(after.clone());
            let other = executor
                .submit(Job::builder("other").stage(bystander.clone()).build())
                .unwrap();
            let ticket = executor.submit(job.build()).unwrap();
            let control = ticket.control();
            let error = ticket.wait().unwrap_err();
            assert_eq!(
                (error.kind, error.step.as_deref(), error.slot),
                (kind, Some("wrong"), slot),
                "{error}"
            );
            assert!(error.source().unwrap().to_string().contains(text), "{error}");
            assert!(
                error.to_string().contains("wrong") && error.to_string().contains(text),
                "{error}"
            );
            assert_eq!(after.ran(), 0, "no later stage runs");
            assert!(stage.finished.load(Ordering::Relaxed) <= usize::from(slot.is_none()));
            let (done, total) = control.progress();
            assert_eq!(done, total, "every slot is accounted for");
            other.wait().unwrap();
            bystander.assert_each_ran_once();
            let again = Counting::new(100);
            executor
                .submit(Job::builder("again").stage(again.clone()).build())
                .unwrap()
                .wait()
                .unwrap();
            again.assert_each_ran_once();
        }
    }
}

fn wrong_like(wrong: &Wrong) -> Wrong {
    Wrong {
        slots_panic: wrong.slots_panic,
        too_many_slots: wrong.too_many_slots,
        bad_slot: wrong.bad_slot,
        slot_panics: wrong.slot_panics,
        finish_fails: wrong.finish_fails,
        finish_panics: wrong.finish_panics,
        name_panics: wrong.name_panics,
        finished: AtomicUsize::new(0),
    }
}

#[test]
fn a_stage_whose_very_name_panics_fails_its_job() {
    let executor = PipelineExecutor::new(2).unwrap();
    let stage = Wrong {
        bad_slot: Some(0),
        name_panics: true,
        ..Wrong::default()
    };
    let error = executor
        .submit(Job::builder("t").stage(Arc::new(stage)).build())
        .unwrap()
        .wait()
        .unwrap_err();
    assert_eq!((error.kind, error.slot), (JobErrorKind::Failed, Some(0)));
}

#[test]
fn of_several_failures_the_lowest_slot_that_ran_is_told() {
    for _ in 0..50 {
        let executor = PipelineExecutor::new(4).unwrap();
        let gate = Gate::new();
        let steps = (0..4).map(|n| {
            let gate = gate.clone();
            step(move |_cx| {
                gate.pass();
                assert_ne!(n, 1, "one");
                if n == 0 {
                    Ok(())
                } else {
                    Err(format!("{n}").into())
                }
            })
        });
        let ticket = executor.submit(Job::from_steps("t", steps.collect())).unwrap();
        gate.wait_for(4);
        gate.open();
        let error = ticket.wait().unwrap_err();
        assert_eq!(
            (error.kind, error.slot),
            (JobErrorKind::Panicked, Some(1)),
            "{error}"
        );
    }
}

#[test]
fn after_a_failure_no_further_slot_is_claimed() {
    let executor = PipelineExecutor::new(1).unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let steps = (0..100).map(|n| {
        let ran = ran.clone();
        step(move |_cx| {
            ran.fetch_add(1, Ordering::Relaxed);
            if n == 5 { Err("five".into()) } else { Ok(()) }
        })
    });
    let error = executor
        .submit(Job::from_steps("t", steps.collect()))
        .unwrap()
        .wait()
        .unwrap_err();
    assert_eq!(error.slot, Some(5));
    assert_eq!(ran.load(Ordering::Relaxed), 6);
}

#[test]
fn the_source_of_a_failure_is_the_steps_own_error() {
    struct Parse;
    impl PipelineStep for Parse {
        fn name(&self) -> &str {
            "parse"
        }
        fn execute(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
            "ten".parse::<u32>()?;
            Ok(())
        }
    }
    let executor = PipelineExecutor::new(2).unwrap();
    let error = executor
        .submit(Job::from_steps("t", vec![Box::new(Parse)]))
        .unwrap()
        .wait()
        .unwrap_err();
    assert_eq!(error.step.as_deref(), Some("parse"));
    assert!(
        error
            .source
            .unwrap()
            .downcast_ref::<std::num::ParseIntError>()
            .is_some()
    );
}

struct Bomb;

impl Stage for Bomb {
    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        Ok(())
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_panic_while_a_stage_is_dropped_hurts_no_other_job() {
    let executor = PipelineExecutor::new(2).unwrap();
    for _ in 0..20 {
        executor
            .submit(Job::builder("t").stage(Arc::new(Bomb)).build())
            .unwrap()
            .wait()
            .unwrap();
    }
    let stage = Counting::new(10);
    executor
        .submit(Job::builder("t").stage(stage.clone()).build())
        .unwrap()
        .wait()
        .unwrap();
    stage.assert_each_ran_once();
}

#[test]
fn a_panic_while_a_stage_is_dropped_does_not_even_reach_the_worker() {
    let plain = Plain::new(1, 0);
    plain.submit("bomb", 1, Class::Normal, vec![Arc::new(Bomb)]);
    assert!(plain.main_runs_one(0));
    assert!(plain.take_events().contains(&"bomb completed".to_owned()));
}

#[test]
fn a_stage_without_a_name_is_told_by_its_number() {
    let executor = PipelineExecutor::new(1).unwrap();
    for (before, named) in [
        (0, "stage 0, whose name panicked"),
        (2, "stage 2, whose name panicked"),
    ] {
        let job = || {
            let mut job = Job::builder("t");
            for _ in 0..before {
                job = job.stage(Counting::new(0));
            }
            let wrong = Wrong {
                slots_panic: true,
                name_panics: true,
                ..Wrong::default()
            };
            job.stage(Arc::new(wrong)).build()
        };
        let by_hand = job().get_next().unwrap().unwrap_err();
        let submitted = executor.submit(job()).unwrap().wait().unwrap_err();
        for error in [by_hand, submitted] {
            assert_eq!(error.step.as_deref(), Some(named));
        }
    }
}
