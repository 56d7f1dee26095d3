//! The board: jobs that come on and off while others look.

use std::rc::Rc;
use std::sync::Arc;

use loom::thread;
use pipeline_exec::{policy, policy::JobHandle};

use crate::harness::cells::Cells;
use crate::harness::model;
use crate::harness::scene::{Scene, Seen, State};

fn with_table() -> Rc<Scene> {
    let seen = Seen {
        table: true,
        ..Seen::default()
    };
    Scene::seen(1, 1, seen)
}

/// A worker finds the job in one order only: it cannot claim before the job is in both.
#[test]
fn board_insert_against_removal() {
    model("board_insert_against_removal", None, || {
        let scene = Scene::new(1, 1);
        let stage = Cells::new(1);
        let worker = thread::spawn({
            let scene = scene.clone();
            move || pipeline_exec::policy::run_main_worker(&*scene, 0, 0)
        });
        let (state, _) = scene.submit(vec![stage.clone()]).expect("nobody closes here");
        if !worker.join().unwrap() {
            assert!(
                pipeline_exec::policy::run_main_worker(&*scene, 0, 0),
                "the job is on the board and its slot is free"
            );
        }
        scene.assert_over(&[state]);
        assert_eq!(stage.ran(), (1, 1));
    });
}

#[test]
fn next_stage_against_a_worker_that_stays() {
    model("next_stage_against_a_worker_that_stays", Some(2), || {
        let scene = Scene::new(2, 1);
        let stages = [Cells::new(1), Cells::new(2)];
        let (state, _) = scene
            .submit(vec![stages[0].clone(), stages[1].clone()])
            .expect("nobody closes here");
        let other = thread::spawn({
            let scene = scene.clone();
            move || while pipeline_exec::policy::run_main_worker(&*scene, 1, u64::MAX) {}
        });
        while pipeline_exec::policy::run_main_worker(&*scene, 0, u64::MAX) {}
        other.join().unwrap();
        scene.assert_over(&[state]);
        assert_eq!((stages[0].ran(), stages[1].ran()), ((1, 1), (2, 1)));
    });
}

#[test]
fn cancel_against_the_last_claim() {
    model("cancel_against_the_last_claim", Some(6), || {
        let scene = with_table();
        let stage = Cells::new(1);
        let (state, job) = scene.submit(vec![stage.clone()]).expect("nobody closes here");
        cancel_against_a_visit(&scene, &state, job);
        scene.assert_over(&[state]);
    });
}

#[test]
fn cancel_against_a_single() {
    model("cancel_against_a_single", None, || {
        let scene = with_table();
        let stage = Cells::new(1);
        let (state, job) = scene.submit_single(stage.clone()).expect("nobody closes here");
        cancel_against_a_visit(&scene, &state, job);
        scene.assert_over(&[state]);
        assert!(
            !pipeline_exec::policy::run_main_worker(&*scene, 0, 0),
            "nothing of it can be claimed any more"
        );
        assert!(stage.ran().0 <= 1);
    });
}

fn cancel_against_a_visit(scene: &Rc<Scene>, state: &Arc<State>, job: JobHandle) {
    let canceller = thread::spawn({
        let (scene, state) = (scene.clone(), state.clone());
        move || policy::cancel(&*scene, &state, job)
    });
    pipeline_exec::policy::run_main_worker(&**scene, 0, 0);
    canceller.join().unwrap();
}
