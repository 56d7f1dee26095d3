//! Models of parties that reconcile a job while its claims change.

use loom::thread;
use pipeline_exec::policy;

use crate::harness::cells::{Cells, SLOW_NS};
use crate::harness::model;
use crate::harness::scene::{Scene, Seen};

#[test]
fn claim_of_the_last_against_stage_start() {
    model("claim_of_the_last_against_stage_start", Some(3), || {
        let scene = Scene::new(2, 1);
        let stages = [Cells::new(2), Cells::new(1)];
        let (state, _) = scene
            .submit(vec![stages[0].clone(), stages[1].clone()])
            .expect("nobody closes here");
        let other = thread::spawn({
            let scene = scene.clone();
            move || pipeline_exec::policy::run_main_worker(&*scene, 1, 0)
        });
        pipeline_exec::policy::run_main_worker(&*scene, 0, 0);
        other.join().unwrap();
        while pipeline_exec::policy::run_main_worker(&*scene, 0, 0) {}
        scene.assert_over(&[state]);
        assert_eq!((stages[0].ran(), stages[1].ran()), ((2, 1), (1, 1)));
    });
}

#[test]
fn cancel_against_stage_start() {
    model("cancel_against_stage_start", Some(3), || {
        let scene = Scene::new(1, 1);
        let stages = [Cells::new(1), Cells::new(1)];
        let (state, job) = scene
            .submit(vec![stages[0].clone(), stages[1].clone()])
            .expect("nobody closes here");
        let canceller = thread::spawn({
            let (scene, state) = (scene.clone(), state.clone());
            move || policy::cancel(&*scene, &state, job)
        });
        while pipeline_exec::policy::run_main_worker(&*scene, 0, 0) {}
        canceller.join().unwrap();
        scene.assert_over(&[state]);
    });
}

#[test]
fn rekey_against_removal() {
    model("rekey_against_removal", Some(3), || {
        let scene = Scene::new(2, 1);
        let stage = Cells::new(2);
        let (state, _) = scene.submit(vec![stage.clone()]).expect("nobody closes here");
        let other = thread::spawn({
            let scene = scene.clone();
            move || pipeline_exec::policy::run_main_worker(&*scene, 1, 0)
        });
        let found = pipeline_exec::policy::run_main_worker(&*scene, 0, 0);
        assert!(
            found && other.join().unwrap(),
            "a job with a slot was found by nobody"
        );
        scene.assert_over(&[state]);
        assert_eq!(stage.ran(), (2, 1));
    });
}

#[test]
fn give_back_against_the_claim_of_the_last() {
    model("give_back_against_the_claim_of_the_last", Some(2), || {
        // Only one worker counts for the width of a claim, so five slots allow a claim of two.
        let scene = Scene::new(1, 1);
        let stage = Cells::with_slow(5, 1);
        let (state, _) = scene.submit(vec![stage.clone()]).expect("nobody closes here");
        // The slots take no time, which the policy knows now.
        assert!(pipeline_exec::policy::run_main_worker(&*scene, 0, 0));
        let giver = thread::spawn({
            let scene = scene.clone();
            move || pipeline_exec::policy::run_main_worker(&*scene, 0, SLOW_NS)
        });
        stage.while_slow(|| {
            assert!(
                pipeline_exec::policy::run_main_worker(&*scene, 0, 0),
                "two are left"
            );
        });
        pipeline_exec::policy::run_main_worker(&*scene, 0, 0);
        giver.join().unwrap();
        while pipeline_exec::policy::run_main_worker(&*scene, 0, u64::MAX) {}
        scene.assert_over(&[state]);
        assert_eq!((stage.ran(), scene.given_back()), ((5, 1), 1));
    });
}

#[test]
fn give_back_against_cancel() {
    model("give_back_against_cancel", Some(6), || {
        let seen = Seen {
            ledgers: true,
            table: true,
        };
        let scene = Scene::seen(1, 1, seen);
        let stage = Cells::with_slow(5, 1);
        let (state, job) = scene.submit(vec![stage.clone()]).expect("nobody closes here");
        assert!(pipeline_exec::policy::run_main_worker(&*scene, 0, 0));
        let giver = thread::spawn({
            let scene = scene.clone();
            move || pipeline_exec::policy::run_main_worker(&*scene, 0, SLOW_NS)
        });
        stage.while_slow(|| {});
        policy::cancel(&*scene, &state, job);
        giver.join().unwrap();
        scene.assert_over(&[state]);
        assert_eq!(stage.ran(), (2, 0));
    });
}
