//! Models of jobs that grow, named after the races in
//! `crates/pipeline-exec/src/policy/executor/grow/README.md`. Loom reports a lost wake as a
//! deadlock.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

use loom::sync::atomic::AtomicUsize;
use loom::sync::{Condvar, Mutex};
use loom::thread;
use pipeline_exec::policy::{self, JobEnd, PipelinePorts, grow};
use pipeline_exec::{
    JobErrorKind, StepCx, StepError,
    open_job::{Task, Turn},
    policy::JobHandle,
};

use crate::harness::model;
use crate::harness::scene::{Scene, Seen, State};

thread_local! {
    /// Loom runs all threads of a model on one.
    static GROWN: RefCell<Weak<Grown>> = const { RefCell::new(Weak::new()) };
}

struct Grown {
    scene: Rc<Scene>,
    state: Arc<State>,
    job: JobHandle,
    books: Arc<Books>,
}

#[derive(Default)]
struct Books {
    turns: AtomicUsize,
    dropped: AtomicUsize,
    began: Began,
}

#[derive(Default)]
struct Began {
    has: Mutex<bool>,
    told: Condvar,
}

impl Began {
    fn tell(&self) {
        *self.has.lock().unwrap() = true;
        self.told.notify_one();
    }

    fn wait(&self) {
        let mut has = self.has.lock().unwrap();
        while !*has {
            has = self.told.wait(has).unwrap();
        }
    }
}

struct Planned {
    turns: VecDeque<Turn>,
    had: AtomicUsize,
    adds: Option<Box<Planned>>,
    books: Arc<Books>,
}

impl Grown {
    fn new(workers: usize) -> Rc<Self> {
        let seen = Seen {
            ledgers: true,
            table: true,
        };
        let scene = Scene::seen(workers, 1, seen);
        let (state, job) = scene.open().expect("nobody closes here");
        Self::of(scene, state, job)
    }

    fn of(scene: Rc<Scene>, state: Arc<State>, job: JobHandle) -> Rc<Self> {
        let grown = Rc::new(Self {
            scene,
            state,
            job,
            books: Arc::default(),
        });
        GROWN.set(Rc::downgrade(&grown));
        grown
    }

    fn task<const N: usize>(&self, turns: [Turn; N]) -> Box<Planned> {
        Box::new(Planned {
            turns: turns.into(),
            had: AtomicUsize::new(0),
            adds: None,
            books: self.books.clone(),
        })
    }

    fn spawn(&self, task: Box<Planned>) -> Option<usize> {
        let waker = |_number| Waker::noop().clone();
        grow::spawn(&*self.scene, &self.state, self.job, task, waker).ok()
    }

    fn wake(&self, task: usize) {
        grow::wake(&*self.scene, &self.state, self.job, task);
    }

    fn leave(&self) {
        grow::leave(&*self.scene, &self.state, self.job);
    }

    fn cancel(&self) {
        policy::cancel(&*self.scene, &self.state, self.job);
    }

    fn beside<R: 'static>(self: &Rc<Self>, act: impl FnOnce(&Self) -> R + 'static) -> thread::JoinHandle<R> {
        let this = self.clone();
        thread::spawn(move || act(&this))
    }

    fn worker(self: &Rc<Self>, worker: usize) -> thread::JoinHandle<()> {
        self.beside(move |this| this.scene.work(worker))
    }

    fn visit(&self, worker: usize) -> bool {
        pipeline_exec::policy::run_main_worker(&*self.scene, worker, 0)
    }

    fn end(&self, tasks: usize) -> JobEnd {
        let mut end = None;
        self.scene.park_with(|waker, sleep| {
            end = loop {
                if let Some(end) = self.state.poll(&*self.scene, waker) {
                    break Some(end);
                }
                sleep();
            };
        });
        assert_eq!(
            self.books.dropped(),
            tasks,
            "tasks were dropped when the ticket told"
        );
        end.expect("the loop ends with the job")
    }

    fn assert_over(&self, turns: usize) {
        self.scene.assert_over(std::slice::from_ref(&self.state));
        assert_eq!(self.books.turns(), turns);
    }
}

impl Books {
    fn turns(&self) -> usize {
        // Ordering: Relaxed, here and below. Only the policy publishes what a task writes.
        self.turns.load(Ordering::Relaxed)
    }

    fn dropped(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Task for Planned {
    fn turn(&mut self, _cx: &StepCx<'_>, _waker: &Waker) -> Result<Turn, StepError> {
        let before = self.had.load(Ordering::Relaxed);
        self.had.store(before + 1, Ordering::Relaxed);
        let turns = self.books.turns.load(Ordering::Relaxed);
        self.books.turns.store(turns + 1, Ordering::Relaxed);
        self.books.began.tell();
        if let Some(task) = self.adds.take() {
            let grown = GROWN.with_borrow(Weak::upgrade).ok_or("there is no job")?;
            grown.spawn(task).ok_or("handed back")?;
        }
        Ok(self.turns.pop_front().expect("a turn that is planned"))
    }
}

impl Drop for Planned {
    fn drop(&mut self) {
        self.books.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_wake_against_a_park() {
    model("a_wake_against_a_park", Some(3), || {
        let grown = Grown::new(1);
        let task = grown.spawn(grown.task([Turn::Parked, Turn::Done])).unwrap();
        let worker = grown.worker(0);
        grown.books.began.wait();
        grown.wake(task);
        grown.leave();
        assert!(grown.end(1).is_ok());
        worker.join().unwrap();
        grown.assert_over(2);
    });
}

#[test]
fn a_wake_against_done() {
    model("a_wake_against_done", None, || {
        let grown = Grown::new(1);
        let task = grown.spawn(grown.task([Turn::Done])).unwrap();
        grown.leave();
        let worker = grown.worker(0);
        grown.books.began.wait();
        grown.wake(task);
        assert!(grown.end(1).is_ok());
        worker.join().unwrap();
        grown.assert_over(1);
    });
}

#[test]
fn two_wakes_of_a_parked_task() {
    model("two_wakes_of_a_parked_task", None, || {
        let grown = Grown::new(1);
        let turns = [Turn::Parked, Turn::Parked, Turn::Parked, Turn::Done];
        let task = grown.spawn(grown.task(turns)).unwrap();
        assert!(grown.visit(0));
        let other = grown.beside(move |grown| grown.wake(task));
        grown.wake(task);
        other.join().unwrap();
        assert!(grown.visit(0), "it was woken");
        assert!(!grown.visit(0), "it was woken once");
        grown.cancel();
        assert_eq!(grown.end(1).unwrap_err().kind, JobErrorKind::Cancelled);
        grown.assert_over(2);
    });
}

#[test]
fn a_cancel_of_the_job_against_a_turn() {
    model("a_cancel_of_the_job_against_a_turn", Some(4), || {
        let grown = Grown::new(1);
        grown.spawn(grown.task([Turn::Parked])).unwrap();
        assert!(grown.visit(0));
        grown.spawn(grown.task([Turn::Again, Turn::Again])).unwrap();
        let worker = grown.beside(|grown| grown.visit(0));
        grown.cancel();
        assert_eq!(grown.end(2).unwrap_err().kind, JobErrorKind::Cancelled);
        worker.join().unwrap();
        assert!(!grown.visit(0), "a turn begins in a job that is closed");
        let turns = grown.books.turns();
        assert!((1..=2).contains(&turns));
        grown.assert_over(turns);
    });
}

#[test]
fn a_cancel_of_a_task_against_its_turn() {
    model("a_cancel_of_a_task_against_its_turn", Some(4), || {
        let grown = Grown::new(1);
        let task = grown.spawn(grown.task([Turn::Parked])).unwrap();
        grown.leave();
        let worker = grown.worker(0);
        grow::cancel_task(&*grown.scene, &grown.state, grown.job, task);
        assert!(grown.end(1).is_ok());
        worker.join().unwrap();
        let turns = grown.books.turns();
        assert!(turns <= 1);
        grown.assert_over(turns);
    });
}

#[test]
fn the_last_task_against_the_handle_that_is_dropped() {
    model("the_last_task_against_the_handle_that_is_dropped", None, || {
        let grown = Grown::new(1);
        grown.spawn(grown.task([Turn::Done])).unwrap();
        let worker = grown.beside(|grown| grown.visit(0));
        grown.leave();
        worker.join().unwrap();
        assert!(grown.end(1).is_ok());
        grown.assert_over(1);
    });
}

#[test]
fn the_last_task_against_the_task_that_has_added_it() {
    model(
        "the_last_task_against_the_task_that_has_added_it",
        Some(2),
        || {
            let grown = Grown::new(2);
            let mut first = grown.task([Turn::Done]);
            first.adds = Some(grown.task([Turn::Done]));
            grown.spawn(first).unwrap();
            grown.leave();
            let other = grown.beside(|grown| grown.visit(1));
            grown.visit(0);
            other.join().unwrap();
            while grown.visit(0) {}
            assert!(grown.end(2).is_ok());
            grown.assert_over(2);
        },
    );
}

#[test]
fn a_close_against_a_wake() {
    model("a_close_against_a_wake", Some(4), || {
        let grown = Grown::new(1);
        let task = grown.spawn(grown.task([Turn::Parked, Turn::Parked])).unwrap();
        assert!(grown.visit(0));
        let waker = grown.beside(move |grown| {
            grown.wake(task);
            grown.visit(0);
        });
        grown.cancel();
        assert_eq!(grown.end(1).unwrap_err().kind, JobErrorKind::Cancelled);
        waker.join().unwrap();
        let turns = grown.books.turns();
        assert!((1..=2).contains(&turns));
        grown.assert_over(turns);
    });
}

#[test]
fn a_shutdown_against_a_wake_of_a_parked_task() {
    model("a_shutdown_against_a_wake_of_a_parked_task", Some(2), || {
        let grown = Grown::new(1);
        let task = grown.spawn(grown.task([Turn::Parked, Turn::Parked])).unwrap();
        assert!(grown.visit(0));
        let worker = grown.beside(|grown| grown.visit(0));
        let stopper = grown.beside(|grown| policy::stop(&*grown.scene).len());
        grown.wake(task);
        assert_eq!(grown.end(1).unwrap_err().kind, JobErrorKind::Cancelled);
        assert_eq!(
            stopper.join().unwrap(),
            0,
            "of a job that was opened nothing comes back"
        );
        worker.join().unwrap();
        let turns = grown.books.turns();
        assert!((1..=2).contains(&turns));
        grown.assert_over(turns);
    });
}

#[test]
fn a_shutdown_against_the_opening_of_a_job() {
    model("a_shutdown_against_the_opening_of_a_job", None, || {
        let seen = Seen {
            ledgers: true,
            table: true,
        };
        let scene = Scene::seen(1, 1, seen);
        let stopper = thread::spawn({
            let scene = scene.clone();
            move || policy::stop(&*scene).len()
        });
        let opened = scene.open();
        assert_eq!(stopper.join().unwrap(), 0);
        let Some((state, job)) = opened else {
            return scene.assert_over(&[]);
        };
        let grown = Grown::of(scene, state, job);
        assert_eq!(
            grown.spawn(grown.task([Turn::Done])),
            None,
            "a job that is closed takes no task"
        );
        assert_eq!(grown.end(1).unwrap_err().kind, JobErrorKind::Cancelled);
        grown.leave();
        grown.assert_over(0);
    });
}

#[test]
fn a_wake_against_a_lent_thread_that_falls_asleep() {
    model("a_wake_against_a_lent_thread_that_falls_asleep", Some(4), || {
        let grown = Grown::new(1);
        let task = grown.spawn(grown.task([Turn::Parked, Turn::Done])).unwrap();
        assert!(grown.visit(0));
        grown.leave();
        let waker = grown.beside(move |grown| grown.wake(task));
        let Grown {
            scene, state, job, ..
        } = &*grown;
        scene.park_with(|waker, sleep| policy::lend(&**scene, state, *job, waker, sleep));
        waker.join().unwrap();
        assert!(grown.end(1).is_ok());
        grown.assert_over(2);
    });
}
