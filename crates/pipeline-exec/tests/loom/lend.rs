//! Models of helpers, named after the races in
//! `crates/pipeline-exec/src/policy/executor/lend/README.md`.

use std::rc::Rc;
use std::task::Waker;

use loom::thread;
use pipeline_exec::policy::{self, JobEnd, PipelinePorts};

use crate::harness::cells::Cells;
use crate::harness::model;
use crate::harness::scene::{Scene, Seen, State};
use pipeline_exec::policy::JobHandle;

fn scene() -> Rc<Scene> {
    let seen = Seen {
        ledgers: true,
        table: true,
    };
    Scene::seen(1, 1, seen)
}

fn lend(scene: &Scene, (state, job): &(std::sync::Arc<State>, JobHandle)) {
    scene.park_with(|waker, sleep| policy::lend(scene, state, *job, waker, sleep));
}

fn lend_beside_a_worker(scene: &Rc<Scene>, submitted: (std::sync::Arc<State>, JobHandle)) {
    let worker = thread::spawn({
        let scene = scene.clone();
        move || pipeline_exec::policy::run_main_worker(&*scene, 0, 0)
    });
    lend(scene, &submitted);
    worker.join().unwrap();
    scene.assert_over(&[submitted.0]);
}

fn end(scene: &Scene, state: &State) -> JobEnd {
    let end = state.poll(scene, Waker::noop());
    end.expect("the job has ended")
}

#[test]
fn stage_start_against_a_lent_thread_that_falls_asleep() {
    model(
        "stage_start_against_a_lent_thread_that_falls_asleep",
        Some(2),
        || {
            let scene = scene();
            let stages = [Cells::new(1), Cells::new(1)];
            let submitted = scene
                .submit(vec![stages[0].clone(), stages[1].clone()])
                .expect("nobody closes here");
            lend_beside_a_worker(&scene, submitted);
            assert!(stages.iter().all(|stage| stage.ran() == (1, 1)));
        },
    );
}

#[test]
fn end_against_a_lent_thread_that_falls_asleep() {
    model("end_against_a_lent_thread_that_falls_asleep", Some(6), || {
        let scene = scene();
        let stage = Cells::new(1);
        let submitted = scene.submit(vec![stage.clone()]).expect("nobody closes here");
        lend_beside_a_worker(&scene, submitted);
        assert_eq!(stage.ran(), (1, 1));
    });
}

#[test]
fn a_single_against_a_lent_thread() {
    model("a_single_against_a_lent_thread", None, || {
        let scene = scene();
        let stage = Cells::new(1);
        let submitted = scene.submit_single(stage.clone()).expect("nobody closes here");
        lend_beside_a_worker(&scene, submitted);
        assert_eq!(stage.ran(), (1, 1));
    });
}

#[test]
fn leaving_a_full_job_against_a_lent_thread_that_falls_asleep() {
    model(
        "leaving_a_full_job_against_a_lent_thread_that_falls_asleep",
        Some(2),
        || {
            let scene = scene();
            let stage = Cells::new(2);
            let submitted = scene
                .submit_narrow(vec![stage.clone()], 1)
                .expect("nobody closes here");
            lend_beside_a_worker(&scene, submitted);
            assert_eq!(stage.ran(), (2, 1));
        },
    );
}

#[test]
fn cancel_against_a_lent_thread() {
    model("cancel_against_a_lent_thread", Some(4), || {
        let scene = scene();
        let stage = Cells::new(2);
        let submitted = scene.submit(vec![stage.clone()]).expect("nobody closes here");
        let canceller = thread::spawn({
            let (scene, state, job) = (scene.clone(), submitted.0.clone(), submitted.1);
            move || policy::cancel(&*scene, &state, job)
        });
        lend(&scene, &submitted);
        canceller.join().unwrap();
        scene.assert_over(&[submitted.0]);
    });
}

#[test]
fn two_threads_lent_to_one_job() {
    model("two_threads_lent_to_one_job", None, || {
        let scene = scene();
        let stage = Cells::new(2);
        let submitted = scene.submit(vec![stage.clone()]).expect("nobody closes here");
        let other = thread::spawn({
            let (scene, submitted) = (scene.clone(), submitted.clone());
            move || lend(&scene, &submitted)
        });
        lend(&scene, &submitted);
        other.join().unwrap();
        let report = end(&scene, &submitted.0).expect("nothing fails");
        assert_eq!((report.slots, report.slots_per_worker.last()), (2, Some(&2)));
        scene.assert_over(&[submitted.0]);
    });
}
