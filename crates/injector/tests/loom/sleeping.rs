//! The last look of a consumer that falls asleep, against a push. The fences are the callers'.

use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, fence};
use loom::thread::{self, JoinHandle};

use crate::{Queue, consumer, model, push, queue, take};

#[derive(Clone)]
struct Scene {
    queue: Queue,
    registered: Arc<AtomicBool>,
}

impl Scene {
    fn new(values: &[usize]) -> Scene {
        Scene {
            queue: queue(values.iter().copied()),
            registered: Arc::new(AtomicBool::new(false)),
        }
    }

    fn push(&self, value: usize) -> bool {
        push(&self.queue, [value]);
        fence(Ordering::SeqCst);
        self.registered.load(Ordering::Relaxed)
    }

    /// The load is sequentially consistent, which loom does not know.
    fn push_without_a_fence(&self, value: usize) -> bool {
        push(&self.queue, [value]);
        self.registered.load(Ordering::SeqCst)
    }

    fn sleeper<R: 'static>(&self, look: impl FnOnce(&Queue) -> R + 'static) -> JoinHandle<R> {
        let scene = self.clone();
        thread::spawn(move || {
            scene.registered.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            look(&scene.queue)
        })
    }
}

#[test]
fn push_against_the_last_look_of_is_empty() {
    model("push_against_the_last_look_of_is_empty", None, || {
        let scene = Scene::new(&[]);
        let sleeper = scene.sleeper(|queue| queue.is_empty());
        let seen = scene.push(1);
        assert!(
            seen || !sleeper.join().unwrap(),
            "the consumer sleeps over a value"
        );
    });
}

#[test]
fn push_without_a_fence_against_the_last_look_of_is_empty() {
    model(
        "push_without_a_fence_against_the_last_look_of_is_empty",
        None,
        || {
            let scene = Scene::new(&[]);
            let sleeper = scene.sleeper(|queue| queue.is_empty());
            let seen = scene.push_without_a_fence(1);
            assert!(
                seen || !sleeper.join().unwrap(),
                "the consumer sleeps over a value"
            );
        },
    );
}

#[test]
fn push_without_a_fence_against_a_last_take_that_waits() {
    model(
        "push_without_a_fence_against_a_last_take_that_waits",
        Some(4),
        || {
            let scene = Scene::new(&[]);
            let sleeper = scene.sleeper(|queue| {
                loop {
                    let taken = take(queue);
                    if !taken.is_empty() || queue.is_empty() {
                        break taken;
                    }
                    thread::yield_now();
                }
            });
            let seen = scene.push_without_a_fence(1);
            assert!(
                seen || sleeper.join().unwrap() == [1],
                "the consumer sleeps over a value"
            );
        },
    );
}

#[test]
fn push_against_the_last_look_of_has_ready() {
    model("push_against_the_last_look_of_has_ready", None, || {
        let scene = Scene::new(&[]);
        let sleeper = scene.sleeper(|queue| queue.has_ready().then(|| assert_eq!(take(queue), [1])));
        let seen = scene.push(1);
        let found = sleeper.join().unwrap().is_some();
        assert!(seen || found, "the consumer sleeps over a value");
    });
}

#[test]
fn push_against_a_last_take() {
    model("push_against_a_last_take", None, || {
        let scene = Scene::new(&[]);
        let sleeper = scene.sleeper(take);
        let seen = scene.push(1);
        assert!(
            seen || sleeper.join().unwrap() == [1],
            "the consumer sleeps over a value"
        );
    });
}

#[test]
fn two_pushes_against_the_last_look_of_has_ready() {
    model("two_pushes_against_the_last_look_of_has_ready", None, || {
        let scene = Scene::new(&[]);
        let sleeper = scene.sleeper(|queue| queue.has_ready());
        let other = thread::spawn({
            let scene = scene.clone();
            move || scene.push(1)
        });
        let seen = scene.push(2) | other.join().unwrap();
        assert!(
            seen || sleeper.join().unwrap(),
            "the consumer sleeps over two values"
        );
    });
}

#[test]
fn push_and_take_against_the_last_look_of_is_empty() {
    model("push_and_take_against_the_last_look_of_is_empty", Some(4), || {
        let scene = Scene::new(&[1]);
        let sleeper = scene.sleeper(|queue| queue.is_empty());
        let taker = consumer(&scene.queue);
        let seen = scene.push(2);
        let (empty, taken) = (sleeper.join().unwrap(), taker.join().unwrap());
        assert!(
            seen || !empty || taken == [1, 2],
            "the consumer sleeps over a value"
        );
    });
}
