//! Spare threads take young work while every worker is in a long slot or turn.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use pipeline_exec::policy::LookEnd;
use pipeline_exec::{
    Class, Job, JobStatus, JobTicket, PipelineExecutor, Role, Stage, StepCx, StepError, Terms,
    open_job::{Task, Turn},
    step, steps,
};

use crate::plain::{Does, Plain};
use crate::support::Counting;

fn executor(threads: usize, spares: usize) -> PipelineExecutor {
    PipelineExecutor::builder()
        .threads(threads)
        .spares(spares)
        .build()
        .unwrap()
}

fn hold(executor: &PipelineExecutor) -> (Vec<JobTicket>, Vec<Sender<()>>) {
    let held = (0..executor.workers()).map(|_| {
        let (open, gate) = channel();
        let gate = Mutex::new(gate);
        let waits = step(move |_cx| {
            gate.lock().unwrap().recv().ok();
            Ok(())
        });
        let ticket = executor.submit(Job::from_steps("held", vec![waits])).unwrap();
        while ticket.status() == JobStatus::Queued {
            std::thread::yield_now();
        }
        (ticket, open)
    });
    held.unzip()
}

#[test]
fn a_young_job_is_run_by_a_spare_thread_while_every_worker_is_in_a_slot_that_does_not_end() {
    for (threads, spares) in [(1, 1), (2, 1), (2, 2), (4, 3)] {
        let executor = executor(threads, spares);
        let (held, gates) = hold(&executor);
        for _ in 0..3 {
            let seen = Arc::new(Mutex::new(HashSet::new()));
            let steps = (0..10).map(|_| {
                let seen = Arc::clone(&seen);
                step(move |cx| {
                    seen.lock().unwrap().insert((cx.role(), cx.worker_id()));
                    Ok(())
                })
            });
            let report = executor
                .submit(Job::from_steps("young", steps.collect()))
                .unwrap()
                .wait()
                .unwrap();
            let seen = seen.lock().unwrap();
            assert!(
                seen.iter().all(|&(role, worker)| role == Role::Spare
                    && (threads + 1..=threads + spares).contains(&worker)),
                "{seen:?}"
            );
            assert_eq!(report.slots_per_worker.len(), threads + 1);
            assert_eq!(report.slots_per_worker.iter().sum::<usize>(), 10);
        }
        assert_eq!(executor.snapshot().others.slots_spare, 30);
        drop(gates);
        held.into_iter()
            .for_each(|ticket| assert_eq!(ticket.wait().unwrap().slots, 1));
    }
}

#[test]
fn a_second_spare_thread_stands_in_when_the_first_is_in_a_long_slot_itself() {
    let executor = executor(2, 2);
    let (held, gates) = hold(&executor);
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let long = step(move |cx| {
        assert_eq!(cx.role(), Role::Spare);
        gate.lock().unwrap().recv().ok();
        Ok(())
    });
    let long = executor
        .submit(Job::from_steps("young and long", vec![long]))
        .unwrap();
    while long.status() == JobStatus::Queued {
        std::thread::yield_now();
    }
    let young = Job::from_steps("young", vec![step(|_cx| Ok(()))]);
    executor.submit(young).unwrap().wait().unwrap();
    drop((open, gates));
    long.wait().unwrap();
    held.into_iter().for_each(|ticket| drop(ticket.wait().unwrap()));
}

struct Held(std::sync::mpsc::Receiver<()>, Sender<()>);

impl Task for Held {
    fn turn(&mut self, _cx: &StepCx<'_>, _waker: &Waker) -> Result<Turn, StepError> {
        self.1.send(())?;
        self.0.recv().ok();
        Ok(Turn::Done)
    }
}

struct Count(usize);

impl Task for Count {
    fn turn(&mut self, cx: &StepCx<'_>, waker: &Waker) -> Result<Turn, StepError> {
        assert_eq!(cx.role(), Role::Spare);
        self.0 -= 1;
        waker.wake_by_ref();
        Ok(if self.0 == 0 { Turn::Done } else { Turn::Parked })
    }
}

#[test]
fn a_long_turn_is_stood_in_for_as_a_long_slot_is() {
    let executor = executor(1, 1);
    let (long, long_ticket) = executor.open("long", Terms::default()).unwrap();
    let (open, gate) = channel();
    let (began, begins) = channel();
    assert!(long.spawn(Box::new(Held(gate, began))).is_ok());
    drop(long);
    begins.recv().unwrap();
    let (young, ticket) = executor.open("young", Terms::default()).unwrap();
    assert!(young.spawn(Box::new(Count(100))).is_ok());
    drop(young);
    assert_eq!(ticket.wait().unwrap().slots, 100);
    drop(open);
    long_ticket.wait().unwrap();
}

#[test]
fn an_executor_ends_whatever_its_spare_threads_do() {
    for _ in 0..50 {
        let executor = executor(1, 1);
        let steps = (0..4).map(|_| step(|_cx| Ok(()))).collect();
        let ticket = executor.submit(Job::from_steps("few", steps)).unwrap();
        drop(executor);
        drop(ticket.wait());
    }
    let executor = executor(2, 2);
    executor
        .submit(Job::from_steps("one", vec![step(|_cx| Ok(()))]))
        .unwrap()
        .wait()
        .unwrap();
    executor.drain();
}

#[test]
fn what_a_spare_thread_leaves_open_is_a_workers_again() {
    for two_stages in [true, false] {
        let executor = executor(1, 1);
        let (held, gates) = hold(&executor);
        let (open, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let first = step(move |cx| {
            assert_eq!(cx.role(), Role::Spare);
            gate.lock().unwrap().recv().ok();
            while !cx.should_yield() {
                std::thread::yield_now();
            }
            Ok(())
        });
        let second = step(|_cx| Ok(()));
        let job = Job::builder("young");
        let job = match two_stages {
            true => job.stage(steps(vec![first])).stage(steps(vec![second])),
            false => job.stage(steps(vec![first, second])).max_workers(1),
        };
        let young = executor.submit(job.build()).unwrap();
        while young.status() == JobStatus::Queued {
            std::thread::yield_now();
        }
        drop(gates);
        held.into_iter().for_each(|ticket| drop(ticket.wait().unwrap()));
        executor
            .submit(Job::from_steps("other", vec![step(|_cx| Ok(()))]))
            .unwrap()
            .wait()
            .unwrap();
        drop(open);
        assert_eq!(young.wait().unwrap().slots, 2);
    }
}

#[test]
fn an_executor_that_is_dropped_in_a_slot_of_a_spare_thread_waits_for_no_worker() {
    let executor = Arc::new(executor(1, 1));
    let (told, tells) = channel();
    let tells = Mutex::new(tells);
    let waits = step(move |_cx| Ok(tells.lock().unwrap().recv()?));
    let waits = executor.submit(Job::from_steps("waits", vec![waits])).unwrap();
    while waits.status() == JobStatus::Queued {
        std::thread::yield_now();
    }
    let inside = Mutex::new(Some(Arc::clone(&executor)));
    let (let_go, is_last) = channel::<()>();
    let is_last = Mutex::new(is_last);
    let drops = step(move |cx| {
        assert_eq!(cx.role(), Role::Spare);
        is_last.lock().unwrap().recv().ok();
        drop(inside.lock().unwrap().take());
        told.send(())?;
        Ok(())
    });
    let drops = executor.submit(Job::from_steps("drops", vec![drops])).unwrap();
    drop((executor, let_go));
    assert!(drops.wait().is_ok() && waits.wait().is_ok());
}

const QUANTUM: Duration = Duration::from_micros(100);

fn plain(workers: usize) -> Rc<Plain> {
    Plain::with_quantum(workers, 0, QUANTUM)
        .with_spares(workers)
        .under_test()
}

fn submit_does(plain: &Plain, name: &str, does: fn(&Plain, usize)) {
    plain.submit(name, None, Class::Normal, vec![Arc::new(Does(1, does))]);
}

fn look_until_over(plain: &Plain, worker: usize) {
    while plain.look(worker) == LookEnd::Again {}
}

fn assert_completed(plain: &Plain, jobs: usize) {
    let events = plain.take_events();
    let completed = events.iter().filter(|event| event.ends_with(" completed"));
    assert_eq!(completed.count(), jobs, "{events:#?}");
}

#[test]
fn a_spare_thread_sleeps_until_the_turns_are_two_quanta_old_and_then_serves_one_young_job_after_another() {
    let plain = plain(2);
    submit_does(&plain, "held", |plain, _slot| {
        submit_does(plain, "long", |plain, _slot| {
            submit_does(plain, "a", |plain, _slot| submit_does(plain, "d", |_, _| {}));
            let young = || -> Vec<Arc<dyn Stage>> { vec![Counting::new(3)] };
            for name in ["b", "c"] {
                plain.submit(name, None, Class::Normal, young());
            }
            assert_eq!(*plain.spares_woken.borrow(), [0], "it is told once");
            plain.run_spare(0);
            assert_eq!(plain.ran.get(), 8);
            assert_eq!(plain.now(), 2 * QUANTUM);
            assert_eq!(*plain.spares_woken.borrow(), [0, 1]);
        });
        look_until_over(plain, 1);
    });
    look_until_over(&plain, 0);
    let roles = [[Role::Main; 2].as_slice(), &[Role::Spare; 8]].concat();
    assert_eq!(plain.roles.take(), roles);
    assert_completed(&plain, 6);
}

#[test]
fn a_spare_thread_that_leaves_young_work_waiting_has_another_told_which_stands_in_two_quanta_later() {
    let plain = plain(2);
    submit_does(&plain, "held", |plain, _slot| {
        submit_does(plain, "long", |plain, _slot| {
            submit_does(plain, "young and long", |plain, _slot| {
                assert_eq!(*plain.spares_woken.borrow(), [0, 1]);
                plain.run_spare(1);
                assert_eq!(plain.ran.get(), 5);
                assert_eq!(plain.now(), 4 * QUANTUM);
            });
            plain.submit("young", None, Class::Normal, vec![Counting::new(5)]);
            plain.run_spare(0);
        });
        look_until_over(plain, 1);
    });
    look_until_over(&plain, 0);
    assert_completed(&plain, 4);
}

#[test]
fn a_worker_that_goes_into_a_job_and_leaves_young_work_waiting_has_a_spare_thread_told() {
    let plain = plain(2);
    let short = Does(1, |plain, _slot| plain.pass(Duration::from_micros(1)));
    plain.submit("short", 1, Class::Normal, vec![Arc::new(short)]);
    look_until_over(&plain, 0);
    let first = Does(3, |plain, slot| match slot {
        0 => {
            plain.submit("old", None, Class::Batch, vec![Counting::new(1)]);
            assert!(plain.spares_woken.borrow().is_empty(), "a worker is idle");
            look_until_over(plain, 1);
        }
        1 => assert_eq!(*plain.spares_woken.borrow(), [0], "a slot is left"),
        _ => {}
    });
    plain.submit("young", 1, Class::Normal, vec![Arc::new(first)]);
    look_until_over(&plain, 0);
    assert_completed(&plain, 3);
}

#[test]
fn a_worker_that_drops_what_a_user_gave_for_long_is_stood_in_for() {
    struct Gives(Does);

    impl Stage for Gives {
        fn slots(&self) -> usize {
            self.0.slots()
        }

        fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
            self.0.run(slot, cx)
        }
    }

    impl Drop for Gives {
        fn drop(&mut self) {
            Does(1, |plain, _slot| {
                plain.submit("young", None, Class::Normal, vec![Counting::new(3)]);
                plain.run_spare(0);
                assert_eq!(plain.ran.get(), 4);
            })
            .run_by_hand(0);
        }
    }

    let plain = plain(1);
    plain.submit(
        "gives",
        None,
        Class::Normal,
        vec![Arc::new(Gives(Does(1, |_, _| {})))],
    );
    look_until_over(&plain, 0);
    assert_completed(&plain, 2);
}
