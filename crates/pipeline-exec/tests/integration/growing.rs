//! Jobs that grow, and their tasks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use crate::plain::Plain;
use crate::support::Counting;
use pipeline_exec::policy::LookEnd;
use pipeline_exec::{
    Class, Job, JobErrorKind, PipelineExecutor, StepCx, StepError, Terms,
    open_job::{OpenError, OpenTask, Task, Turn},
    step,
};

struct Turns<F>(F);

impl<F> Task for Turns<F>
where
    F: FnMut(&StepCx<'_>, &Waker) -> Result<Turn, StepError> + Send,
{
    fn name(&self) -> &str {
        "turns"
    }

    fn turn(&mut self, cx: &StepCx<'_>, waker: &Waker) -> Result<Turn, StepError> {
        (self.0)(cx, waker)
    }
}

fn task(turn: impl FnMut(&StepCx<'_>, &Waker) -> Result<Turn, StepError> + Send + 'static) -> Box<dyn Task> {
    Box::new(Turns(turn))
}

struct Told(Sender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.send(()).ok();
    }
}

fn parked() -> (Box<dyn Task>, Receiver<Waker>, Receiver<()>) {
    let (turned, turn) = channel();
    let (dropped, drop) = channel();
    let told = Told(dropped);
    let task = task(move |_cx, waker| {
        let _held = &told;
        turned.send(waker.clone()).map_err(|_| "the test is gone")?;
        Ok(Turn::Parked)
    });
    (task, turn, drop)
}

fn spawn(job: &pipeline_exec::open_job::OpenJob, task: Box<dyn Task>) -> OpenTask {
    job.spawn(task).map_err(|_| "handed back").unwrap()
}

#[test]
fn a_job_ends_when_its_handle_is_gone_and_its_last_task_is_over() {
    for workers in [1, 2, 5] {
        let executor = PipelineExecutor::new(workers).unwrap();
        let (job, ticket) = executor.open("turns", Terms::default()).unwrap();
        let turns = Arc::new(AtomicUsize::new(0));
        for number in 0..20 {
            let (turns, mut left) = (Arc::clone(&turns), number % 5);
            spawn(
                &job,
                task(move |_cx, _waker| {
                    turns.fetch_add(1, Ordering::Relaxed);
                    left = usize::saturating_sub(left, 1);
                    Ok(if left == 0 { Turn::Done } else { Turn::Again })
                }),
            );
        }
        drop(job.clone());
        let control = ticket.control();
        drop(job);
        let report = ticket.wait().unwrap();
        assert_eq!(turns.load(Ordering::Relaxed), report.slots);
        assert_eq!(report.slots, 4 * (1 + 1 + 2 + 3 + 4));
        assert_eq!(control.progress(), (20, 20));
    }
}

#[test]
fn a_job_without_a_task_ends_with_its_handle() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (job, ticket) = executor.open("nothing", Terms::default()).unwrap();
    drop(job);
    assert_eq!(ticket.wait().unwrap().slots, 0);
}

#[test]
fn a_task_that_parks_leaves_its_worker_to_others_and_goes_on_when_it_is_woken() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (job, ticket) = executor.open("parks", Terms::default()).unwrap();
    let (parked, turned, dropped) = parked();
    spawn(&job, parked);
    let waker = turned.recv().unwrap();
    for _ in 0..3 {
        let other = executor.submit(Job::from_steps("other", vec![step(|_cx| Ok(()))]));
        other.unwrap().wait().unwrap();
        waker.wake_by_ref();
        turned.recv().unwrap();
    }
    assert!(dropped.try_recv().is_err());
    ticket.control().cancel();
    dropped.recv().unwrap();
    assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
    waker.wake();
    drop(job);
}

#[test]
fn a_wake_during_a_turn_counts_however_often_it_comes() {
    let executor = PipelineExecutor::new(2).unwrap();
    let (job, ticket) = executor.open("wakes itself", Terms::default()).unwrap();
    let mut left = 100;
    spawn(
        &job,
        task(move |_cx, waker| {
            left -= 1;
            waker.wake_by_ref();
            waker.wake_by_ref();
            Ok(if left == 0 { Turn::Done } else { Turn::Parked })
        }),
    );
    drop(job);
    assert_eq!(ticket.wait().unwrap().slots, 100);
}

#[test]
fn a_task_may_add_tasks_after_the_handle_outside_is_gone() {
    let executor = PipelineExecutor::new(2).unwrap();
    let (job, ticket) = executor.open("tree", Terms::default()).unwrap();
    fn node(job: pipeline_exec::open_job::OpenJob, depth: usize) -> Box<dyn Task> {
        task(move |_cx, _waker| {
            for _ in 0..if depth > 0 { 2 } else { 0 } {
                job.spawn(node(job.clone(), depth - 1))
                    .map_err(|_| "handed back")?;
            }
            Ok(Turn::Done)
        })
    }
    spawn(&job, node(job.clone(), 6));
    drop(job);
    assert_eq!(ticket.wait().unwrap().slots, 127);
}

#[test]
fn a_closed_job_drops_its_tasks_before_its_ticket_tells_and_hands_new_ones_back() {
    let executor = PipelineExecutor::new(2).unwrap();
    let (job, ticket) = executor.open("cancelled", Terms::default()).unwrap();
    let mut drops = Vec::new();
    for _ in 0..10 {
        let (parked, turned, dropped) = parked();
        spawn(&job, parked);
        turned.recv().unwrap();
        drops.push(dropped);
    }
    ticket.control().cancel();
    assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
    for dropped in drops {
        dropped.try_recv().unwrap();
    }
    let (parked, _turned, dropped) = parked();
    let Err(handed_back) = job.spawn(parked) else {
        panic!("a closed job has taken a task");
    };
    assert!(dropped.try_recv().is_err());
    drop(handed_back);
    dropped.try_recv().unwrap();
}

#[test]
fn a_turn_that_fails_or_panics_fails_its_job_and_drops_the_other_tasks() {
    let executor = PipelineExecutor::new(2).unwrap();
    for panics in [false, true] {
        let (job, ticket) = executor.open("fails", Terms::default()).unwrap();
        let (parked, turned, dropped) = parked();
        spawn(&job, parked);
        turned.recv().unwrap();
        let fails = task(move |_cx, _waker| {
            assert!(!panics, "out of ink");
            Err("out of ink".into())
        });
        spawn(&job, fails);
        let error = ticket.wait().unwrap_err();
        let kind = if panics {
            JobErrorKind::Panicked
        } else {
            JobErrorKind::Failed
        };
        assert_eq!((error.kind, error.slot), (kind, Some(1)));
        assert_eq!(error.step.as_deref(), Some("turns"));
        assert!(error.to_string().contains("out of ink"), "{error}");
        dropped.try_recv().unwrap();
    }
}

#[test]
fn a_cancelled_task_is_dropped_and_its_job_goes_on() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (job, ticket) = executor.open("one of two", Terms::default()).unwrap();
    let (one, one_turned, one_dropped) = parked();
    let (two, two_turned, two_dropped) = parked();
    let one = spawn(&job, one);
    let two = spawn(&job, two);
    one_turned.recv().unwrap();
    two_turned.recv().unwrap();
    one.cancel();
    one_dropped.recv().unwrap();
    one.cancel();
    one.wake();
    two.wake();
    two_turned.recv().unwrap();
    assert!(two_dropped.try_recv().is_err());
    drop(job);
    two.cancel();
    assert_eq!(ticket.wait().unwrap().slots, 3);
    two_dropped.try_recv().unwrap();
}

#[test]
fn a_shutdown_drops_parked_tasks_and_nothing_is_taken_after_it() {
    let executor = PipelineExecutor::new(2).unwrap();
    let handle = executor.handle();
    let (job, ticket) = executor.open("stopped", Terms::default()).unwrap();
    let (parked, turned, dropped) = parked();
    spawn(&job, parked);
    let waker = turned.recv().unwrap();
    assert!(executor.shutdown().is_empty());
    dropped.try_recv().unwrap();
    assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
    waker.wake();
    assert!(job.spawn(task(|_cx, _waker| Ok(Turn::Done))).is_err());
    assert_eq!(
        handle.open("late", Terms::default()).unwrap_err(),
        OpenError::Closed
    );
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A waker may be woken under a lock that the job's tasks take when they are dropped.
#[test]
fn a_wake_during_a_shutdown_drops_no_task() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (first, first_ticket) = executor.open("closed first", Terms::default()).unwrap();
    let (second, second_ticket) = executor.open("woken meanwhile", Terms::default()).unwrap();
    let lock = Arc::new(Mutex::new(()));
    let (parked, turned, _) = parked();
    spawn(&second, parked);
    let waker = turned.recv().unwrap();
    let (turned, turn) = channel();
    let (of_second, free) = (Arc::clone(&lock), Arc::new(AtomicUsize::new(0)));
    let found = Arc::clone(&free);
    let locks = OnDrop(move || {
        found.fetch_add(of_second.try_lock().is_ok().into(), Ordering::Relaxed);
    });
    let told = turned.clone();
    spawn(
        &second,
        task(move |_cx, _waker| {
            let _held = &locks;
            told.send(()).map_err(|_| "the test is gone")?;
            Ok(Turn::Parked)
        }),
    );
    turn.recv().unwrap();
    let wakes = OnDrop(move || {
        let _held = lock.lock().unwrap();
        waker.wake_by_ref();
    });
    spawn(
        &first,
        task(move |_cx, _waker| {
            let _held = &wakes;
            turned.send(()).map_err(|_| "the test is gone")?;
            Ok(Turn::Parked)
        }),
    );
    turn.recv().unwrap();
    let other = executor.submit(Job::from_steps("other", vec![step(|_cx| Ok(()))]));
    other.unwrap().wait().unwrap();
    // The shutdown closes the first job when it has begun, and has not come to the second.
    assert!(executor.shutdown().is_empty());
    for ticket in [first_ticket, second_ticket] {
        assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
    }
    assert_eq!(
        free.load(Ordering::Relaxed),
        1,
        "it was dropped under the waker's lock"
    );
}

#[test]
fn a_drain_waits_for_tasks_that_are_parked() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (job, ticket) = executor.open("drained", Terms::default()).unwrap();
    let (turned, turn) = channel();
    let mut first = true;
    spawn(
        &job,
        task(move |_cx, waker| {
            turned.send(waker.clone()).ok();
            Ok(if std::mem::take(&mut first) {
                Turn::Parked
            } else {
                Turn::Done
            })
        }),
    );
    let waker = turn.recv().unwrap();
    drop(job);
    let executor = executor.drain_timeout(Duration::from_millis(1)).unwrap_err();
    waker.wake();
    executor.drain();
    assert_eq!(ticket.wait().unwrap().slots, 2);
}

#[test]
fn an_executor_admits_no_more_open_jobs_than_its_capacity() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .queue_capacity(1)
        .build()
        .unwrap();
    let (job, ticket) = executor.open("one", Terms::default()).unwrap();
    assert_eq!(
        executor.open("two", Terms::default()).unwrap_err(),
        OpenError::Full
    );
    drop(job);
    ticket.wait().unwrap();
    let (_job, _ticket) = executor.open("two", Terms::default()).unwrap();
}

#[test]
fn a_job_past_its_deadline_gets_no_further_turn() {
    let executor = PipelineExecutor::new(2).unwrap();
    let terms = Terms {
        deadline: Some(Duration::from_millis(1)),
        ..Terms::default()
    };
    let (job, ticket) = executor.open("late", terms).unwrap();
    let turns = task(|_cx, _waker| Ok(Turn::Again));
    drop(job.spawn(turns));
    assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::DeadlineExceeded);
}

#[test]
fn no_more_turns_run_at_once_than_the_job_may_have_workers() {
    let executor = PipelineExecutor::new(4).unwrap();
    for workers_max in [1, 2] {
        let terms = Terms {
            workers_max,
            class: Class::Batch,
            ..Terms::default()
        };
        let (job, ticket) = executor.open("limited", terms).unwrap();
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for _ in 0..8 {
            let (inside, most, mut left) = (Arc::clone(&inside), Arc::clone(&most), 200);
            spawn(
                &job,
                task(move |_cx, _waker| {
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    left -= 1;
                    Ok(if left == 0 { Turn::Done } else { Turn::Again })
                }),
            );
        }
        drop(job);
        assert_eq!(ticket.wait().unwrap().slots, 1_600);
        assert!(most.load(Ordering::SeqCst) <= workers_max);
    }
}

#[test]
fn a_thread_that_is_lent_to_an_open_job_runs_turns_and_is_woken_by_wakes() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (job, ticket) = executor.open("lent", Terms::default()).unwrap();
    let (parked, turned, _dropped) = parked();
    let parked = spawn(&job, parked);
    std::thread::scope(|scope| {
        scope.spawn(|| executor.run_until(&ticket));
        for _ in 0..100 {
            turned.recv().unwrap();
            parked.wake();
        }
        turned.recv().unwrap();
        drop(job);
        parked.cancel();
    });
    assert_eq!(ticket.wait().unwrap().slots, 101);
}

#[derive(Default)]
struct Channel {
    values: VecDeque<usize>,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[test]
fn a_worker_is_wanted_for_each_task_that_becomes_ready_and_none_for_one_whose_worker_goes_on() {
    let plain = Plain::new(4, 0);
    let job = plain.open("turns", Class::Normal);
    let mut left = 3;
    let again = plain.spawn(
        &job,
        task(move |_cx, _waker| {
            left -= 1;
            Ok(if left > 0 { Turn::Again } else { Turn::Parked })
        }),
    );
    assert_eq!(plain.handed_over.get(), 1);
    while plain.main_runs_one(0) {
        assert_eq!(plain.handed_over.get(), 1, "the worker goes on by itself");
    }
    plain.wake(&job, again);
    assert_eq!(plain.handed_over.get(), 2);
    plain.spawn(&job, task(|_cx, _waker| Ok(Turn::Parked)));
    assert_eq!(plain.handed_over.get(), 3);
}

#[test]
fn an_old_job_that_waited_for_a_wake_gets_in_line_with_those_that_ran_meanwhile() {
    let plain = Plain::new(1, 0);
    let waits = plain.open("waits", Class::Batch);
    let mut first = true;
    let task = plain.spawn(
        &waits,
        task(move |_cx, _waker| {
            Ok(match std::mem::take(&mut first) {
                true => Turn::Parked,
                false => Turn::Again,
            })
        }),
    );
    assert!(plain.main_runs_one(0));
    let stage = Counting::new(1_000);
    plain.submit("runs", None, Class::Batch, vec![stage.clone()]);
    for _ in 0..100 {
        assert!(plain.main_runs_one(0));
    }
    plain.wake(&waits, task);
    for _ in 0..10 {
        assert!(plain.main_runs_one(0));
    }
    let since = stage.ran() - 100;
    assert!((4..=6).contains(&since), "{since} of 10 visits");
}

#[test]
fn a_job_whose_thread_had_no_core_for_a_while_is_as_young_as_its_turns_tell() {
    for tells in [true, false] {
        let plain = Plain::with_quantum(1, 0, Duration::from_millis(1));
        let clock = Arc::new(AtomicU64::new(0));
        plain.follow(&clock);
        let turns = Arc::new(AtomicUsize::new(0));
        let job = plain.open("waits for a core", Class::Normal);
        let counted = Arc::clone(&turns);
        let turn = move |cx: &StepCx<'_>, _: &Waker| {
            clock.fetch_add(100_000_000, Ordering::Relaxed);
            if tells {
                cx.charge_for(Duration::from_millis(1));
            }
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(Turn::Again)
        };
        plain.spawn(&job, task(turn));
        assert!(plain.main_runs_one(0));
        let old = Counting::new(10);
        plain.submit("old", None, Class::Batch, vec![old.clone()]);
        assert!(plain.main_runs_one(0));
        let found = (turns.load(Ordering::Relaxed), old.ran() == 0);
        assert_eq!(found, if tells { (2, true) } else { (1, false) });
    }
}

#[test]
fn the_time_in_which_a_task_is_dropped_is_the_visits() {
    let plain = Plain::with_quantum(1, 0, Duration::from_millis(1));
    let clock = Arc::new(AtomicU64::new(0));
    plain.follow(&clock);
    let job = plain.open("drops for 5 ms", Class::Normal);
    let drops = OnDrop(move || {
        clock.fetch_add(5_000_000, Ordering::Relaxed);
    });
    let turn = move |_: &StepCx<'_>, _: &Waker| {
        let _held = &drops;
        Ok(Turn::Done)
    };
    plain.spawn(&job, task(turn));
    let other = Counting::new(2);
    plain.submit("other", None, Class::Normal, vec![other.clone()]);
    assert_eq!(plain.look(0), LookEnd::Again, "its quantum is over");
    assert_eq!(other.ran(), 0);
    assert_eq!(plain.now(), Duration::from_millis(5));
}

#[test]
fn values_that_pass_through_tasks_and_bounded_channels_arrive_whole_and_in_order() {
    const VALUES: usize = 2_000;
    for workers in [1, 2, 8] {
        let executor = PipelineExecutor::new(workers).unwrap();
        let (job, ticket) = executor.open("chain", Terms::default()).unwrap();
        let channels: Vec<_> = (0..5).map(|_| Arc::new(Mutex::new(Channel::default()))).collect();
        let sum = Arc::new(AtomicUsize::new(0));
        let mut next = 0;
        let first = Arc::clone(&channels[0]);
        spawn(
            &job,
            task(move |_cx, waker| {
                let mut channel = first.lock().unwrap();
                while channel.values.len() < 2 && next < VALUES {
                    channel.values.push_back(next);
                    next += 1;
                }
                channel.closed = next == VALUES;
                channel.writer = Some(waker.clone());
                let (reader, closed) = (channel.reader.take(), channel.closed);
                drop(channel);
                reader.into_iter().for_each(Waker::wake);
                Ok(if closed { Turn::Done } else { Turn::Parked })
            }),
        );
        for link in channels.windows(2) {
            let (from, to) = (Arc::clone(&link[0]), Arc::clone(&link[1]));
            spawn(
                &job,
                task(move |_cx, waker| {
                    let (mut from, mut to) = (from.lock().unwrap(), to.lock().unwrap());
                    while to.values.len() < 2 && !from.values.is_empty() {
                        to.values.extend(from.values.pop_front());
                    }
                    to.closed = from.closed && from.values.is_empty();
                    from.reader = Some(waker.clone());
                    to.writer = Some(waker.clone());
                    let wakers = (from.writer.take(), to.reader.take(), to.closed);
                    drop((from, to));
                    wakers.0.into_iter().chain(wakers.1).for_each(Waker::wake);
                    Ok(if wakers.2 { Turn::Done } else { Turn::Parked })
                }),
            );
        }
        let (last, total) = (Arc::clone(&channels[4]), Arc::clone(&sum));
        let mut expected = 0;
        spawn(
            &job,
            task(move |_cx, waker| {
                let mut channel = last.lock().unwrap();
                while let Some(value) = channel.values.pop_front() {
                    assert_eq!(value, expected);
                    expected += 1;
                    total.fetch_add(value, Ordering::Relaxed);
                }
                let (writer, closed) = (channel.writer.take(), channel.closed);
                channel.reader = Some(waker.clone());
                drop(channel);
                writer.into_iter().for_each(Waker::wake);
                Ok(if closed { Turn::Done } else { Turn::Parked })
            }),
        );
        drop(job);
        ticket.wait().unwrap();
        assert_eq!(sum.load(Ordering::Relaxed), VALUES * (VALUES - 1) / 2);
    }
}
