//! Who settles a job while its claims change: the board agrees with them in the end, and a job with slots is found.

use loom::thread;
use pipeline_exec::policy;

use crate::harness::model;
use crate::harness::scene::{Cells, Scene};

/// One worker claims the last slot of a stage and takes the job off, while the other one, which stayed in the job, runs that slot's
/// stage to its end and starts the next: the job is on the board again, whoever comes second.
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
            move || pipeline_exec::run_main_worker(&*scene, 1, 0)
        });
        pipeline_exec::run_main_worker(&*scene, 0, 0);
        other.join().unwrap();
        // Nobody settles it any more: if a slot is left, the job is found.
        while pipeline_exec::run_main_worker(&*scene, 0, 0) {}
        scene.assert_over(&[state]);
        assert_eq!((stages[0].ran(), stages[1].ran()), ((2, 1), (1, 1)));
    });
}

/// A cancel while the last slot of the first stage runs and the next stage starts: the job comes off the board, whoever puts
/// it there.
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
        while pipeline_exec::run_main_worker(&*scene, 0, 0) {}
        canceller.join().unwrap();
        scene.assert_over(&[state]);
    });
}
