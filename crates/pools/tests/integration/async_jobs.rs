//! Jobs for async work: futures that run as turns of one job.

use std::future::{Future, pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use pipeline_exec::{Class, JobErrorKind, PipelineExecutor, on_worker_thread};
use pools::{AsyncJob, JobOptions, Pools, TaskError, TurnObserver};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::task::yield_now;

use crate::support;

fn pools(threads: usize) -> Pools {
    Pools::builder().cpu_threads(threads).build().unwrap()
}

struct Told(Sender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.send(()).ok();
    }
}

async fn needs_a_runtime(job: AsyncJob) -> usize {
    assert!(on_worker_thread());
    tokio::time::sleep(Duration::from_millis(1)).await;
    let blocking = Handle::current().spawn_blocking(|| 1).await.unwrap();
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let sender = job.spawn(async move {
        for value in 0..100 {
            send.send(value).await.unwrap();
        }
    });
    let mut sum = blocking;
    while let Some(value) = receive.recv().await {
        sum += value;
    }
    sender.await.unwrap();
    sum
}

#[test]
fn futures_run_on_cpu_workers_from_any_kind_of_runtime_and_from_none() {
    for workers in [1, 2, 8] {
        let pools = pools(workers);
        let run = || {
            let job = pools.cpu().open(JobOptions::new());
            job.spawn(needs_a_runtime(job.clone()))
        };
        assert_eq!(
            pools.mixed().block_on(async { run().await }).unwrap().unwrap(),
            4_951
        );
        let multi = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        assert_eq!(multi.block_on(async { run().await }).unwrap(), 4_951);
        let current = Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(current.block_on(async { run().await }).unwrap(), 4_951);
        assert_eq!(pollster::block_on(run()).unwrap(), 4_951);
    }
}

#[test]
fn a_panic_of_a_future_is_resumed_in_the_thread_that_awaits_it_and_its_job_goes_on() {
    let pools = pools(1);
    let job = pools.cpu().open(JobOptions::new());
    let panics = job.spawn(async { std::panic::panic_any(7_usize) });
    let awaited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pollster::block_on(panics)));
    let payload = awaited.map(drop).unwrap_err();
    assert_eq!(payload.downcast_ref::<usize>(), Some(&7));
    assert_eq!(pollster::block_on(job.spawn(async { 1 })).unwrap(), 1);
}

#[test]
fn dropping_a_task_drops_its_future_and_leaves_the_job_alone() {
    let pools = pools(1);
    let job = pools.cpu().open(JobOptions::new());
    let (dropped, drops) = channel();
    let (started, starts) = channel();
    let told = Told(dropped);
    let task = job.spawn(async move {
        let _told = told;
        started.send(()).unwrap();
        pending::<()>().await;
    });
    starts.recv().unwrap();
    assert!(drops.try_recv().is_err() && !task.is_finished());
    drop(task);
    drops.recv().unwrap();
    assert_eq!(pollster::block_on(job.spawn(async { 1 })).unwrap(), 1);
    assert_eq!(job.stopped(), None);
}

fn computes(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_job_with_one_long_poll_is_still_young() {
    let pools = support::pools(1);
    let polls = Arc::new(AtomicUsize::new(0));
    let (counts, heavy) = (Arc::clone(&polls), pools.cpu().open(JobOptions::new()));
    let works_on = heavy.spawn(async move {
        loop {
            computes(Duration::from_millis(1));
            counts.fetch_add(1, Ordering::Relaxed);
            yield_now().await;
        }
    });
    // Polls of the heavy job between two polls of a job whose first took 10 ms.
    let in_between = || {
        let before = polls.load(Ordering::Relaxed);
        while polls.load(Ordering::Relaxed) < before + 40 {
            thread::yield_now();
        }
        let polls = Arc::clone(&polls);
        let task = pools.cpu().open(JobOptions::new()).spawn(async move {
            computes(Duration::from_millis(10));
            let before = polls.load(Ordering::Relaxed);
            yield_now().await;
            polls.load(Ordering::Relaxed) - before
        });
        pollster::block_on(task).unwrap()
    };
    // Other processes may take the worker's time.
    assert!((0..20).any(|_attempt| in_between() == 0));
    drop(works_on);
}

#[test]
fn a_future_that_can_no_longer_run_is_handed_back_and_can_run_elsewhere() {
    let pools = pools(1);
    let cpu = pools.cpu();
    let job = cpu.open(JobOptions::new());
    assert!(job.is_admitted());
    assert!(!pools.shutdown(Duration::from_millis(1)).unwrap().is_clean());
    while job.stopped().is_none() {
        std::thread::yield_now();
    }
    let late = cpu.open(JobOptions::new());
    assert!(!late.is_admitted());
    for job in [job, late] {
        let Err(TaskError::NotRun(future)) = pollster::block_on(job.spawn(async { 6 * 7 })) else {
            panic!("the pools have ended");
        };
        assert_eq!(pollster::block_on(future.into_future()), 42);
    }
}

#[test]
fn a_full_executor_hands_futures_back() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .queue_capacity(1)
        .build()
        .unwrap();
    let pools = Pools::from_executor(executor);
    let first = pools.cpu().open(JobOptions::new());
    let second = pools.cpu().open(JobOptions::new());
    assert!(first.is_admitted() && !second.is_admitted());
    let handed_back = pollster::block_on(second.spawn(async { 1 }));
    assert!(matches!(handed_back, Err(TaskError::NotRun(_))));
    assert_eq!(pollster::block_on(first.spawn(async { 1 })).unwrap(), 1);
}

#[test]
fn a_cancelled_job_drops_its_futures_and_their_tasks_say_so() {
    let pools = pools(2);
    let job = pools.cpu().open(JobOptions::new());
    let (dropped, drops) = channel();
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let told = Told(dropped.clone());
            job.spawn(async move {
                let _told = told;
                pending::<()>().await;
            })
        })
        .collect();
    job.cancel();
    for task in tasks {
        assert!(matches!(pollster::block_on(task), Err(TaskError::Cancelled)));
        drops.recv().unwrap();
    }
    assert!(matches!(
        pollster::block_on(job.spawn(async {})),
        Err(TaskError::Cancelled)
    ));
    assert_eq!(job.stopped(), Some(JobErrorKind::Cancelled));
    assert_eq!(job.progress(), (5, 5));
}

/// Counts what another future of its job sends. `stop` ends the job in the middle of a poll, and
/// the same poll sees the channel closed, as an operator of a query would.
async fn counts_what_another_sends(job: AsyncJob, stop: impl FnOnce(&AsyncJob)) -> usize {
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let _sends = job.spawn(async move {
        send.send(()).await.unwrap();
        pending::<()>().await;
    });
    receive.recv().await.unwrap();
    stop(&job);
    while receive.try_recv() != Err(TryRecvError::Disconnected) {
        thread::yield_now();
    }
    1
}

#[test]
fn a_future_that_ends_after_its_job_was_stopped_has_no_output() {
    let pools = pools(2);
    let job = pools.cpu().open(JobOptions::new());
    let counts = job.spawn(counts_what_another_sends(job.clone(), AsyncJob::cancel));
    assert!(matches!(pollster::block_on(counts), Err(TaskError::Cancelled)));
    let late = JobOptions::new().deadline(Duration::from_millis(5));
    let job = pools.cpu().open(late);
    let counts = job.spawn(counts_what_another_sends(job.clone(), |_late| {}));
    assert!(matches!(
        pollster::block_on(counts),
        Err(TaskError::DeadlineExceeded)
    ));
}

#[test]
fn a_panic_after_its_job_was_stopped_is_an_end_by_the_stop() {
    let pools = pools(1);
    let job = pools.cpu().open(JobOptions::new());
    let stops = job.clone();
    let panics = job.spawn(async move {
        stops.cancel();
        std::panic::resume_unwind(Box::new("it missed another future"));
    });
    let ended: Result<(), _> = pollster::block_on(panics);
    assert!(matches!(ended, Err(TaskError::Cancelled)));
}

#[test]
fn a_deadline_ends_a_job_all_of_whose_futures_wait() {
    let pools = pools(1);
    let job = pools
        .cpu()
        .open(JobOptions::new().deadline(Duration::from_millis(5)));
    let waits = job.spawn(pending::<()>());
    assert!(matches!(
        pollster::block_on(waits),
        Err(TaskError::DeadlineExceeded)
    ));
}

#[test]
fn a_deadline_ends_a_job_while_all_workers_and_maintenance_threads_are_busy() {
    let pools = Pools::builder()
        .cpu_threads(1)
        .maintenance_threads_max(1)
        .build()
        .unwrap();
    let (end_long, ends) = channel::<()>();
    let ends = Arc::new(Mutex::new(ends));
    let long = Arc::clone(&ends);
    let computes = pools.cpu().run(move |_cx| long.lock().unwrap().recv());
    let maintains = move || {
        let _ = ends.lock().unwrap().recv();
    };
    pools.maintenance().spawn(maintains).unwrap();
    let job = pools
        .cpu()
        .open(JobOptions::new().deadline(Duration::from_millis(5)));
    let waits = job.spawn(pending::<()>());
    assert!(matches!(
        pollster::block_on(waits),
        Err(TaskError::DeadlineExceeded)
    ));
    drop(end_long);
    assert!(computes.wait().unwrap().is_err());
}

#[test]
fn a_shutdown_tells_futures_that_run() {
    let pools = pools(1);
    let job = pools.cpu().open(JobOptions::new());
    let (started, starts) = channel();
    let waits = job.spawn(async move {
        started.send(()).unwrap();
        pending::<()>().await;
    });
    starts.recv().unwrap();
    assert!(!pools.shutdown(Duration::from_millis(1)).unwrap().is_clean());
    assert!(matches!(pollster::block_on(waits), Err(TaskError::Closed)));
}

#[test]
fn code_of_a_job_knows_its_job_and_other_code_none() {
    let pools = pools(1);
    let job = pools.cpu().open(JobOptions::new().name("known"));
    let name_here = || AsyncJob::current().map(|job| format!("{:?}", job.options()));
    let known = Some(format!("{:?}", job.options()));
    assert_eq!(name_here(), None);
    assert_eq!(
        pollster::block_on(job.spawn(async move { name_here() })).unwrap(),
        known
    );
    assert_eq!(pollster::block_on(job.scope(async move { name_here() })), known);
    let other = pools.cpu().open(JobOptions::new().class(Class::Batch));
    job.enter(|| {
        assert_eq!(name_here(), known);
        assert_ne!(other.enter(name_here), known);
        assert_eq!(name_here(), known);
    });
    assert_eq!(name_here(), None);
    assert_eq!(
        pollster::block_on(pools.cpu().run(move |_cx| name_here())).unwrap(),
        None
    );
}

#[test]
fn a_future_that_never_waits_is_paused_by_its_budget() {
    let pools = pools(1);
    let job = pools.cpu().open(JobOptions::new());
    let steps = job.spawn(async {
        for _ in 0..10_000 {
            tokio::task::coop::consume_budget().await;
        }
    });
    pollster::block_on(steps).unwrap();
    // A turn has at most 128 units.
    assert!(job.used().turns >= 10_000 / 128, "{:?}", job.used());
}

#[test]
fn a_future_that_wakes_itself_for_ever_leaves_the_only_worker_to_the_future_it_waits_for() {
    let pools = pools(1);
    let job = pools.cpu().open(JobOptions::new());
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let waits = job.spawn(poll_fn(move |cx| {
        // Ordering: Relaxed, both. It publishes nothing else.
        if raised.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }));
    let raises = job.spawn(async move { flag.store(true, Ordering::Relaxed) });
    pollster::block_on(async { (waits.await.unwrap(), raises.await.unwrap()) });
}

#[test]
fn dropping_the_root_of_a_job_drops_all_that_was_spawned_in_it() {
    let pools = pools(2);
    let job = pools.cpu().open(JobOptions::new());
    let (dropped, drops) = channel();
    let (started, starts) = channel();
    let (told, inner) = (Told(dropped.clone()), Told(dropped));
    let root = job.spawn_root(async move {
        let _told = told;
        let job = AsyncJob::current().unwrap();
        let spawned = job.spawn(async move {
            let _told = inner;
            pending::<()>().await;
        });
        std::mem::forget(spawned);
        started.send(()).unwrap();
        pending::<()>().await;
    });
    starts.recv().unwrap();
    drop(root);
    drops.recv().unwrap();
    drops.recv().unwrap();
    assert_eq!(job.stopped(), Some(JobErrorKind::Cancelled));
}

#[test]
fn streams_inside_streams_that_need_more_units_than_they_are_left_get_on() {
    fn level(depth: usize) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            if depth == 0 {
                return;
            }
            let mut below = level(depth - 1);
            poll_fn(move |cx| {
                let Poll::Ready(unit) = tokio::task::coop::poll_proceed(cx) else {
                    return Poll::Pending;
                };
                let polled = below.as_mut().poll(cx);
                if polled.is_ready() {
                    unit.made_progress();
                }
                polled
            })
            .await;
        })
    }
    let pools = pools(1);
    let job = pools.cpu().open(JobOptions::new());
    pollster::block_on(job.spawn(level(25))).unwrap();
}

#[test]
fn wakes_from_other_threads_are_never_lost() {
    let pools = pools(2);
    let job = pools.cpu().open(JobOptions::new().max_workers(1));
    let seen = Arc::new((AtomicUsize::new(0), Mutex::new(None::<Waker>)));
    let waits = Arc::clone(&seen);
    let task = job.spawn(poll_fn(move |cx| {
        *waits.1.lock().unwrap() = Some(cx.waker().clone());
        if waits.0.load(Ordering::SeqCst) < 10_000 {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while seen.0.fetch_add(1, Ordering::SeqCst) < 10_000 {
                    let waker = seen.1.lock().unwrap().clone();
                    waker.into_iter().for_each(Waker::wake);
                }
                let waker = seen.1.lock().unwrap().clone();
                waker.into_iter().for_each(Waker::wake);
            });
        }
    });
    pollster::block_on(task).unwrap();
}

#[derive(Default)]
struct Polls(Mutex<Vec<(usize, Instant, Option<Instant>)>>);

impl TurnObserver for Polls {
    fn polls(&self, worker: usize, began: Instant) {
        self.0.lock().unwrap().push((worker, began, None));
    }

    fn polled(&self, worker: usize, began: Instant, ended: Instant) {
        self.0.lock().unwrap().push((worker, began, Some(ended)));
    }
}

#[test]
fn an_observer_is_told_of_the_beginning_and_the_end_of_each_poll() {
    let pools = pools(1);
    let polls = Arc::<Polls>::default();
    let job = pools
        .cpu()
        .open(JobOptions::new().observer(Arc::<Polls>::clone(&polls)));
    let mut left = 3;
    let future = poll_fn(move |cx| {
        left -= 1;
        if left == 0 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    pools.mixed().block_on(job.spawn(future)).unwrap().unwrap();
    let told = polls.0.lock().unwrap();
    assert_eq!(told.len(), 6);
    for poll in told.chunks(2) {
        let [(0, began, None), (0, same, Some(ended))] = poll else {
            panic!("{poll:?}");
        };
        assert!(began == same && began <= ended);
    }
    assert!(told.is_sorted_by_key(|(_, began, _)| *began));
    assert_eq!(told.len() as u64, 2 * job.used().turns);
}
