//! Private tasks against idle workers and against the end.

use executor_core::ports::{LocalQueue, Steal, Stealing};
use executor_core::sleep::Search;
use executor_core::{WorkerCtxLike, WorkerExit};
use loom::thread;

use crate::harness::model;
use crate::harness::scene::{LoomWorker, PlannedPanic, Scene, Task};

fn keep(cx: &mut LoomWorker, tasks: impl IntoIterator<Item = Task>) {
    tasks.into_iter().for_each(|task| cx.state().spawn_local(task));
    assert!(cx.state().ports().is_empty(), "they are public");
}

#[test]
fn exposure_against_a_worker_that_falls_asleep() {
    model("exposure_against_a_worker_that_falls_asleep", None, || {
        let scene = Scene::keeping(2, 2, 1);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        let sleeper = thread::spawn({
            let scene = scene.clone();
            move || scene.take_one(&scene.locals[0], 1, false)
        });
        let mut owner = scene.worker(0);
        scene.step(&mut owner, |_, cx| {
            keep(cx, [1]);
            cx.state().publish();
        });
        assert_eq!(sleeper.join().unwrap(), 1);
        assert_eq!(
            in_flight(&scene),
            2,
            "the task that goes on for ever, and its child"
        );
    });
}

#[test]
fn exposure_against_a_searcher_that_falls_asleep() {
    model("exposure_against_a_searcher_that_falls_asleep", None, || {
        let scene = Scene::keeping(2, 3, 1);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        assert!(scene.scheduler.sleep().begin_search(&scene.outside()));
        let searcher = thread::spawn({
            let scene = scene.clone();
            move || scene.take_one(&scene.locals[0], 1, true)
        });
        let mut owner = scene.worker(0);
        scene.step(&mut owner, |_, cx| keep(cx, [1, 2]));
        scene.step(&mut owner, |task, _| assert_eq!(task, 2));
        assert_eq!(searcher.join().unwrap(), 1);
    });
}

#[test]
fn thief_takes_while_the_owner_exposes() {
    model("thief_takes_while_the_owner_exposes", Some(5), || {
        let scene = Scene::keeping(2, 3, 1);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        scene.scheduler.close(&scene.outside());
        assert!(scene.scheduler.sleep().begin_search(&scene.outside()));
        let thief = thread::spawn({
            let scene = scene.clone();
            move || {
                let ports = scene.outside_as(1);
                let found = ports.steal_from(0);
                scene
                    .scheduler
                    .sleep()
                    .found_work(&ports, Search::Yes, false, || false);
                if let Steal::Task(task) = found {
                    scene.note_run(task);
                    scene.scheduler.release(&ports, 1);
                }
            }
        });
        let exit = scene.work(0, |task, cx| {
            if task == 0 {
                keep(cx, [1, 2]);
            }
        });
        thief.join().unwrap();
        assert_eq!(exit, (vec![], WorkerExit::Done));
        assert_eq!([0, 1, 2].map(|task| scene.runs(task)), [1, 1, 1]);
        assert_eq!((in_flight(&scene), scene.signals()), (0, 1));
    });
}

#[test]
fn private_spawn_on_a_credit_of_one_against_close() {
    model("private_spawn_on_a_credit_of_one_against_close", None, || {
        private_spawn_against_close(1);
    });
}

#[test]
fn private_spawn_on_a_credit_of_two_against_close() {
    model("private_spawn_on_a_credit_of_two_against_close", None, || {
        private_spawn_against_close(2);
    });
}

fn private_spawn_against_close(block: usize) {
    let scene = Scene::keeping(1, 2, block);
    scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
    let worker = thread::spawn({
        let scene = scene.clone();
        move || spawning(&scene, 0, |task| if task == 0 { vec![1] } else { vec![] })
    });
    scene.scheduler.close(&scene.outside());
    assert_eq!(worker.join().unwrap(), WorkerExit::Done);
    ended_once(&scene, 2);
}

fn spawning(scene: &Scene, me: usize, children: impl Fn(Task) -> Vec<Task>) -> WorkerExit {
    let (returned, exit) = scene.work(me, |task, cx| {
        assert!(!scene.is_over(), "it ended before task {task}");
        children(task)
            .into_iter()
            .for_each(|child| cx.state().spawn_local(child));
        assert!(!scene.is_over(), "it ended in task {task}");
    });
    assert_eq!(returned, []);
    exit
}

fn in_flight(scene: &Scene) -> usize {
    scene.scheduler.state().in_flight(&scene.outside())
}

fn ended_once(scene: &Scene, tasks: usize) {
    for task in 0..tasks {
        assert_eq!(scene.runs(task), 1, "task {task}");
    }
    assert_eq!((in_flight(scene), scene.signals()), (0, 1));
}

#[test]
fn private_tasks_on_credits_of_one_while_draining() {
    model("private_tasks_on_credits_of_one_while_draining", Some(5), || {
        two_workers_drain(1, 3, |task| if task == 0 { vec![1, 2] } else { vec![] });
    });
}

#[test]
fn private_tasks_on_credits_of_two_while_draining() {
    model("private_tasks_on_credits_of_two_while_draining", Some(5), || {
        two_workers_drain(2, 3, |task| if task == 0 { vec![1, 2] } else { vec![] });
    });
}

#[test]
fn hungry_word_changes_during_the_last_private_task() {
    model(
        "hungry_word_changes_during_the_last_private_task",
        Some(4),
        || {
            two_workers_drain(1, 4, |task| match task {
                0 => vec![1],
                1 => vec![2, 3],
                _ => vec![],
            });
        },
    );
}

fn two_workers_drain(block: usize, tasks: usize, children: fn(Task) -> Vec<Task>) {
    let scene = Scene::keeping(2, tasks, block);
    scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
    scene.scheduler.close(&scene.outside());
    let other = thread::spawn({
        let scene = scene.clone();
        move || spawning(&scene, 1, children)
    });
    assert_eq!(spawning(&scene, 0, children), WorkerExit::Done);
    assert_eq!(other.join().unwrap(), WorkerExit::Done);
    ended_once(&scene, tasks);
}

#[test]
fn abort_between_a_task_and_the_one_that_it_returns() {
    model("abort_between_a_task_and_the_one_that_it_returns", None, || {
        let scene = Scene::keeping(1, 3, 1);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        let worker = thread::spawn({
            let scene = scene.clone();
            move || scene.work(0, |task, _| (task < 2).then_some(task + 1))
        });
        scene.scheduler.abort(&scene.outside());
        let (returned, exit) = worker.join().unwrap();
        assert_eq!(exit, WorkerExit::Done);
        // A row of tasks ran, and the one behind it came back.
        let ran = (0..3).take_while(|&task| scene.runs(task) == 1).count();
        let (runs, back): (Vec<usize>, Vec<usize>) = (0..3)
            .map(|task| (scene.runs(task), scene.hand_backs(task)))
            .unzip();
        assert_eq!(runs.iter().sum::<usize>(), ran, "{runs:?}");
        assert_eq!(
            returned,
            Vec::from_iter((ran < 3).then_some(ran)),
            "{runs:?} {back:?}"
        );
        assert_eq!(back.iter().sum::<usize>(), returned.len());
        assert_eq!(in_flight(&scene), 0);
    });
}

#[test]
fn panic_with_private_tasks_against_wait_idle() {
    model("panic_with_private_tasks_against_wait_idle", None, || {
        let scene = Scene::keeping(1, 2, 2);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        let worker = panicking(&scene);
        scene.scheduler.wait_idle(&scene.outside());
        assert_eq!(scene.hand_backs(1), 1, "somebody waited past a private task");
        assert_eq!(worker.join().unwrap(), (vec![1], WorkerExit::Panicked));
        assert!(scene.scheduler.state().is_idle(&scene.outside()));
    });
}

#[test]
fn panic_with_private_tasks_against_close() {
    model("panic_with_private_tasks_against_close", None, || {
        let scene = Scene::keeping(1, 2, 2);
        scene.scheduler.spawn_external(&scene.outside(), 0).unwrap();
        let worker = panicking(&scene);
        scene.scheduler.close(&scene.outside());
        assert_eq!(worker.join().unwrap(), (vec![1], WorkerExit::Panicked));
        assert_eq!((scene.hand_backs(1), scene.signals()), (1, 1));
        assert!(scene.scheduler.state().is_idle(&scene.outside()));
    });
}

fn panicking(scene: &Scene) -> thread::JoinHandle<(Vec<Task>, WorkerExit)> {
    let scene = scene.clone();
    thread::spawn(move || {
        scene.work(0, |_, cx| {
            keep(cx, [1]);
            PlannedPanic::throw();
        })
    })
}
