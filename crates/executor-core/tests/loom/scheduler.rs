//! Whole workers against producers, closers and waiters, on loom's memory.

use loom::thread;

use executor_core::{WorkerCtxLike, WorkerExit};

use crate::harness::model;
use crate::harness::scene::{PlannedPanic, Scene, Task};

fn worker(scene: &Scene, me: usize) -> thread::JoinHandle<(Vec<Task>, WorkerExit)> {
    let scene = scene.clone();
    thread::spawn(move || scene.work(me, |_, _| {}))
}

#[test]
fn external_task_then_close_ends_the_worker() {
    model("external_task_then_close_ends_the_worker", None, || {
        let scene = Scene::new(1, 1, 1);
        let worker = worker(&scene, 0);
        let ports = scene.outside();
        scene.scheduler.spawn_external(&ports, 0).unwrap();
        scene.scheduler.close(&ports);
        assert_eq!(worker.join().unwrap(), (vec![], WorkerExit::Done));
        assert_eq!(scene.runs(0), 1);
    });
}

#[test]
fn producer_against_close() {
    model("producer_against_close", Some(3), || {
        let scene = Scene::new(1, 1, 1);
        let worker = worker(&scene, 0);
        let producer = thread::spawn({
            let scene = scene.clone();
            move || scene.scheduler.spawn_external(&scene.outside(), 0).is_ok()
        });
        scene.scheduler.close(&scene.outside());
        let accepted = producer.join().unwrap();
        worker.join().unwrap();
        assert_eq!(scene.runs(0), usize::from(accepted));
    });
}

#[test]
fn abort_against_an_accepted_spawn_that_has_not_pushed() {
    model(
        "abort_against_an_accepted_spawn_that_has_not_pushed",
        Some(3),
        || {
            let scene = Scene::new(1, 1, 1);
            let worker = worker(&scene, 0);
            let producer = thread::spawn({
                let scene = scene.clone();
                move || scene.scheduler.spawn_external(&scene.outside(), 0).is_ok()
            });
            scene.scheduler.abort(&scene.outside());
            let accepted = producer.join().unwrap();
            let (returned, _) = worker.join().unwrap();
            assert_eq!(scene.runs(0) + returned.len(), usize::from(accepted));
        },
    );
}

#[test]
fn drop_against_spawn() {
    model("drop_against_spawn", None, || {
        let scene = Scene::new(1, 2, 1);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        let worker = thread::spawn({
            let scene = scene.clone();
            move || {
                scene.work(0, |task, cx| {
                    if task == 0 {
                        cx.state().spawn_local(1)
                    }
                })
            }
        });
        scene.scheduler.abort(&scene.outside());
        let (returned, exit) = worker.join().unwrap();
        assert_eq!(exit, WorkerExit::Done);
        let ends = |task| scene.runs(task) + returned.iter().filter(|&&back| back == task).count();
        assert_eq!((ends(0), ends(1)), (1, scene.runs(0)));
    });
}

#[test]
fn panic_against_spawn() {
    model("panic_against_spawn", Some(4), || {
        let scene = Scene::new(1, 2, 1);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        let worker = thread::spawn({
            let scene = scene.clone();
            move || {
                scene.work(0, |task, _| {
                    if task == 0 {
                        PlannedPanic::throw()
                    }
                })
            }
        });
        let accepted = scene.scheduler.spawn_external(&scene.outside(), 1).is_ok();
        let (returned, exit) = worker.join().unwrap();
        assert_eq!(exit, WorkerExit::Panicked);
        assert_eq!(scene.runs(1) + returned.len(), usize::from(accepted));
        assert!(!scene.scheduler.state().is_accepting(&scene.outside()));
    });
}

#[test]
fn wait_idle_against_the_last_completion() {
    model("wait_idle_against_the_last_completion", Some(3), || {
        let scene = Scene::new(1, 1, 1);
        let worker = worker(&scene, 0);
        let ports = scene.outside();
        scene.scheduler.spawn_external(&ports, 0).unwrap();
        scene.scheduler.wait_idle(&ports);
        assert_eq!(scene.runs(0), 1);
        scene.scheduler.close(&ports);
        worker.join().unwrap();
    });
}

#[test]
fn local_spawn_while_draining() {
    model("local_spawn_while_draining", Some(2), || {
        let scene = Scene::new(2, 2, 2);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        let workers = [0, 1].map(|me| {
            let scene = scene.clone();
            thread::spawn(move || {
                scene.work(me, |task, cx| {
                    if task == 0 {
                        cx.state().spawn_local(1)
                    }
                })
            })
        });
        scene.scheduler.close(&scene.outside());
        for worker in workers {
            assert_eq!(worker.join().unwrap(), (vec![], WorkerExit::Done));
        }
        assert_eq!((scene.runs(0), scene.runs(1)), (1, 1));
    });
}
