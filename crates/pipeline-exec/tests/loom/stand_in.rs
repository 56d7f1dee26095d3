//! Models of spare threads, named after the races in
//! `crates/pipeline-exec/src/policy/worker/stand_in/README.md`.
//!
//! The only worker's slot ends after the young jobs, so loom reports a young job that no spare
//! thread takes as a deadlock. Time passes only while spare threads sleep.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use loom::thread;
use pipeline_exec::policy::PipelinePorts as _;
use pipeline_exec::{JobStatus, Stage, StepCx, StepError, policy};

use crate::harness::cells::Cells;
use crate::harness::model;
use crate::harness::scene::{Scene, State};

#[test]
fn young_work_published_while_the_watching_thread_rests() {
    model(
        "young_work_published_while_the_watching_thread_rests",
        Some(5),
        || {
            let scene = Scene::with_spares(1, 3, 1);
            let held = scene.submit_old(does(&scene, |scene| {
                submit_young(scene);
                scene.wait_ended(2);
            }));
            submit_young(&scene);
            play(&scene, 1, held.expect("nobody closes here").0);
        },
    );
}

#[test]
fn young_work_published_while_the_last_spare_thread_parks() {
    model(
        "young_work_published_while_the_last_spare_thread_parks",
        Some(6),
        || {
            let scene = Scene::with_spares(1, 3, 1);
            let held = scene.submit_old(does(&scene, |scene| {
                submit_young(scene);
                submit_young(scene);
                scene.wait_ended(2);
            }));
            play(&scene, 1, held.expect("nobody closes here").0);
        },
    );
}

#[test]
fn a_thread_that_wakes_by_itself_while_it_is_told() {
    model("a_thread_that_wakes_by_itself_while_it_is_told", Some(3), || {
        let scene = Scene::with_spares(1, 4, 1);
        let held = scene.submit_old(does(&scene, |scene| {
            submit_young(scene);
            scene.wait_ended(1);
            scene.wake_spare(0);
            submit_young(scene);
            submit_young(scene);
            scene.wait_ended(3);
        }));
        play(&scene, 1, held.expect("nobody closes here").0);
    });
}

#[test]
fn young_work_published_while_the_watching_thread_goes_into_a_job() {
    model(
        "young_work_published_while_the_watching_thread_goes_into_a_job",
        Some(2),
        || {
            let scene = Scene::with_spares(2, 4, 2);
            let held = scene.submit_old(does(&scene, |scene| {
                let other = scene.submit_old(vec![does_again(|scene| {
                    let waits = does_again(|scene| scene.wait_ended(1));
                    scene.submit_single(waits).expect("nobody closes here");
                    submit_young(scene);
                    scene.wait_ended(2);
                })]);
                scene.work_once(1);
                drop(other);
            }));
            play(&scene, 2, held.expect("nobody closes here").0);
        },
    );
}

/// The job is old by then, and the worker found it full.
#[test]
fn a_job_that_a_spare_thread_leaves_against_a_look_that_lays_itself_down() {
    model(
        "a_job_that_a_spare_thread_leaves_against_a_look_that_lays_itself_down",
        Some(2),
        || {
            let scene = Scene::with_spares(1, 2, 1);
            let held = scene.submit_old(does(&scene, |scene| {
                let long = does_again(|scene| {
                    scene.happens();
                    scene.pass(LONG_NS);
                });
                let narrow = scene.submit_narrow(vec![long, Cells::new(1)], 1);
                narrow.expect("nobody closes here");
                scene.wait_happened();
            }));
            play(&scene, 1, held.expect("nobody closes here").0);
        },
    );
}

const LONG_NS: u64 = 10_000_000_000;

#[test]
fn a_shutdown_against_a_thread_that_is_told_to_watch() {
    model("a_shutdown_against_a_thread_that_is_told_to_watch", None, || {
        let scene = Scene::with_spares(1, 2, 1);
        let held = scene.submit_old(does(&scene, |scene| {
            submit_young(scene);
            policy::stop(scene);
        }));
        play(&scene, 1, held.expect("nobody closes here").0);
    });
}

fn play(scene: &Rc<Scene>, spares: usize, held: Arc<State>) {
    let spares = (0..spares).map(|spare| {
        let scene = scene.clone();
        thread::spawn(move || scene.stand_in(spare))
    });
    let spares: Vec<_> = spares.collect();
    scene.work(0);
    for spare in spares {
        spare.join().unwrap();
    }
    scene.work(0);
    scene.assert_over(std::slice::from_ref(&held));
    assert_eq!(scene.status(&held), JobStatus::Completed);
}

fn submit_young(scene: &Scene) {
    scene.submit_single(Cells::new(1)).expect("nobody closes here");
}

fn does(scene: &Rc<Scene>, act: fn(&Scene)) -> Vec<Arc<dyn Stage>> {
    SCENE.set(Rc::downgrade(scene));
    vec![does_again(act)]
}

fn does_again(act: fn(&Scene)) -> Arc<dyn Stage> {
    Arc::new(Does(act))
}

struct Does(fn(&Scene));

// A stage must be `Send` and the scene is not, but loom runs all threads on one.
std::thread_local! {
    static SCENE: RefCell<Weak<Scene>> = const { RefCell::new(Weak::new()) };
}

impl Stage for Does {
    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let scene = SCENE.with_borrow(Weak::upgrade);
        self.0(&scene.expect("a scene is played"));
        Ok(())
    }
}
