//! Models of looks, named after the races in
//! `crates/pipeline-exec/src/policy/worker/look/README.md`.

use std::rc::Rc;
use std::sync::Arc;

use loom::thread;
use pipeline_exec::{JobErrorKind, JobStatus, Stage, policy, policy::JobHandle};

use crate::harness::cells::Cells;
use crate::harness::model;
use crate::harness::scene::{Scene, Seen, State};

type Submit = fn(&Scene, Arc<Cells>) -> Option<(Arc<State>, JobHandle)>;

fn on_the_board(scene: &Scene, stage: Arc<Cells>) -> Option<(Arc<State>, JobHandle)> {
    scene.submit(vec![stage as Arc<dyn Stage>])
}

fn as_a_single(scene: &Scene, stage: Arc<Cells>) -> Option<(Arc<State>, JobHandle)> {
    scene.submit_single(stage)
}

#[test]
fn look_lays_itself_down_against_publish() {
    model("look_lays_itself_down_against_publish", Some(3), || {
        look_lays_itself_down(on_the_board);
    });
}

#[test]
fn look_lays_itself_down_against_a_single() {
    model("look_lays_itself_down_against_a_single", Some(4), || {
        look_lays_itself_down(as_a_single);
    });
}

fn look_lays_itself_down(submit: Submit) {
    let scene = Scene::new(1, 2);
    let stages = [Cells::new(1), Cells::new(1)];
    let worker = thread::spawn({
        let scene = scene.clone();
        move || scene.work(0)
    });
    let jobs = stages
        .each_ref()
        .map(|stage| submit(&scene, stage.clone()).expect("nobody closes here").0);
    worker.join().unwrap();
    // A look handed over after the end of the last job finds nothing.
    scene.work(0);
    scene.assert_over(&jobs);
    assert!(stages.iter().all(|stage| stage.ran() == (1, 1)));
    assert_eq!(policy::PipelinePorts::shared(&*scene).looks().out(&*scene), 0);
}

#[test]
fn two_looks_against_the_next_stage() {
    model("two_looks_against_the_next_stage", Some(1), || {
        let scene = Scene::new(2, 1);
        let stages = [Cells::new(1), Cells::new(2)];
        let workers = [0, 1].map(|worker| {
            let scene = scene.clone();
            thread::spawn(move || scene.work(worker))
        });
        let (state, _) = scene
            .submit(vec![stages[0].clone(), stages[1].clone()])
            .expect("nobody closes here");
        for worker in workers {
            worker.join().unwrap();
        }
        scene.assert_over(&[state]);
        assert_eq!((stages[0].ran(), stages[1].ran()), ((1, 1), (2, 1)));
    });
}

#[test]
fn stop_against_submit() {
    model("stop_against_submit", None, || stop_against(on_the_board));
}

#[test]
fn stop_against_a_single() {
    model("stop_against_a_single", None, || stop_against(as_a_single));
}

fn stop_against(submit: Submit) {
    let seen = Seen {
        table: true,
        ..Seen::default()
    };
    let scene: Rc<Scene> = Scene::seen(1, 1, seen);
    let stage = Cells::new(1);
    let stopper = thread::spawn({
        let scene = scene.clone();
        move || policy::stop(&*scene).len()
    });
    let admitted = submit(&scene, stage.clone());
    let handed_back = stopper.join().unwrap();
    let states: Vec<_> = admitted.iter().map(|(state, _)| state.clone()).collect();
    scene.assert_over(&states);
    for state in &states {
        assert_eq!(scene.status(state), JobStatus::Ended(JobErrorKind::HandedBack));
    }
    assert_eq!(
        states.len(),
        handed_back,
        "the submitter or the stopper has the job, not both"
    );
    assert_eq!(stage.ran(), (0, 0));
}

/// A worker whose job a shutdown closed must not begin one that is still open.
#[test]
fn stop_against_a_worker_that_comes_back() {
    model("stop_against_a_worker_that_comes_back", None, || {
        let seen = Seen {
            table: true,
            ..Seen::default()
        };
        let scene = Scene::seen(1, 2, seen);
        let stages = [Cells::new(2), Cells::new(1)];
        let jobs = stages
            .each_ref()
            .map(|stage| on_the_board(&scene, stage.clone()).expect("nobody closes here").0);
        let worker = thread::spawn({
            let (scene, first) = (scene.clone(), jobs[0].clone());
            move || first.claims().is_closed(&*scene) && policy::run_main_worker(&*scene, 0, 0)
        });
        let handed_back = policy::stop(&*scene).len();
        assert!(
            !worker.join().unwrap(),
            "a job began after the shutdown had closed another"
        );
        assert_eq!(handed_back, 2);
        assert_eq!(stages[1].ran(), (0, 0));
    });
}
