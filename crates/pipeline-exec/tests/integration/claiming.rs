//! Each slot is claimed once: by hand, by two workers, by many threads.

use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use executor_core::ports::{Native, NativeWord};
use pipeline_exec::policy::claim::{SLOTS_MAX, STAGES_MAX};
use pipeline_exec::policy::{Claim, Claims, Piece};
use pipeline_exec::{Class, Job, JobErrorKind, JobStatus, Stage, StepCx, StepError, step};

use crate::plain::Plain;
use crate::support::{Counting, Gate};

#[test]
fn two_workers_share_a_job_of_five_steps_and_the_sixth_claim_gets_nothing() {
    let plain = Plain::new(2, 0);
    let stage = Counting::new(5);
    let job = plain.submit("five", 5, Class::Normal, vec![stage.clone() as Arc<dyn Stage>]);
    for claim in 0..5 {
        assert_eq!(job.state.claims().next_free_slot(&plain), (0, claim));
        assert!(plain.main_runs_one(claim % 2));
    }
    assert!(!plain.main_runs_one(1), "the sixth claim gets nothing");
    stage.assert_each_ran_once();
    let claims: Vec<String> = plain
        .take_events()
        .into_iter()
        .filter(|event| event.contains("claims"))
        .collect();
    assert_eq!(
        claims,
        [
            "worker 0 claims five.0",
            "worker 1 claims five.1",
            "worker 0 claims five.2",
            "worker 1 claims five.3",
            "worker 0 claims five.4",
        ]
    );
}

#[test]
fn a_claim_of_several_slots_takes_no_more_than_are_left() {
    let claims = Claims::new([0].into_iter(), NativeWord::new);
    claims.begin(&Native, 0, 0, 5);
    let claim = |wanted| claims.claim(&Native, |_stage, _left| wanted);
    let slots = |slots, last| Claim::Slots {
        piece: Piece { stage: 0, slots },
        last,
    };
    assert_eq!(claim(2), slots(0..2, false));
    assert_eq!(claim(0), slots(2..3, false), "at least one");
    assert_eq!(claim(100), slots(3..5, true));
    assert_eq!(claim(1), Claim::Exhausted);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_job_has_room_for_as_many_stages_and_slots_as_the_table_of_its_word_says() {
    assert_eq!(SLOTS_MAX, (1 << 48) - 1);
    assert_eq!(STAGES_MAX, (1 << 15) - 1);
}

#[test]
fn two_threads_claim_the_ten_steps_of_a_job_by_hand_each_once() {
    for _ in 0..200 {
        let order = Arc::new(Mutex::new(Vec::new()));
        let steps = (0..10).map(|n| {
            let order = Arc::clone(&order);
            step(move |_cx| {
                order.lock().unwrap().push(n);
                Ok(())
            })
        });
        let job = Job::from_steps("ten", steps.collect());
        let claimed = thread::scope(|scope| {
            let workers = [0, 1].map(|_| {
                scope.spawn(|| {
                    // One claim more than there are slots, so an endless job shows as a wrong list.
                    let claims = std::iter::from_fn(|| job.get_next()).take(11);
                    claims.map(Result::unwrap).collect::<Vec<_>>()
                })
            });
            workers.map(|worker| worker.join().unwrap())
        });
        for mine in &claimed {
            assert!(mine.is_sorted(), "a worker's claims only go up: {mine:?}");
        }
        let mut all = claimed.concat();
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..10));
        let mut ran = order.lock().unwrap().clone();
        ran.sort_unstable();
        assert_eq!(ran, Vec::from_iter(0..10));
        assert!(job.get_next().is_none());
        assert_eq!(job.progress(), (10, 10));
    }
}

#[test]
fn by_hand_stages_follow_one_another_and_empty_ones_are_finished() {
    let stages = [2, 0, 1].map(Counting::new);
    let mut builder = Job::builder("by hand");
    for stage in &stages {
        builder = builder.stage(stage.clone());
    }
    let job = builder.build();
    let claims = std::iter::from_fn(|| job.get_next()).take(4);
    assert_eq!(claims.map(Result::unwrap).collect::<Vec<_>>(), [0, 1, 0]);
    for stage in stages {
        stage.assert_each_ran_once();
    }
}

#[test]
fn the_rest_of_a_job_begun_by_hand_can_be_submitted() {
    let executor = pipeline_exec::PipelineExecutor::new(2).unwrap();
    for by_hand in 0..=4 {
        let stage = Counting::new(4);
        let job = Job::builder("half").stage(stage.clone()).build();
        for slot in 0..by_hand {
            assert_eq!(job.get_next().unwrap().unwrap(), slot);
        }
        let report = executor.submit(job).unwrap().wait().unwrap();
        stage.assert_each_ran_once();
        assert_eq!(report.slots, 4 - by_hand);
    }
}

struct Held(Arc<Gate>);

impl Stage for Held {
    fn slots(&self) -> usize {
        2
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.0.pass();
        Ok(())
    }
}

#[test]
fn what_is_left_of_a_job_begun_by_hand_is_its_weight_and_its_run_is_told_from_where_it_goes_on() {
    let executor = pipeline_exec::PipelineExecutor::new(2).unwrap();
    for (by_hand, left) in [(2, 3), (5, 2)] {
        let gate = Gate::new();
        let job = Job::builder("half")
            .stage(Counting::new(5))
            .stage(Arc::new(Held(gate.clone())))
            .build();
        for _ in 0..by_hand {
            job.get_next().unwrap().unwrap();
        }
        let ticket = executor.submit(job).unwrap();
        let control = ticket.control();
        gate.wait_for(2);
        let status = ticket.status();
        let running = Instant::now();
        thread::sleep(Duration::from_millis(2));
        let held = running.elapsed();
        gate.open();
        let report = ticket.wait().unwrap();
        assert_eq!((status, control.handle().rank), (JobStatus::Running, left));
        assert!(report.run >= held, "{report:?}");
    }
}

#[test]
fn a_slot_run_by_hand_is_told_when_another_has_failed_and_never_to_yield() {
    let job = Arc::new(OnceLock::<Arc<Job>>::new());
    let other = job.clone();
    let asks = step(move |cx| {
        assert!(!cx.is_cancelled() && !cx.should_yield());
        let failed = other.get().unwrap().get_next().unwrap();
        assert_eq!(failed.unwrap_err().slot, Some(1));
        assert!(cx.is_cancelled() && !cx.should_yield());
        Ok(())
    });
    let two = Arc::new(Job::from_steps("two", vec![asks, step(|_| Err("no".into()))]));
    assert!(job.set(two.clone()).is_ok());
    assert_eq!(two.get_next().unwrap().unwrap(), 0);
}

#[test]
fn a_job_that_failed_by_hand_fails_when_it_is_submitted() {
    let executor = pipeline_exec::PipelineExecutor::new(2).unwrap();
    let job = Job::from_steps(
        "broken",
        vec![step(|_| Err("no".into())), step(|_| panic!("never runs"))],
    );
    let error = job.get_next().unwrap().unwrap_err();
    assert_eq!((error.kind, error.slot), (JobErrorKind::Failed, Some(0)));
    assert!(job.get_next().is_none());
    let error = executor.submit(job).unwrap().wait().unwrap_err();
    assert_eq!(error.kind, JobErrorKind::Failed);
    assert!(error.to_string().contains("before it was submitted"), "{error}");
}
