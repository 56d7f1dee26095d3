//! The sleep protocol, named after the races in `crates/executor-core/src/words/sleep/README.md`. A
//! lost task shows as a deadlock.

use std::sync::atomic::Ordering;

use executor_core::Park;
use executor_core::sleep::{Search, Slept};
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

use crate::harness::model;
use crate::harness::scene::Scene;

fn take_one(scene: &Scene, me: usize, searching: bool) -> usize {
    scene.take_one(&scene.injector, me, searching)
}

fn push(scene: &Scene, task: usize) {
    scene.injector.push(task);
    scene.scheduler.sleep().notify(&scene.outside(), 1);
}

#[test]
fn sleeper_registers_against_push() {
    model("sleeper_registers_against_push", None, || {
        let scene = Scene::new(1, 1, 1);
        let worker = thread::spawn({
            let scene = scene.clone();
            move || take_one(&scene, 0, false)
        });
        push(&scene, 0);
        assert_eq!(worker.join().unwrap(), 0);
    });
}

/// Registering includes leaving the search.
#[test]
fn searcher_leaves_the_search_against_push() {
    model("searcher_leaves_the_search_against_push", None, || {
        let scene = Scene::new(1, 1, 1);
        assert!(scene.scheduler.sleep().begin_search(&scene.outside()));
        let worker = thread::spawn({
            let scene = scene.clone();
            move || take_one(&scene, 0, true)
        });
        push(&scene, 0);
        assert_eq!(worker.join().unwrap(), 0);
    });
}

#[test]
fn two_pushes_against_one_searcher() {
    model("two_pushes_against_one_searcher", Some(3), || {
        let scene = Scene::new(2, 2, 1);
        assert!(scene.scheduler.sleep().begin_search(&scene.outside()));
        let searcher = thread::spawn({
            let scene = scene.clone();
            move || take_one(&scene, 0, true)
        });
        let sleeper = thread::spawn({
            let scene = scene.clone();
            move || take_one(&scene, 1, false)
        });
        push(&scene, 0);
        push(&scene, 1);
        let mut both = [searcher.join().unwrap(), sleeper.join().unwrap()];
        both.sort_unstable();
        assert_eq!(both, [0, 1]);
    });
}

#[test]
fn two_wakers_choose_two_sleepers() {
    model("two_wakers_choose_two_sleepers", Some(2), || {
        let scene = Scene::new(2, 2, 1);
        let workers = [0, 1].map(|me| {
            let scene = scene.clone();
            thread::spawn(move || take_one(&scene, me, false))
        });
        let producer = thread::spawn({
            let scene = scene.clone();
            move || push(&scene, 1)
        });
        push(&scene, 0);
        producer.join().unwrap();
        let mut both = workers.map(|worker| worker.join().unwrap());
        both.sort_unstable();
        assert_eq!(both, [0, 1]);
    });
}

#[test]
fn waker_against_a_worker_that_deregisters_itself() {
    model("waker_against_a_worker_that_deregisters_itself", Some(3), || {
        let scene = Scene::new(1, 2, 1);
        let first = thread::spawn({
            let scene = scene.clone();
            move || push(&scene, 0)
        });
        let worker = thread::spawn({
            let scene = scene.clone();
            move || {
                let first = take_one(&scene, 0, false);
                first + take_one(&scene, 0, false)
            }
        });
        push(&scene, 1);
        first.join().unwrap();
        assert_eq!(worker.join().unwrap(), 1);
        let word = scene.scheduler.sleep().peek(&scene.outside());
        assert_eq!(
            (word.searchers(), word.sleepers()),
            (0, 0),
            "somebody is counted who is not there"
        );
    });
}

#[test]
fn searcher_hand_off_against_the_last_park() {
    model("searcher_hand_off_against_the_last_park", None, || {
        let scene = Scene::new(2, 2, 1);
        assert!(scene.scheduler.sleep().begin_search(&scene.outside()));
        // Both pushes relied on the searcher and woke no worker.
        scene.injector.push(0);
        scene.injector.push(1);
        let sleeper = thread::spawn({
            let scene = scene.clone();
            move || take_one(&scene, 1, false)
        });
        let mut both = [take_one(&scene, 0, true), sleeper.join().unwrap()];
        both.sort_unstable();
        assert_eq!(both, [0, 1]);
    });
}

#[test]
fn finish_against_a_worker_that_registers() {
    model("finish_against_a_worker_that_registers", None, || {
        let scene = Scene::new(1, 1, 1);
        let worker = thread::spawn({
            let scene = scene.clone();
            move || loop {
                let ports = scene.outside_as(0);
                if scene
                    .scheduler
                    .sleep()
                    .sleep(&ports, 0, false, Park::default(), || None::<()>)
                    == Slept::Over
                {
                    return;
                }
            }
        });
        scene.scheduler.sleep().finish(&scene.outside());
        worker.join().unwrap();
    });
}

#[test]
fn finish_against_two_workers_that_register() {
    model("finish_against_two_workers_that_register", Some(3), || {
        let scene = Scene::new(2, 1, 1);
        let workers = [0, 1].map(|me| {
            let scene = scene.clone();
            thread::spawn(move || {
                loop {
                    let ports = scene.outside_as(me);
                    if scene
                        .scheduler
                        .sleep()
                        .sleep(&ports, me, false, Park::default(), || None::<()>)
                        == Slept::Over
                    {
                        return;
                    }
                }
            })
        });
        scene.scheduler.sleep().finish(&scene.outside());
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn searchers_are_bounded() {
    model("searchers_are_bounded", None, || {
        let scene = Scene::new(2, 1, 1);
        let searching = Arc::new(AtomicUsize::new(0));
        let search = |scene: &Scene, searching: &Arc<AtomicUsize>| {
            let (scene, searching) = (scene.clone(), searching.clone());
            move || {
                let ports = scene.outside();
                if scene.scheduler.sleep().begin_search(&ports) {
                    assert_eq!(
                        searching.fetch_add(1, Ordering::Relaxed),
                        0,
                        "two searchers among two workers"
                    );
                    searching.fetch_sub(1, Ordering::Relaxed);
                    let sleep = scene.scheduler.sleep();
                    sleep.found_work(&ports, Search::Yes, false, || false);
                }
            }
        };
        let other = thread::spawn(search(&scene, &searching));
        search(&scene, &searching)();
        other.join().unwrap();
    });
}
