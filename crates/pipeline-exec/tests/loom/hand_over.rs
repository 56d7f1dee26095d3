//! Models of hand-over between workers and parties that wait. Loom reports a lost wake as a
//! deadlock.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use loom::thread;
use pipeline_exec::policy::{self, JobEnd, JobSpec, PipelinePorts};
use pipeline_exec::{JobErrorKind, JobId, Stage, StepCx, StepError};

use crate::harness::cells::Cells;
use crate::harness::model;
use crate::harness::scene::{Scene, Seen, State};

fn scene(workers: usize, jobs: usize) -> Rc<Scene> {
    let seen = Seen {
        ledgers: true,
        table: true,
    };
    Scene::seen(workers, jobs, seen)
}

fn await_end(scene: &Scene, state: &State) -> JobEnd {
    let mut end = None;
    scene.park_with(|waker, sleep| {
        end = loop {
            if let Some(end) = state.poll(scene, waker) {
                break Some(end);
            }
            sleep();
        };
    });
    end.expect("the loop ends with the job")
}

fn worker(scene: &Rc<Scene>) -> thread::JoinHandle<()> {
    let scene = scene.clone();
    thread::spawn(move || scene.work(0))
}

fn stopper(scene: &Rc<Scene>) -> thread::JoinHandle<usize> {
    let scene = scene.clone();
    thread::spawn(move || policy::stop(&*scene).len())
}

#[test]
fn the_end_of_a_job_against_the_first_poll_of_its_future() {
    model(
        "the_end_of_a_job_against_the_first_poll_of_its_future",
        Some(3),
        || {
            let scene = scene(1, 1);
            let stage = Cells::new(1);
            let worker = worker(&scene);
            let (state, _) = scene.submit_single(stage.clone()).expect("nobody closes here");
            assert!(await_end(&scene, &state).is_ok());
            assert_eq!(stage.ran(), (1, 1));
            worker.join().unwrap();
            scene.assert_over(&[state]);
        },
    );
}

#[test]
fn a_dropped_future_against_the_start_of_its_job() {
    model("a_dropped_future_against_the_start_of_its_job", Some(3), || {
        let scene = scene(1, 1);
        let stage = Cells::new(1);
        let (state, job) = scene.submit_single(stage.clone()).expect("nobody closes here");
        let worker = worker(&scene);
        policy::cancel(&*scene, &state, job);
        worker.join().unwrap();
        let end = state.poll(&*scene, Waker::noop()).expect("the job has ended");
        match end {
            Ok(_) => assert_eq!(stage.ran(), (1, 1)),
            Err(error) => {
                assert_eq!(error.kind, JobErrorKind::Cancelled);
                assert!(
                    matches!(stage.ran(), (0, 0) | (1, 0 | 1)),
                    "it may have been cancelled as it ran, or as it was about to end"
                );
            }
        }
        scene.assert_over(&[state]);
    });
}

#[test]
fn a_shutdown_against_the_start_of_a_job_that_is_awaited() {
    model(
        "a_shutdown_against_the_start_of_a_job_that_is_awaited",
        Some(2),
        || {
            let scene = scene(1, 1);
            let stage = Cells::new(1);
            let (state, _) = scene.submit_single(stage.clone()).expect("nobody closes here");
            let worker = worker(&scene);
            let stopper = stopper(&scene);
            let end = await_end(&scene, &state);
            let handed_back = stopper.join().unwrap();
            worker.join().unwrap();
            assert_is_what_happened(&end, &stage, handed_back);
            scene.assert_over(&[state]);
        },
    );
}

#[test]
fn a_dropped_future_against_a_shutdown() {
    model("a_dropped_future_against_a_shutdown", Some(2), || {
        let scene = scene(1, 1);
        let stage = Cells::new(1);
        let (state, job) = scene.submit_single(stage.clone()).expect("nobody closes here");
        let worker = worker(&scene);
        let stopper = stopper(&scene);
        policy::cancel(&*scene, &state, job);
        let handed_back = stopper.join().unwrap();
        worker.join().unwrap();
        let end = state.poll(&*scene, Waker::noop()).expect("the job has ended");
        assert_is_what_happened(&end, &stage, handed_back);
        scene.assert_over(&[state]);
    });
}

fn assert_is_what_happened(end: &JobEnd, stage: &Cells, handed_back: usize) {
    let ran = stage.ran();
    match end {
        Ok(_) => assert_eq!((ran, handed_back), ((1, 1), 0)),
        Err(error) if error.kind == JobErrorKind::HandedBack => assert_eq!((ran, handed_back), ((0, 0), 1)),
        Err(error) => {
            assert_eq!((error.kind, handed_back), (JobErrorKind::Cancelled, 0));
            assert!(matches!(ran, (0, 0) | (1, 0 | 1)), "{ran:?}");
        }
    }
}

struct Nests {
    inner: Arc<Cells>,
    slots: usize,
}

impl Stage for Nests {
    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        let spec = JobSpec {
            table_name: "".into(),
            id: JobId::new(1),
            cost: Some(2),
            terms: None,
            stages: vec![self.inner.clone() as Arc<dyn Stage>].into(),
            output: None,
        };
        policy::nest(cx, spec)?;
        assert_eq!(self.inner.ran(), (self.slots, 1));
        Ok(())
    }
}

#[test]
fn a_nested_wait_against_a_worker_that_takes_the_last_slot() {
    model(
        "a_nested_wait_against_a_worker_that_takes_the_last_slot",
        Some(3),
        || {
            let scene = scene(2, 2);
            let inner = Cells::new(1);
            let outer = Arc::new(Nests {
                inner: inner.clone(),
                slots: 1,
            });
            let (state, _) = scene.submit(vec![outer]).expect("nobody closes here");
            let other = thread::spawn({
                let scene = scene.clone();
                move || scene.work(1)
            });
            scene.work(0);
            other.join().unwrap();
            let end = state.poll(&*scene, Waker::noop()).expect("the job has ended");
            assert!(end.is_ok());
            scene.assert_over(&[state]);
        },
    );
}
